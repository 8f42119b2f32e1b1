"""Folding loop nests into instructions: every point once, within every limit."""

from collections import Counter
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, FEW_UOPS, TINY
from vta.codegen.stream import Loop, Segment, Stream
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import AluOp, Opcode

FACTORS = "iter", "dst_factor", "src_factor", "wgt_factor"

PYNQ = replace(BASELINE, target="pynq")


def fold(nest, base, hw, alu=False):
    """The instructions of a nest: the micro-ops of each, and its two loops."""
    stream = Stream(hw)
    if alu:
        stream.alu_nest(AluOp.ADD, nest, base)
    else:
        stream.gemm_nest(nest, base)
    uops = stream.uops
    sram = np.zeros(hw.uop_depth, uops.dtype)
    folded = []
    for row, segment in zip(stream.instructions, stream.segments, strict=True):
        if segment == Segment.UOPS:
            sram[row["sram_base"] : row["sram_base"] + row["x_size"]] = uops[row["dram_base"] :][: row["x_size"]]
        else:
            assert row["opcode"] == (Opcode.ALU if alu else Opcode.GEMM)
            loops = [Loop(*(int(row[f"{name}_{end}"]) for name in FACTORS)) for end in ("out", "in")]
            folded.append((sram[row["uop_bgn"] : row["uop_end"]].copy(), *loops))
    return folded


def points_of(dims, base):
    """How often a nest visits each (dst, src, wgt)."""
    visited = Counter()
    for indices in product(*(range(dim.extent) for dim in dims)):
        rows = zip(base, *(tuple(step * i for step in dim[1:]) for i, dim in zip(indices, dims, strict=True)), strict=True)
        visited[tuple(sum(row) for row in rows)] += 1
    return visited


def visited_by(folded):
    visited = Counter()
    for uops, outer, inner in folded:
        for o, i in product(range(outer.extent), range(inner.extent)):
            for dst, src, wgt in uops.tolist():
                visited[
                    dst + o * outer.dst + i * inner.dst,
                    src + o * outer.src + i * inner.src,
                    wgt + o * outer.wgt + i * inner.wgt,
                ] += 1
    return visited


def check_limits(folded, hw, alu=False):
    source = MemoryType.ACC if alu else MemoryType.INP
    for uops, *loops in folded:
        assert 1 <= len(uops) <= hw.uop_depth
        for loop in loops:
            assert 1 <= loop.extent < 1 << 14
            assert loop.dst < hw.depth(MemoryType.ACC)
            assert loop.src < hw.depth(source)
            assert loop.wgt < hw.depth(MemoryType.WGT)
        dst = uops["dst"].tolist()
        for gap in range(1, hw.capabilities.uop_dst_distance):
            assert all(a != b for a, b in zip(dst, dst[gap:], strict=False))


dims = st.builds(Loop, st.integers(1, 5), st.integers(0, 30), st.integers(0, 30), st.integers(0, 10))
nests = st.lists(dims, max_size=5).map(tuple)
bases = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))


@settings(deadline=None, max_examples=150)
@given(nests, bases, st.sampled_from((BASELINE, FEW_UOPS, PYNQ, replace(FEW_UOPS, target="pynq"))))
def test_fold_visits_every_point_as_often_as_the_nest_and_keeps_the_limits(nest, base, hw):
    folded = fold(nest, base, hw)
    assert visited_by(folded) == points_of(nest, base)
    check_limits(folded, hw)


def test_a_convolution_nest_becomes_one_instruction_whose_micro_ops_are_the_short_loops():
    nest = (Loop(2, 0, 100, 9), Loop(4, 56, 0, 18), Loop(8, 7, 9), Loop(7, 1, 1), Loop(3, 0, 9, 3), Loop(3, 0, 1, 1))
    ((uops, outer, inner),) = folded = fold(nest, (0, 0, 0), BASELINE)
    # Rows and columns of the output, 8 x 7, stay loops of the hardware, or do so merged with the channels.
    assert outer.extent * inner.extent * len(uops) == 2 * 4 * 8 * 7 * 9
    assert len(uops) <= 2 * 4 * 9
    assert visited_by(folded) == points_of(nest, (0, 0, 0))


def test_loops_that_continue_each_other_are_joined():
    ((uops, outer, inner),) = fold((Loop(4, 30, 30), Loop(5, 6, 6), Loop(6, 1, 1)), (3, 2, 1), BASELINE)
    assert len(uops) == 1
    assert sorted((outer.extent, inner.extent)) == [1, 120]


def test_an_extent_beyond_the_loop_field_is_split_or_written_out():
    nest = (Loop(3, 0, 0, 1), Loop(20000, 0, 1))
    hw = replace(BASELINE, log_inp_buff_size=19, log_wgt_buff_size=12, log_acc_buff_size=15)
    folded = fold(nest, (0, 0, 0), hw)
    check_limits(folded, hw)
    assert sum(len(uops) * outer.extent * inner.extent for uops, outer, inner in folded) == 60000


def test_a_step_beyond_the_factor_field_is_not_a_loop_of_the_hardware():
    nest = (Loop(3, 64), Loop(4, 0, 64), Loop(5, 0, 0, 16))
    folded = fold(nest, (0, 0, 0), TINY)
    check_limits(folded, TINY)
    assert visited_by(folded) == points_of(nest, (0, 0, 0))


def test_sources_of_the_alu_are_accumulator_rows():
    nest = (Loop(3, 1, 100), Loop(4, 3, 1))
    hw = replace(BASELINE, log_inp_buff_size=9)
    assert len(fold(nest, (0, 0, 0), hw)[0][0]) == 3
    (folded,) = fold(nest, (0, 0, 0), hw, alu=True)
    assert len(folded[0]) == 1
    check_limits([folded], hw, alu=True)


def test_a_dst_does_not_repeat_too_soon_where_the_pipeline_forbids_it():
    nest = (Loop(3, 0, 1, 1), Loop(3, 0, 10, 3), Loop(4, 0, 100, 9))
    assert len(fold(nest, (0, 0, 0), BASELINE)) == 1
    folded = fold(nest, (0, 0, 0), PYNQ)
    check_limits(folded, PYNQ)
    assert visited_by(folded) == points_of(nest, (0, 0, 0))


def test_an_empty_nest_is_one_micro_op():
    ((uops, outer, inner),) = fold((), (5, 6, 7), BASELINE)
    assert uops.tolist() == [(5, 6, 7)]
    assert (outer.extent, inner.extent) == (1, 1)


def test_a_target_that_holds_no_micro_op_is_refused():
    class NoUops(HardwareConfig):
        uop_depth = 0

    hw = NoUops(**{field.name: getattr(BASELINE, field.name) for field in fields(BASELINE)})
    with pytest.raises(CompileError, match="a single micro-op does not fit the uop buffer of 0"):
        Stream(hw).gemm_nest((), (0, 0, 0))
