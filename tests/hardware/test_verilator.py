"""The harness around Verilated cores, with a small copy engine in the place of the core."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from vta.errors import DeviceError
from vta.hardware.verilator.build import Core, build_library, cached_library
from vta.hardware.verilator.library import Observed, Stalls, VerilatedCore
from vta.hardware.verilator.toolchain import compiler, find_verilator
from vta.timing import TimingParameters

SOURCE, TARGET = 4096, 8192
EVENTS = [field.name for field in fields(Observed) if field.name != "cycles"]
NOTES = ("asked", "first", "second", "last", "put", "put_last", "answered", "answered_last")


@pytest.fixture(scope="module", params=[8, 32], ids=["bus 64", "bus 256"])
def library(request, tmp_path_factory):
    try:
        find_verilator()
        compiler()
    except DeviceError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("core") / "copy.so"
    verilog = (Path(__file__).parent / "copy_core.v").read_text(encoding="utf-8")
    build_library(Core(verilog.replace("BUS_BYTES = 8", f"BUS_BYTES = {request.param}"), request.param), path)
    return path, request.param


def timing_for(bus_bytes, **values):
    return TimingParameters(bus_bits=8 * bus_bytes, **{"burst_beats": 16, **values})


def copy(library, timing, bursts=4, beats=4, strobes=0, source=SOURCE, stalls=None):
    """Run the copy engine; returns the notes it took, the core and the memory before and after."""
    memory = np.random.default_rng(1).integers(0, 256, 1 << 14, dtype=np.uint8)
    before = memory.copy()
    core = VerilatedCore(library[0], memory, timing, stalls)
    for offset, value in ((4, bursts), (8, beats), (12, source), (16, TARGET), (20, strobes), (0, 1)):
        core.write(offset, value)
    assert core.run(100_000)
    notes = {name: core.read(64 + 4 * index) for index, name in enumerate(NOTES)}
    return notes, core, before, memory


def copied(library, before, bursts=4, beats=4):
    size = bursts * beats * library[1]
    expected = before.copy()
    expected[TARGET : TARGET + size] = before[SOURCE : SOURCE + size]
    return expected


@pytest.mark.parametrize(("latency", "interval", "write_latency"), [(1, 1, 1), (16, 1, 1), (5, 3, 2), (40, 1, 17)])
def test_memory_keeps_the_timing_contract(library, latency, interval, write_latency):
    timing = timing_for(library[1], read_latency=latency, beat_interval=interval, write_latency=write_latency)
    notes, core, before, memory = copy(library, timing)
    np.testing.assert_array_equal(memory, copied(library, before))
    starts, free = [], 0
    for burst in range(4):
        starts.append(max(notes["asked"] + burst + latency, free))
        free = starts[-1] + 4 * interval
    assert notes["first"] == starts[0]
    assert notes["second"] == starts[1]
    assert notes["last"] == starts[3] + 3 * interval
    assert notes["answered_last"] == notes["put_last"] + write_latency
    seen = core.observed()
    assert (seen.read_bursts, seen.read_beats, seen.write_bursts, seen.write_beats) == (4, 16, 4, 16)
    assert seen.write_bytes == 16 * library[1]
    assert seen.interrupt == seen.last_response + 1
    assert seen.last_response - seen.first_request == notes["answered_last"] - notes["asked"]


def test_stalls_change_time_but_no_data(library):
    quick = copy(library, timing_for(library[1]), bursts=8, beats=8)[1].observed()
    for seed in range(3):
        _, core, before, memory = copy(library, timing_for(library[1]), 8, 8, stalls=Stalls(400, seed))
        np.testing.assert_array_equal(memory, copied(library, before, 8, 8))
        assert core.observed().cycles > quick.cycles


def test_strobes_keep_bytes(library):
    _, core, before, memory = copy(library, timing_for(library[1]), strobes=0b101)
    expected = copied(library, before)
    for lane in (0, 2):
        rows = slice(TARGET + lane, TARGET + 16 * library[1], library[1])
        expected[rows] = before[rows]
    np.testing.assert_array_equal(memory, expected)
    assert core.observed().write_bytes == 16 * (library[1] - 2)


@pytest.mark.parametrize(
    ("source", "beats", "what"),
    [(1 << 14, 4, "outside the memory of 16384 bytes"), (SOURCE + 4, 4, "not aligned"), (SOURCE, 32, "crosses a multiple")],
)
def test_illegal_bursts_are_errors(library, source, beats, what):
    with pytest.raises(DeviceError, match=f"cycle .* from reset: read burst .*{what}"):
        copy(library, timing_for(library[1]), bursts=1, beats=beats, source=source)


def test_a_run_can_go_on(library):
    memory = np.zeros(1 << 14, dtype=np.uint8)
    core = VerilatedCore(library[0], memory, timing_for(library[1], read_latency=100))
    for offset, value in ((4, 1), (8, 4), (12, SOURCE), (16, TARGET), (0, 1)):
        core.write(offset, value)
    started = core.observed().cycles
    assert not core.run(50)
    assert core.observed().cycles == started + 50
    assert core.run(1000)
    seen = core.observed()
    core.forget()
    assert core.observed() == replace(seen, **dict.fromkeys(EVENTS, 0))
    core.reset()
    assert core.read(4) == 0


def test_refusals(library, tmp_path):
    with pytest.raises(DeviceError, match="without traces"):
        VerilatedCore(library[0], np.zeros(4096, np.uint8), timing_for(library[1])).trace(tmp_path / "x.vcd")
    with pytest.raises(DeviceError, match="allowed: 0 to 999"):
        VerilatedCore(library[0], np.zeros(4096, np.uint8), timing_for(library[1]), Stalls(1000))
    wrong = tmp_path / "wrong.so"
    wrong.write_text("not a library")
    with pytest.raises(DeviceError, match="not a library of a core"):
        VerilatedCore(wrong, np.zeros(4096, np.uint8), timing_for(8))


def test_a_library_is_built_once(library, tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr("vta.hardware.verilator.build.build_library", lambda core, path: path.write_text(core.verilog))
    made = []

    def make(text):
        made.append(text)
        return Core(text, 8)

    first = cached_library(["a"], lambda: make("one"))
    again = cached_library(["a"], lambda: make("two"))
    other = cached_library(["b"], lambda: make("three"))
    assert first == again != other
    assert made == ["one", "three"]
    assert first.read_text() == "one"


def test_errors_of_the_tools_are_shown(library, tmp_path):
    with pytest.raises(DeviceError, match=r"Verilator failed on the core:\n.*syntax error"):
        build_library(Core("module vta(; endmodule", 8), tmp_path / "x.so")
    assert list(tmp_path.iterdir()) == []
