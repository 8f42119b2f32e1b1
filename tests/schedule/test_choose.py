"""Choosing schedules: whatever the workload, the choice fits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, CONFIGS, TINY
from tests.schedule._operators import conv_operator, diagonal
from tests.tile_operators import alu_step, gemm_operator
from vta.errors import CompileError
from vta.isa.instruction import AluOp
from vta.schedule.choose import choose_schedule
from vta.schedule.columns import TileSizes
from vta.schedule.cost import estimate
from vta.schedule.cut import step_window
from vta.schedule.resources import Buffers, broken_limits
from vta.schedule.schedule import Schedule
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor


@st.composite
def operators(draw):
    """A convolution of any kind with any steps after it; weights are zeros, of 1x1 blocks, as only their shape counts."""
    size = st.integers(1, 30)
    kernel = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    strides, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(2))
    out = Tensor("y", draw(st.integers(1, 2)), draw(st.integers(1, 32)), draw(size), draw(size), draw(st.sampled_from((1, 1, 4))))
    padding = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    between = (1, 1)
    if draw(st.booleans()):
        between, strides = strides, (1, 1)
    height, width = (
        max(1, ((extent - 1) * strides[axis] + (kernel[axis] - 1) * dilation[axis] - 2 * padding[axis]) // between[axis] + 1)
        for axis, extent in enumerate((out.height, out.width))
    )
    diagonal_root = draw(st.booleans())
    in_blocks = out.blocks if diagonal_root else draw(st.integers(1, 32))
    weights = np.zeros((out.blocks, 1 if diagonal_root else in_blocks, *kernel, 1, 1), np.int8)
    source = Tensor("x", out.batch, in_blocks, height, width)
    terms = [
        GemmTerm(
            source,
            weights,
            diagonal=diagonal_root,
            strides=strides,
            padding=padding,
            dilation=dilation,
            source_dilation=between,
        )
    ]
    if draw(st.booleans()):
        terms.append(diagonal("r", draw(st.sampled_from((1, out.blocks))), (out.blocks, out.height, out.width)))
    kinds = {
        "vector": alu_step(AluOp.ADD, np.zeros(out.blocks, np.int64)),
        "immediate": alu_step(AluOp.MAX, 0),
        "tensor": alu_step(AluOp.MAX, diagonal("m", 1, (out.blocks, out.height, out.width))),
    }
    steps = tuple(kinds[kind] for kind in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=4)))
    return gemm_operator(out, *terms, name="op", steps=steps)


@settings(deadline=None, max_examples=100)
@given(operators(), st.sampled_from(CONFIGS))
def test_a_choice_breaks_no_limit_and_is_refused_only_if_the_smallest_does(operator, hw):
    if broken_limits(operator, Schedule.smallest(), hw):
        with pytest.raises(CompileError, match=rf"op: no schedule fits {hw.model}: .* rows needed, "):
            choose_schedule(operator, hw)
        return
    schedule = choose_schedule(operator, hw)
    assert broken_limits(operator, schedule, hw) == []
    out = operator.laid_out(schedule).output
    sizes = (schedule.tile_co, schedule.tile_h, schedule.tile_w)
    assert all(1 <= size <= extent for size, extent in zip(sizes, (out.blocks, out.height, out.width), strict=True))


AXES = ("tile_co", "tile_h", "tile_w", "tile_ci")


@settings(deadline=None, max_examples=60)
@given(operators(), st.sampled_from(CONFIGS), st.data())
def test_a_grid_of_tilings_is_estimated_as_its_rows_are(operator, hw, data):
    out, term = operator.output, operator.main_term
    extents = (out.blocks, out.height, out.width, 1 if term.diagonal and term.pointwise else term.source.blocks)
    axes = [np.array(data.draw(st.lists(st.integers(1, extent), min_size=1, max_size=3))) for extent in extents]
    kernel = {name: np.asarray(size) for name, size in zip(("tile_kh", "tile_kw"), term.kernel, strict=True)}
    outer = np.array([True, False]).reshape(2, 1, 1, 1, 1)
    grid = TileSizes(**dict(zip(AXES, np.ix_(*axes), strict=True)), **kernel)
    shape = (2, *(len(axis) for axis in axes))
    rows = {name: np.broadcast_to(getattr(grid, name), shape).reshape(-1) for name in AXES}
    buffers = Buffers.of(hw)
    of_grid = estimate(operator, hw, buffers, grid, outer)
    of_rows = estimate(operator, hw, buffers, TileSizes(**rows, **kernel), np.broadcast_to(outer, shape).reshape(-1))
    for name, values in vars(of_rows).items():
        assert np.array_equal(np.broadcast_to(getattr(of_grid, name), shape).reshape(-1), values), name


def test_a_kernel_that_does_not_fit_whole_is_split():
    operator = conv_operator(source=(1, 56, 56), out=(1, 56, 56), kernel=(5, 5), padding=(2, 2))
    schedule = choose_schedule(operator, TINY)
    assert schedule.tile_kh * schedule.tile_kw < 25
    assert broken_limits(operator, schedule, TINY) == []


def test_a_kernel_of_33_with_a_pad_of_16_is_split_so_that_no_load_needs_the_pad():
    operator = conv_operator(source=(1, 40, 40), out=(1, 40, 40), kernel=(33, 33), padding=(16, 16))
    schedule = choose_schedule(operator, BASELINE)
    sizes = step_window(operator.terms[0], schedule)
    assert max(sizes) <= 16


def test_the_next_step_is_loaded_while_one_is_computed():
    operator = conv_operator(source=(4, 56, 56), out=(4, 56, 56))
    schedule = choose_schedule(operator, BASELINE)
    assert min(schedule.inp_slots, schedule.wgt_slots, schedule.acc_slots) >= 2


def test_a_strided_term_shapes_the_schedule_though_a_residual_has_as_many_products():
    strided = conv_operator(source=(1, 9, 9), out=(1, 3, 3), kernel=(1, 1), padding=(0, 0), strides=(4, 4))
    residual = RadixDigit(0, (diagonal("r", 1, (1, 3, 3)),))
    operator = replace(strided, digits=(residual, RadixDigit(7, strided.digits[0].terms)))
    assert broken_limits(operator, choose_schedule(operator, TINY), TINY) == []


def test_a_workload_that_fits_no_schedule_is_refused_with_the_limit():
    hw = replace(BASELINE, log_acc_buff_size=7)
    steps = [alu_step(AluOp.ADD, np.arange(16)), alu_step(AluOp.SHR, np.arange(16))]
    with pytest.raises(CompileError, match=r"conv: no schedule fits .*: accumulator buffer: 3 rows needed, 2 there"):
        choose_schedule(conv_operator(steps=steps), hw)
