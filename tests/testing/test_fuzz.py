"""The fuzzer: programs are legal and varied, engines agree, differences are found, shrunk and written down."""

import json
import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import missing_for_opencl
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.device import Counters, UnitCycles
from vta.errors import ConfigError, DeviceError
from vta.hardware.verilator.toolchain import compiler, find_verilator, require_amaranth
from vta.isa import AluOp, Opcode, Unit, units_of
from vta.isa.assembly import assemble
from vta.isa.instruction import REQUANTIZE_KEEP, REQUANTIZE_TABLE, REQUANTIZE_WIDE
from vta.isa.verify import verify
from vta.testing.fuzz import engines as engines_module
from vta.testing.fuzz.__main__ import main
from vta.testing.fuzz.campaign import case_of, fuzz
from vta.testing.fuzz.engines import Outcome, compare, run_engines
from vta.testing.fuzz.generator import random_program
from vta.testing.fuzz.points import default_points, points_of, random_points, vary_memory
from vta.testing.fuzz.shrink import shrink

POINTS = default_points()
REQUANTIZING = [
    replace(point, hw=replace(point.hw, requantize_unit=1, table_unit=table, depthwise_unit=table))
    for point, table in zip(POINTS, (1, 1, 0, 1, 0, 1), strict=False)
]
seeds = st.integers(0, 2**32 - 1)


@given(st.sampled_from([*POINTS, *REQUANTIZING]), seeds)
@settings(deadline=None, max_examples=150)
def test_programs_are_legal(point, seed):
    assert verify(case_of(point, seed)[0]) == []


def test_a_seed_gives_one_program():
    one, other = (random_program(POINTS[0].hw, 7) for _ in range(2))
    np.testing.assert_array_equal(one.instructions, other.instructions)
    np.testing.assert_array_equal(one.image, other.image)
    assert len(random_program(POINTS[0].hw, 8).instructions) != len(one.instructions)


def test_programs_use_the_whole_instruction_set():
    rows = np.concatenate([case_of(POINTS[seed % len(POINTS)], seed)[0].instructions for seed in range(120)])
    moves = rows[(rows["x_size"] > 0) & (rows["y_size"] > 0)]
    assert set(moves["memory_type"][moves["opcode"] == Opcode.LOAD]) == set(MemoryType) - {MemoryType.OUT, MemoryType.TABLE}
    alu = rows[rows["opcode"] == Opcode.ALU]
    assert {(op, imm) for op, imm in zip(alu["alu_opcode"], alu["use_imm"], strict=True)} == {
        (op, imm) for op in set(AluOp) - {AluOp.REQUANTIZE} for imm in (0, 1)
    }
    assert set(rows["reset"][rows["opcode"] == Opcode.GEMM]) == {0, 1}
    for name in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"):
        for kind in (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.ACC_8BIT):
            assert moves[name][moves["memory_type"] == kind].any(), (name, kind)
    loops = rows[np.isin(rows["opcode"], (Opcode.GEMM, Opcode.ALU))]
    assert (loops["iter_out"] == 0).any()
    assert (loops["uop_bgn"] == loops["uop_end"]).any()
    units = units_of(rows)
    empty = (np.isin(rows["opcode"], (Opcode.LOAD, Opcode.STORE))) & ((rows["x_size"] == 0) | (rows["y_size"] == 0))
    assert set(units[empty]) == set(Unit)
    assert max(len(case_of(POINTS[1], seed)[0].instructions) for seed in range(30)) > 100


def test_programs_use_the_options():
    rows = np.concatenate([random_program(REQUANTIZING[0].hw, seed).instructions for seed in range(40)])
    requantizes = (rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.REQUANTIZE)
    assert set(rows["imm"][requantizes]) == {
        0,
        REQUANTIZE_WIDE,
        REQUANTIZE_TABLE,
        REQUANTIZE_KEEP,
        REQUANTIZE_KEEP | REQUANTIZE_TABLE,
    }
    assert MemoryType.TABLE in rows["memory_type"][(rows["opcode"] == Opcode.LOAD) & (rows["x_size"] > 0)]
    assert Opcode.DEPTHWISE in rows["opcode"]


@given(st.sampled_from([*POINTS, *REQUANTIZING]), seeds)
@settings(deadline=None, max_examples=40)
def test_engines_agree(point, seed):
    program, timing = case_of(point, seed)
    assert compare(run_engines(program, timing, ("sim", "cycle", "contract"))) == []


def test_a_campaign_counts():
    summary = fuzz(POINTS[:3], ("sim", "cycle"), range(6))
    assert (summary.programs, summary.mismatches.total(), summary.failures) == (6, 0, [])
    assert summary.cycles > 0
    assert fuzz(POINTS[:3], ("sim",), range(6), limit_seconds=0).programs == 0


def test_opencl_agrees():
    missing = missing_for_opencl()
    if missing:
        pytest.skip(missing)
    summary = fuzz(POINTS, ("sim", "opencl"), range(90), shrink_seconds=10)
    assert [failure.reproducer() for failure in summary.failures] == []


def test_rtl_agrees():
    try:
        find_verilator(), compiler(), require_amaranth()
    except DeviceError as error:
        pytest.skip(str(error))
    small = POINTS[6:7]  # its core builds quickest
    summary = fuzz(small, ("sim", "cycle", "rtl", "stalled"), range(40), shrink_seconds=10)
    assert [failure.reproducer() for failure in summary.failures] == []


def corrupted(outcome):
    """What an engine with a broken maximum would give."""
    image = outcome.image.copy()
    image[-1] ^= 1
    return replace(outcome, image=image)


@pytest.fixture
def broken_max(monkeypatch):
    """The simulator leaves a wrong byte after any program with an ALU MAX that runs."""
    run_device = engines_module._run_device

    def run(name, program, timing, limit_seconds):
        outcome = run_device(name, program, timing, limit_seconds)
        rows = program.instructions
        hit = (rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.MAX)
        return corrupted(outcome) if hit.any() else outcome

    monkeypatch.setattr(engines_module, "_run_device", run)


def test_failures_shrink_to_what_matters(broken_max):
    summary = fuzz(POINTS[:1], ("sim",), range(20), shrink_seconds=20)
    assert summary.mismatches["bits"] == len(summary.failures) > 0
    smallest = min(summary.failures, key=lambda failure: len(failure.program.instructions))
    rows = smallest.program.instructions
    assert AluOp.MAX in rows["alu_opcode"][rows["opcode"] == Opcode.ALU]
    # The micro-op, the accumulator row that it reads, the maximum, FINISH.
    assert len(rows) <= 4
    assert verify(smallest.program) == []


def test_reproducers_assemble_to_the_program(broken_max):
    failure = fuzz(POINTS[:1], ("sim",), range(20), shrink_seconds=0).failures[0]
    again = assemble(failure.reproducer())
    np.testing.assert_array_equal(again.instructions, failure.program.instructions)
    np.testing.assert_array_equal(again.image, failure.program.image)
    assert "; bits: 1 bytes of the image differ" in failure.reproducer()


def test_shrinking_keeps_programs_legal_and_failing():
    program, _ = case_of(POINTS[2], 11)

    def stores(candidate):
        rows = candidate.instructions
        return bool(((rows["opcode"] == Opcode.STORE) & (rows["x_size"] > 0)).any())

    small = shrink(program, stores, 20)
    assert stores(small)
    assert verify(small) == []
    assert len(small.instructions) < 10


def test_differences_are_named():
    image = np.zeros(8, np.uint8)
    units = {"load": UnitCycles(busy=1)}
    right = Outcome("cycle", None, image, Counters(macs=1), 10, units, (1, 2))
    assert compare([right, right]) == []
    wrong_image = image.copy()
    wrong_image[3] = 5
    others = {
        "bits: 1 bytes of the image differ, the first at 0x3: cycle 0x00, rtl 0x05": replace(right, image=wrong_image),
        "bits: rtl failed: deadlock": Outcome("rtl", error="deadlock"),
        "cycles: cycle 10, rtl 11": replace(right, cycles=11),
        "counters: read and written beats: cycle (1, 2), rtl (1, 3)": replace(right, beats=(1, 3)),
    }
    for text, other in others.items():
        found = compare([right, replace(other, engine="rtl")])
        assert [f"{difference.kind}: {difference.message}" for difference in found] == [text]
    for other in (replace(right, units={"load": UnitCycles(busy=2)}), replace(right, counters=Counters())):
        assert [difference.kind for difference in compare([right, other])] == ["counters"]


def test_points_from_files(tmp_path):
    timing = tmp_path / "wide.json"
    timing.write_text(json.dumps({"bus_bits": 256, "read_latency": 3}))
    (point,) = points_of(["sim_4x8"], [timing])
    assert (point.timing.bus_bits, point.timing.read_latency, point.hw.target) == (256, 3, "rtl")
    assert len(points_of([], [timing])) == len(POINTS)
    timing.write_text("{")
    with pytest.raises(ConfigError, match=r"wide\.json: not JSON"):
        points_of([], [timing])


def test_random_cores():
    points = random_points(30, 1)
    assert points == random_points(30, 1) != random_points(30, 2)
    assert {point.timing.bus_bits for point in points} == {64, 128, 256, 512}
    assert len({point.hw.block for point in points}) >= 4
    summary = fuzz(points, ("sim", "cycle", "contract"), range(30))
    assert [failure.reproducer() for failure in summary.failures] == []


def test_memory_varies_but_not_the_core():
    timings = {vary_memory(TimingParameters(), Random(seed)) for seed in range(40)}
    assert len(timings) > 5
    assert {(timing.bus_bits, timing.queue_depth, timing.load_fifo) for timing in timings} == {(64, 512, 256)}


def test_command_line(capsys, monkeypatch, tmp_path):
    arguments = ["--programs", "4", "--seed", "3", "--config", "sim", "sim_4x8", "--devices", "sim", "--json"]
    monkeypatch.setattr(sys, "argv", ["fuzz", *arguments])
    assert main() == 0
    result = json.loads(capsys.readouterr().out)
    assert result["programs"] == 4
    assert result["mismatches"] == {"bits": 0, "cycles": 0, "counters": 0}
    assert len(result["cores"]) == 2


def test_command_line_writes_reproducers(capsys, monkeypatch, tmp_path, broken_max):
    arguments = ["--programs", "12", "--devices", "sim", "--shrink-seconds", "0", "--reproducers", str(tmp_path / "found")]
    monkeypatch.setattr(sys, "argv", ["fuzz", *arguments])
    assert main() == 1
    files = sorted((tmp_path / "found").iterdir())
    assert files
    assert str(files[0]) in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["fuzz", "--devices", "gpu"])
    with pytest.raises(SystemExit):
        main()
    assert "allowed: sim, cycle, rtl, stalled, " in capsys.readouterr().err
