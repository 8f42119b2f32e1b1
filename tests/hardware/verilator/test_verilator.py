"""The harness around Verilated cores, with a small copy engine in the place of the core."""

import ctypes
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from vta.config.timing import TimingParameters
from vta.errors import DeviceError
from vta.hardware.verilator.build import Core, build_library, cached_library
from vta.hardware.verilator.library import Observed, Stalls, VerilatedCore
from vta.hardware.verilator.toolchain import Verilator, compiler, find_verilator

SOURCE, TARGET = 4096, 8192
EVENTS = [field.name for field in fields(Observed) if field.name != "cycles"]
NOTES = ("asked", "first", "second", "last", "put", "put_last", "answered", "answered_last")


@pytest.fixture(scope="module")
def tools():
    try:
        find_verilator()
        compiler()
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=[8, 32], ids=["bus 64", "bus 256"])
def library(request, tools, tmp_path_factory):
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


class Builder:
    """Stands in for the tools, which take a minute: counts what it builds, and where."""

    def __init__(self, monkeypatch):
        self.built = []
        monkeypatch.setattr("vta.hardware.verilator.build.build_library", self._build)

    def _build(self, core, path):
        self.built.append(core.verilog)
        path.write_text(core.verilog)

    def library(self, text, key="a"):
        return cached_library([key], lambda: Core(text, 8))


@pytest.fixture
def builder(tools, monkeypatch):
    return Builder(monkeypatch)


def test_a_library_is_built_once(builder, tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    first, again, other = builder.library("one"), builder.library("two"), builder.library("three", "b")
    assert first == again != other
    assert builder.built == ["one", "three"]
    assert first.read_text() == "one"


@pytest.mark.parametrize("damage", ["cut off", "other", "without its checksum", "a folder"])
def test_a_library_that_is_not_what_was_built_is_built_again(builder, tmp_path, monkeypatch, damage):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    kept = builder.library("one")
    if damage == "cut off":
        kept.write_text("on")
    elif damage == "other":
        kept.write_text("something else")
    elif damage == "without its checksum":
        kept.with_suffix(".sum").unlink()
    else:
        kept.unlink()
        kept.mkdir()
    for _ in range(2):
        assert builder.library("two").read_text() == "two"
    assert builder.built == ["one", "two"]


@pytest.mark.parametrize("place", ["no home", "a file", "nothing can be written"])
def test_where_nothing_is_kept_a_library_lasts_as_long_as_the_process(builder, tmp_path, monkeypatch, place):
    path = {"no home": tmp_path, "a file": tmp_path / "file", "nothing can be written": Path("/dev/null")}[place]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VTA_CACHE_PATH", str(path))
    if place == "no home":
        monkeypatch.setattr("vta.hardware.verilator.build.cache_directory", lambda: None)
    first, again = (builder.library("one", place) for _ in range(2))
    assert first == again
    assert first.read_text() == "one"
    assert builder.built == ["one"]
    assert tmp_path not in first.parents


def test_kept_objects_that_do_not_link_are_compiled_again(tools, tmp_path, monkeypatch):
    """With a runtime of one line: Verilator's own takes a minute to compile."""
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    name = "vta.hardware.verilator.build"
    root = tmp_path / "verilator"
    (root / "include").mkdir(parents=True)
    for source in ("verilated.cpp", "verilated_threads.cpp"):
        (root / "include" / source).write_text(
            f'extern "C" __attribute__((visibility("default"))) int {source[:-4]}() {{ return 1; }}\n'
        )
    monkeypatch.setattr(f"{name}.find_verilator", lambda: Verilator(Path("verilator"), root, "1.0"))
    monkeypatch.setattr(f"{name}._verilate", lambda verilator, core, directory: None)
    monkeypatch.setattr(f"{name}._compile_all", lambda verilator, core, directory: [])
    build_library(Core("", 8), tmp_path / "first.so")
    (runtime,) = (path for path in (tmp_path / "rtl").iterdir() if path.is_dir())
    for path in runtime.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    for _ in range(2):
        build_library(Core("", 8), tmp_path / "second.so")
        assert ctypes.CDLL(str(tmp_path / "second.so")).verilated() == 1


def test_errors_of_the_tools_are_shown(library, tmp_path):
    with pytest.raises(DeviceError, match=r"Verilator failed on the core:\n.*syntax error"):
        build_library(Core("module vta(; endmodule", 8), tmp_path / "x.so")
    assert list(tmp_path.iterdir()) == []
