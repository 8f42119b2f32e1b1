"""Host and kernel agree on every number that they exchange."""

import re
from dataclasses import replace

import numpy as np
import pytest

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.hardware.opencl.program import build_options, kernel_source
from vta.hardware.opencl.state import STATE_WORDS, Status, Word, geometry_difference, geometry_of, sram_bytes
from vta.isa import AluOp, Opcode, Unit

PARTS = sorted(kernel_source().parent.glob("*.h"))
OPTIONAL = {"DEPTHWISE", "TABLE", "REQUANTIZE"}
"""Of options of the hardware that the kernel has not got: configs with them are refused."""
SOURCE = re.sub(r"//.*", "", "".join(part.read_text() for part in PARTS))


def numbers(name):
    """The constants of an enumeration of the kernel."""
    body = re.search(rf"enum {name} {{(.*?)}};", SOURCE, re.DOTALL).group(1)
    values, last = {}, -1
    for part in filter(None, (part.strip() for part in body.split(","))):
        key, _, given = (word.strip() for word in part.partition("="))
        last = eval(given, {"UNITS": len(Unit), "QUEUES": 4, **values}) if given else last + 1
        values[key] = last
    return values


@pytest.mark.parametrize(
    ("name", "enumeration", "more"),
    [
        ("status", Status, {}),
        ("word", Word, {"WORDS": STATE_WORDS}),
        ("opcode", Opcode, {}),
        ("memory", MemoryType, {}),
        ("alu_opcode", AluOp, {}),
    ],
)
def test_enumerations(name, enumeration, more):
    assert numbers(name) == {member.name: member.value for member in enumeration if member.name not in OPTIONAL} | more


def test_units_are_numbered_alike():
    assert numbers("unit") == {f"{unit.name}_UNIT": unit.value for unit in Unit} | {"UNITS": len(Unit)}


def test_the_macros_are_the_keys_of_the_config():
    hw = HardwareConfig.named("intelfocl")
    assert {option.removeprefix("-DVTA_").split("=")[0] for option in build_options(hw)} == hw.to_json().keys() - {
        "TARGET",
        "HW_VER",
    }
    for option in build_options(hw):
        assert option.split("=")[0].removeprefix("-D") in SOURCE


def test_geometries_differ_where_they_should():
    hw = HardwareConfig.named("intelfocl")
    other = replace(hw, log_batch=1, log_inp_buff_size=13)
    assert geometry_of(hw) == geometry_of(replace(hw, target="sim", hw_version="x"))
    assert geometry_difference(geometry_of(hw), other) == "LOG_BATCH = 0, not 1, LOG_INP_BUFF_SIZE = 15, not 13"
    assert geometry_of(hw) < np.iinfo(np.uint64).max
    assert sram_bytes(hw) == (1 << 15) + (1 << 15) + (1 << 18) + (1 << 17) + (1 << 15)


def test_what_is_given_to_a_compiler(capsys, monkeypatch):
    from vta.hardware.opencl.__main__ import main

    monkeypatch.setattr("sys.argv", ["opencl", "intelfocl"])
    assert main() == 0
    words = capsys.readouterr().out.split()
    assert words[:-1] == build_options(HardwareConfig.named("intelfocl"))
    assert words[-1] == str(kernel_source())
    monkeypatch.setattr("sys.argv", ["opencl", "nothing"])
    assert main() == 2
    assert "opencl: error: " in capsys.readouterr().err
