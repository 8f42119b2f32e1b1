"""Options are read as the readers of TFLite's own schema do."""

import numpy as np
import pytest
import tflite
from flatbuffers import Builder

from vta.errors import ImportModelError
from vta.frontend.tflite.flat_table import FlatTable
from vta.frontend.tflite.options import TABLES, Options

PREPEND = {"flag": "PrependBoolSlot", "int8": "PrependInt8Slot", "int32": "PrependInt32Slot", "float32": "PrependFloat32Slot"}


def written(fields, values):
    """A file with one table, of which the fields in `values` are there."""
    builder = Builder(64)
    texts = {index: builder.CreateString(value) for index, value in values.items() if isinstance(value, str)}
    builder.StartObject(len(fields) + 3)
    for index, value in values.items():
        if index in texts:
            builder.PrependUOffsetTRelativeSlot(index, texts[index], 0)
        else:
            builder.ForceDefaults(True)
            getattr(builder, PREPEND[fields[index][1]])(index, value, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def listed(kind):
    """Name and type of each field of a table."""
    return [field.partition("=")[0].partition(":")[::2] for field in TABLES[kind].split(" ")]


def value_of(kind, rng):
    made = {
        "flag": lambda: bool(rng.integers(2)),
        "int8": lambda: int(rng.integers(-128, 128)),
        "int32": lambda: int(rng.integers(-(1 << 31), 1 << 31)),
        "float32": lambda: float(np.float32(rng.normal())),
        "text": lambda: f"text {rng.integers(9)}",
    }
    return made[kind]()


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_fields_are_those_of_the_schema(kind, share):
    rng, fields = np.random.default_rng(5), listed(kind)
    for _ in range(4):
        there = {at: value_of(type_, rng) for at, (name, type_) in enumerate(fields) if name and rng.random() < share}
        content = written(fields, there)
        start = FlatTable.root(content).position
        theirs = getattr(tflite, kind)()
        theirs.Init(content, start)
        ours = Options(kind, FlatTable(content, start))
        for name, type_ in fields:
            if name:
                expected, found = getattr(theirs, name)(), ours[name]
                assert found == ((expected or b"").decode() if type_ == "text" else expected)
                assert type_ == "text" or isinstance(found, int) == isinstance(expected, int)


def test_options_that_are_missing_or_of_another_operator():
    content = written([("", "int8")] * 3, {0: 1})
    table = FlatTable.root(content)
    for options in (Options(), Options("Conv2DOptions", None), Options("AddOptions", table), Options("NONE", table)):
        with pytest.raises(ImportModelError, match="option StrideH is missing"):
            options["StrideH"]
