"""Pickled records: as the old tool writes them, and never more than data."""

import base64
import io
import os
import pickle
import pickletools
import sys
import types
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.test_log import PUBLISHED, record
from vta.records.log import parse_line, read_log, to_pickled_line

MODULE = "tvm.autotvm.task.space"
TARGET = PUBLISHED["input"][0]
TASK = ["dense_packed.vta", (("TENSOR", (1, 16, 1, 16), "int8"), ("TENSOR", (8, 16, 16, 16), "int8"), None, "int32"), {}]


class Entity:
    """Any class of the old tool: only its name and its attributes count."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@pytest.fixture
def old_tool(monkeypatch):
    """The modules of the old tool, so that pickles name its classes."""
    module = types.ModuleType(MODULE)
    for name in ("ConfigEntity", "SplitEntity", "OtherOptionEntity", "AnnotateEntity", "ReorderEntity", "OtherEntity"):
        setattr(module, name, type(name, (Entity,), {"__module__": MODULE}))
    for depth in range(1, 5):
        name = ".".join(MODULE.split(".")[:depth])
        monkeypatch.setitem(sys.modules, name, module)
    return module


def line(config, task=TASK, result=((0.00014,), 0, 7.5, 1562808175.5), version="0.2", protocol=None):
    fields = [
        base64.b64encode(pickle.dumps(value, protocol)).decode() for value in ([*task, (task[0], *task[1])], config, result)
    ]
    return "\t".join([TARGET, *fields, version, "0.8.0"]) + "\n"


def config(tool, **knobs):
    knobs = knobs or {"tile_ci": tool.SplitEntity(size=[1, 16]), "oc_nthread": tool.OtherOptionEntity(val=1)}
    return tool.ConfigEntity(space_map=OrderedDict(), _entity_map=OrderedDict(knobs), index=5, code_hash=None, cost=None)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_line_of_the_old_tool(old_tool, protocol):
    found = parse_line(line(config(old_tool), protocol=protocol))
    assert found.problem == ""
    assert found.record.target == TARGET
    assert found.record.workload.args == TASK[1]
    assert found.record.entity == (("tile_ci", "sp", (1, 16)), ("oc_nthread", "ot", 1))
    assert (found.record.index, found.record.cost, found.record.error) == (5, 0.00014, 0)


def test_numpy_numbers_are_read(old_tool):
    costs = (np.float64(0.5), np.float32(0.25), np.int64(1), np.array([2.0], ">f8")[0])
    found = parse_line(line(config(old_tool), result=(costs, 0, 1.0, 2.0), protocol=4))
    assert found.record.costs == (0.5, 0.25, 1.0, 2.0)
    assert all(type(cost) is float for cost in found.record.costs)


def test_ours_are_read_by_the_old_tool(old_tool):
    target, task, entity, result, version, _ = to_pickled_line(record()).rstrip("\n").split("\t")
    load = lambda text: pickle.loads(base64.b64decode(text))  # noqa: E731
    assert target == record().target
    assert load(task)[:3] == [record().workload.name, record().workload.args, {}]
    assert load(task)[3] == (record().workload.name, *record().workload.args)
    found = load(entity)
    assert type(found) is old_tool.ConfigEntity
    assert type(found._entity_map) is OrderedDict
    assert [(name, type(knob).__name__) for name, knob in found._entity_map.items()][:1] == [("tile_b", "SplitEntity")]
    ours = {name: value for name, _, value in record().entity}
    assert found._entity_map["tile_h"].size == list(ours["tile_h"])
    assert found._entity_map["oc_nthread"].val == ours["oc_nthread"]
    assert (found.index, found.code_hash, version) == (record().index, None, "0.2")
    assert load(result) == (record().costs, 0, 0.1, 2.0)


@given(st.floats(1e-9, 1e3), st.integers(0, 200))
def test_both_forms_say_the_same(cost, number):
    from dataclasses import replace

    ours = record(cost, number)
    assert parse_line(to_pickled_line(ours)).record == replace(ours, device="", cycles=None)


def test_the_published_log_survives(shared):
    records = [found.record for found in read_log(shared / "tophub" / "vta_v0.10.log") if found.record]
    for found in records:
        assert parse_line(to_pickled_line(found)).record == found


class Calls:
    """A pickle that calls something when it is read."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.parametrize("field", ["task", "config", "result"])
@pytest.mark.parametrize("function", [os.system, eval, exec, open, getattr, __import__])
def test_nothing_that_a_pickle_names_is_called(old_tool, field, function, tmp_path):
    sign = tmp_path / "called"
    evil = Calls(function, f"touch {sign}")
    values = {"task": TASK, "config": config(old_tool), "result": ((1.0,), 0, 1.0, 2.0)}
    text = line(**values)
    at = ["task", "config", "result"].index(field) + 1
    fields = text.split("\t")
    fields[at] = base64.b64encode(pickle.dumps(evil)).decode()
    problem = parse_line("\t".join(fields)).problem
    assert problem.startswith(f"{field}: its pickle names ")
    assert not sign.exists()


def test_a_pickle_cannot_change_what_reading_does(old_tool):
    """State that is given to a class or a function, rather than to an object, is refused."""
    for module, name in (("numpy.core.multiarray", "scalar"), (MODULE, "ConfigEntity"), ("collections", "OrderedDict")):
        state = pickle.dumps({"find_class": 1}, protocol=2)[2:-1]
        evil = pickle.PROTO + b"\x02" + pickle.GLOBAL + f"{module}\n{name}\n".encode() + state + pickle.BUILD + pickle.STOP
        pickletools.dis(evil, io.StringIO())
        fields = line(config(old_tool)).split("\t")
        fields[3] = base64.b64encode(evil).decode()
        assert parse_line("\t".join(fields)).problem.startswith("result: not a pickle of a record")
    assert parse_line(line(config(old_tool))).problem == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: "!!"}, "task: not base64"),
        ({2: base64.b64encode(b"junk").decode()}, "config: not a pickle of a record"),
        ({1: base64.b64encode(pickle.dumps(["x"])).decode()}, "task: a list of 3 or more entries is needed"),
        ({2: base64.b64encode(pickle.dumps({})).decode()}, "config: it holds no ConfigEntity"),
        ({3: base64.b64encode(pickle.dumps(7)).decode()}, "result: a list of 4 or more entries is needed"),
        ({3: base64.b64encode(pickle.dumps(("x", 0, 1, 2))).decode()}, "the costs: 'x'; allowed: a list of 1 or more entries"),
        ({3: "A" * (2 << 20)}, "result: 2097152 characters"),
        ({4: "new"}, "version 'new' is not a number"),
        ({4: "0.7"}, "version 0.7 is unknown"),
    ],
)
def test_what_is_no_record_is_said(old_tool, change, message):
    fields = line(config(old_tool)).split("\t")
    for at, value in change.items():
        fields[at] = value
    found = parse_line("\t".join(fields))
    assert found.record is None
    assert message in found.problem


def test_a_knob_of_another_kind_is_refused(old_tool):
    text = line(config(old_tool, tile_ci=old_tool.OtherEntity(perm=[0, 1])))
    assert parse_line(text).problem == f"config: its pickle names {MODULE}.OtherEntity, which no record has"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_a_problem(data):
    fields = ["target", *[base64.b64encode(data).decode()] * 3, "0.2", "0.8"]
    found = parse_line("\t".join(fields))
    assert (found.record is None) == bool(found.problem)
