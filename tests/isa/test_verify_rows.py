"""Row sets and hazards of single instructions against loops written out one micro-op at a time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa.builders import build, kinds, messages, shipped
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa import SymbolKind
from vta.isa.findings import FindingKind
from vta.isa.verify import verify

LOADED = 64
"""Rows of each memory that the programs below have loaded."""


def program(hw: HardwareConfig, instruction: str, uops: list[tuple[int, int, int]]):
    acc = hw.elem_bytes(MemoryType.ACC)
    text = f"""
        load uop sram=0 dram=0 y=1 x={len(uops)} stride={len(uops)}
        load acc sram=0 dram={4096 // acc} y=1 x=64 stride=64
        load inp sram=0 dram={4096 // hw.elem_bytes(MemoryType.INP)} y=1 x=64 stride=64
        load wgt sram=0 dram={4096 // hw.elem_bytes(MemoryType.WGT)} y=4 x=16 stride=0 push=next
        load uop x=0 pop=prev
        {instruction}
        finish
    """
    return build(hw, text, uops, data=SymbolKind.CONSTANT)


def rows(uops, loops, side):
    """Every row touched, in execution order."""
    (outs, ins), (dst, src, wgt) = loops[:2], loops[2:]
    factor = (dst, src, wgt)[side]
    return [uop[side] + o * factor[0] + i * factor[1] for o in range(outs) for i in range(ins) for uop in uops]


small = st.integers(0, 3)
loop_counts = st.integers(1, 4)
factors = st.tuples(st.sampled_from((0, 0, 1, 2, 5, 17, 33)), st.sampled_from((0, 1, 1, 3, 8, 21)))
loop_nests = st.tuples(loop_counts, loop_counts, factors, factors, factors)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 63), st.integers(0, 63), st.integers(0, 63)), min_size=1, max_size=5), loop_nests)
def test_rows_that_nothing_wrote_are_counted_exactly(uops, loops):
    outs, ins, dst, src, wgt = loops
    text = f"gemm uop=0:{len(uops)} loop={outs},{ins} dst={dst[0]},{dst[1]} src={src[0]},{src[1]} wgt={wgt[0]},{wgt[1]}"
    findings = verify(program(shipped("sim"), text, uops))
    found = {finding.memory: (finding.first, finding.count) for finding in findings}
    expected = {}
    for side, memory in enumerate((MemoryType.ACC, MemoryType.INP, MemoryType.WGT)):
        beyond = {row for row in rows(uops, loops, side) if row >= LOADED}
        if beyond:
            expected[memory] = (min(beyond), len(beyond))
    assert found == expected
    assert kinds(findings) <= {"uninitialised-sram"}


def slots(uops, outs, ins, dst, src):
    """(iteration, dst row, src row) of each micro-op executed, in order."""
    return [
        (o * ins + i, d + o * dst[0] + i * dst[1], s + o * src[0] + i * src[1])
        for o in range(outs)
        for i in range(ins)
        for d, s, _ in uops
    ]


def flattened_hazard(steps, immediate):
    """The loops run on: a micro-op must not read what the one just before it writes."""
    return any((later[1] if immediate else later[2]) == earlier[1] for earlier, later in pairwise(steps))


def refilled_hazard(steps, immediate):
    """Within an iteration, what is written must not be used by the next two micro-ops."""
    for place, (iteration, dst, src) in enumerate(steps):
        for before in steps[max(0, place - 2) : place]:
            if before[0] == iteration and (before[1] == dst or (not immediate and before[1] == src)):
                return True
    return False


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(("tsim", "pynq", "sim")),
    st.booleans(),
    st.lists(st.tuples(small, small), min_size=1, max_size=4),
    st.tuples(loop_counts, loop_counts),
    st.tuples(small, small),
    st.tuples(small, small),
)
def test_alu_hazards(target, immediate, pairs, counts, dst, src):
    uops = [(d, d if immediate else s, 0) for d, s in pairs]
    src = dst if immediate else src
    text = f"alu add uop=0:{len(uops)} loop={counts[0]},{counts[1]} dst={dst[0]},{dst[1]} src={src[0]},{src[1]}"
    findings = verify(program(shipped(target), text + (" imm=1" if immediate else ""), uops))
    steps = slots(uops, *counts, dst, src)
    expected = {"tsim": flattened_hazard, "pynq": refilled_hazard, "sim": lambda *_: False}[target](steps, immediate)
    assert kinds(findings) == ({"hazard"} if expected else set())


@pytest.mark.parametrize(
    ("target", "dst", "found"),
    [
        ("pynq", (1, 2, 1), True),
        ("pynq", (1, 2, 3, 1), False),
        ("pynq", (1, 1), True),
        ("tsim", (1, 1), False),
        ("sim", (1, 1), False),
    ],
)
def test_gemm_hazards(target, dst, found):
    uops = [(row, 0, 0) for row in dst]
    findings = verify(program(shipped(target), f"gemm uop=0:{len(uops)} loop=1,1", uops))
    assert kinds(findings) == ({"hazard"} if found else set())
    assert verify(program(shipped(target), f"gemm reset uop=0:{len(uops)} loop=1,1", uops)) == []


def test_hazard_names_the_micro_op():
    findings = verify(program(shipped("pynq"), "gemm uop=0:3 loop=1,1", [(1, 0, 0), (2, 0, 0), (1, 0, 0)]))
    assert "micro-op 2 repeats the dst of the one 2 before; target pynq needs 3 apart" in messages(findings)


CAPABILITIES = [
    ("pynq", "alu mul uop=0:1 loop=1,1", "target pynq has no MUL"),
    ("tsim", "alu mul uop=0:1 loop=1,1 dst=1,1 src=1,1", "target tsim has no MUL"),
    ("pynq", "load acc_8bit sram=0 dram=256 y=1 x=1 stride=1", "has no ACC_8BIT load"),
    ("pynq", "load wgt sram=0 dram=16 y=1 x=1 stride=1 pad=0,0,1,0", "honours pads only of INP, ACC"),
    ("intelfocl", "load acc sram=0 dram=64 y=1 x=1 stride=1 pad=1,0,0,0", "honours pads only of INP"),
    ("pynq", "load uop sram=4 dram=0 y=2 x=1 stride=1", "loads micro-ops flat: y_size must be 1"),
    ("pynq", "alu shr uop=0:1 loop=1,1 imm=16", "shifts by -16 to 15 only"),
    ("tsim", "alu shr uop=1:2 loop=1,1 unused_imm=-1", "takes the direction of a shift from imm"),
    ("tsim", "alu add uop=0:1 loop=0,1 imm=1", "runs an empty loop 2^14 times"),
    ("tsim", "gemm uop=1:1 loop=1,1", "runs an empty loop 2^14 times"),
    ("tsim", "alu add uop=1:2 loop=1,1 imm=1", "reads src in immediate mode, and micro-op 1 has src other than dst"),
    ("tsim", "alu add uop=0:1 loop=1,2 dst=0,1 imm=1", "reads src in immediate mode, and micro-op 0 has src other than dst"),
    ("tsim", "load uop sram=2047 dram=0 y=1 x=2 stride=2", "UOP rows 2047 to 2048; allowed: 0 to 2047"),
]


@pytest.mark.parametrize(("target", "line", "words"), CAPABILITIES)
def test_targets_lack_some_capabilities(target, line, words):
    uops = [(0, 0, 0), (0, 1, 0)]
    assert words in messages(verify(program(shipped(target), line, uops)))
    if not line.startswith("load wgt"):
        assert verify(program(shipped("sim"), line, uops)) == []


@pytest.mark.parametrize(
    ("target", "amount", "allowed"),
    [("sim", -31, True), ("sim", 32, False), ("tsim", -1, False), ("tsim", 31, True), ("pynq", 15, True), ("pynq", 16, False)],
)
def test_register_shifts_by_constants_are_checked(target, amount, allowed):
    built = program(shipped(target), "alu shr uop=0:1 loop=1,1", [(0, 1, 0)])
    built.image[4096:].view("<i4")[16:32] = amount
    findings = verify(built)
    assert kinds(findings) == (set() if allowed else {"capability"})
    if not allowed:
        assert f"ACC row 1 shifts by {amount}; target {target} allows" in messages(findings)


def test_register_shifts_by_computed_values_cannot_be_decided():
    lines = "alu add uop=1:2 loop=1,1 imm=100\nalu shr uop=0:1 loop=1,1"
    assert verify(program(shipped("sim"), lines, [(0, 1, 0), (1, 1, 0)])) == []


def test_alu_uops_have_no_weight_index():
    (finding,) = verify(program(shipped("sim"), "alu add uop=0:1 loop=1,1", [(0, 1, 3)]))
    assert (finding.kind, finding.first) == (FindingKind.FIELD, 0)
    assert "micro-op 0 has a weight index" in finding.message


def test_largest_loops_are_decided_at_once():
    uops = [(row % 64, row % 64, 0) for row in range(1000)]
    nest = "loop=16383,16383"
    assert verify(program(shipped("sim"), f"gemm uop=0:1000 {nest}", uops)) == []
    assert np.all(
        [
            finding.kind is FindingKind.SRAM_BOUNDS
            for finding in verify(program(shipped("sim"), f"gemm uop=0:1 {nest} src=1,0", uops))
        ]
    )
