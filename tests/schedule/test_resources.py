"""What schedules take on chip is what their streams touch, and the limits that they break."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.codegen.test_timing import completed
from tests.integer_graphs import BASELINE, CONFIGS, LARGE_INPUT, TINY
from tests.schedule._operators import BLOCK, SCHEDULE, conv_operator, diagonal
from tests.schedule._touched import TouchedRows
from tests.schedule.test_choose import operators
from tests.tile_operators import alu_step, gemm_operator
from vta.autotune.space import Space
from vta.codegen.region import compile_operators
from vta.config.targets import MemoryType
from vta.errors import TuningError
from vta.isa.instruction import AluOp
from vta.schedule.columns import Schedules
from vta.schedule.cut import step_kernel
from vta.schedule.resources import Buffers, Limit, broken_limits, largest_pad, resources
from vta.schedule.schedule import Schedule
from vta.schedule.term_work import term_work
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor

TOUCHED = (MemoryType.INP, MemoryType.WGT, MemoryType.ACC)
SMALL = [BASELINE, LARGE_INPUT, TINY, replace(BASELINE, log_acc_buff_size=12), replace(BASELINE, log_batch=1)]


@st.composite
def points(draw, configs):
    """An operator, a config, and schedules from its space that are not too many tiles to emit."""
    operator, hw = draw(operators()), draw(st.sampled_from(configs))
    operator = completed(operator, hw)
    try:
        space = Space([operator], hw)
    except TuningError:
        assume(False)
    numbers = space.random(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), 8)
    found = [space.schedule(int(number)) for number in numbers]
    few = [one for one in found if one.tile_co * one.tile_h * one.tile_w * 100 > operator.output.elements]
    assume(few)
    return operator.flattened, hw, few[:3]


def needed(operator, schedule, hw):
    need = resources(operator, schedule, Buffers.of(hw))
    return {
        MemoryType.INP: schedule.inp_slots * need.inp_slot,
        MemoryType.WGT: schedule.wgt_slots * need.wgt_slot + need.wgt_fixed,
        MemoryType.ACC: schedule.acc_slots * need.acc_slot + need.vectors,
    }


def touched(operator, schedule, hw):
    program = compile_operators([operator], operator.sources, [operator.stored], hw, [schedule]).program
    return TouchedRows(program).rows


@given(points(SMALL))
@settings(max_examples=20, deadline=None)
def test_streams_touch_no_row_beyond(point):
    operator, hw, schedules = point
    for schedule in schedules:
        rows, need = touched(operator, schedule, hw), needed(operator, schedule, hw)
        assert all(rows[memory] <= need[memory] <= hw.depth(memory) for memory in TOUCHED)


def divides(operator, schedule):
    """Whether all tiles are of one size, and so are the kernel positions of all steps."""
    out = operator.output
    if out.blocks % schedule.tile_co or out.height % schedule.tile_h or out.width % schedule.tile_w:
        return False
    kernels = [(term.kernel, step_kernel(term, schedule)) for term in operator.terms]
    return not any(size % step for kernel, steps in kernels for size, step in zip(kernel, steps, strict=True))


@given(points(SMALL))
@settings(max_examples=20, deadline=None)
def test_with_one_slot_of_each_streams_touch_the_very_last_row(point):
    """Where windows differ in size, as in transposed convolutions, the largest may not be met."""
    operator, hw, schedules = point
    assume(all(term.source_dilation == (1, 1) and term_work(term, operator).products for term in operator.terms))
    for schedule in schedules:
        single = replace(schedule, inp_slots=1, wgt_slots=1, acc_slots=1)
        if divides(operator, single) and not broken_limits(operator, single, hw):
            rows, need = touched(operator, single, hw), needed(operator, single, hw)
            # Operators of pointwise diagonal terms alone have no use for a slot of weights.
            unused = all(term.diagonal and term.pointwise for term in operator.terms)
            assert rows[MemoryType.WGT] == need[MemoryType.WGT] - unused
            assert rows[MemoryType.INP] == need[MemoryType.INP]
            assert rows[MemoryType.ACC] == need[MemoryType.ACC]


@given(points(CONFIGS))
@settings(max_examples=20, deadline=None)
def test_many_at_once_are_each_alone(point):
    operator, hw, schedules = point
    buffers = Buffers.of(hw)
    together = resources(operator, Schedules.of(schedules), buffers)
    slots = together.slots(buffers)
    for row, schedule in enumerate(schedules):
        alone = resources(operator, schedule, buffers)
        assert asdict(alone) == {
            name: np.asarray(value).reshape(-1)[row if np.ndim(value) else 0] for name, value in asdict(together).items()
        }
        assert alone.slots(buffers) == tuple(column[row] for column in slots)
        assert Schedules.of(schedules).schedule(row) == schedule


def test_resources_of_a_convolution():
    need = resources(conv_operator(), SCHEDULE, Buffers.of(BASELINE))
    assert need.inp_slot == 2 * 9 * 16
    assert need.wgt_slot == 2 * 2 * 9
    assert need.wgt_fixed == 0
    assert need.acc_tile == need.acc_slot == 2 * 7 * 14
    assert need.vectors == 0


def test_a_residual_takes_fixed_weights_and_a_tensor_operand_rows_of_its_own():
    scratch = alu_step(AluOp.MAX, diagonal("m"))
    operator = conv_operator(steps=(scratch,))
    operator = replace(operator, digits=(RadixDigit(0, (*operator.digits[0].terms, diagonal("r", 2))),))
    need = resources(operator, SCHEDULE, Buffers.of(BASELINE))
    assert need.wgt_fixed == 2 + 1
    assert need.acc_slot == 2 * need.acc_tile
    assert [term.source.name for term in operator.terms] == ["x", "r", "m"]


def test_per_channel_constants_take_rows_for_all_channels_while_these_are_few():
    steps = [alu_step(AluOp.ADD, np.arange(32)), alu_step(AluOp.MAX, 0), alu_step(AluOp.SHR, np.arange(32))]
    operator = conv_operator(steps=steps)
    assert all(a is b for a, b in zip(operator.vectors, [steps[0].operand.values, steps[2].operand.values], strict=True))
    need = resources(operator, replace(SCHEDULE, tile_co=1), Buffers.of(BASELINE))
    assert (need.vectors, need.vectors_whole) == (4, True)
    small = replace(BASELINE, log_acc_buff_size=9)
    need = resources(operator, replace(SCHEDULE, tile_co=1), Buffers.of(small))
    assert (need.vectors, need.vectors_whole) == (2, False)


def test_a_shared_diagonal_takes_one_weight_block():
    data, result = Tensor("x", 1, 4, 8, 8), Tensor("y", 1, 4, 4, 4)
    pool = GemmTerm(data, np.zeros((1, 1, 1, 1, BLOCK, BLOCK), np.int8), diagonal=True, strides=(2, 2), window=(3, 3))
    operator = gemm_operator(result, pool, kind="sum_pool2d")
    schedule = replace(Schedule.smallest(), tile_co=2, tile_h=4, tile_w=4, tile_ci=4, tile_kh=3, tile_kw=3)
    need = resources(operator, schedule, Buffers.of(BASELINE))
    assert need.wgt_slot == 1
    assert need.inp_slot == 2 * 9 * 9, "a diagonal term reads no more blocks than the tile has"


def test_a_schedule_that_fits_breaks_nothing():
    assert broken_limits(conv_operator(), SCHEDULE, BASELINE) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inp_slots": 8}, "input buffer: 2304 rows needed, 2048 there"),
        ({"wgt_slots": 29}, "weight buffer: 1044 rows needed, 1024 there"),
        ({"acc_slots": 11}, "accumulator buffer: 2156 rows needed, 2048 there"),
    ],
)
def test_broken_limits_name_the_buffer_the_need_and_what_there_is(changes, message):
    (broken,) = broken_limits(conv_operator(), replace(SCHEDULE, **changes), BASELINE)
    assert str(broken) == message


def test_a_large_pad_is_broken_only_by_windows_that_can_need_it():
    operator = conv_operator(source=(4, 40, 40), out=(2, 40, 40), kernel=(33, 33), padding=(16, 16))
    term = operator.terms[0]
    assert largest_pad(operator, term, 0) == 16
    one = replace(Schedule.smallest(), tile_kw=16)
    assert broken_limits(operator, one, BASELINE) == []
    (message,) = broken_limits(operator, replace(one, tile_kw=17), BASELINE)
    assert str(message) == "padding 16 exceeds 15 and a window of 17 can need it all"


def test_the_pad_below_may_be_the_largest():
    operator = conv_operator(source=(4, 10, 10), out=(2, 20, 10), padding=(1, 1))
    assert largest_pad(operator, operator.terms[0], 0) == 19 + 2 + 1 - 1 - 10
    assert largest_pad(operator, operator.terms[0], 1) == 1


def test_rows_too_long_to_step_over_are_a_limit():
    operator = conv_operator(source=(1, 3, 70000), out=(1, 3, 70000))
    broken = broken_limits(operator, Schedule.smallest(), BASELINE)
    assert [str(limit) for limit in broken] == [
        f"{name}: rows of 70000 elements exceed the stride limit of 65535" for name in "yx"
    ]


def test_a_broken_limit_says_what_it_takes_and_what_is_allowed():
    (broken,) = broken_limits(conv_operator(), replace(SCHEDULE, inp_slots=8), BASELINE)
    assert (broken.limit, broken.value, broken.allowed) == (Limit.INPUT_BUFFER, 2304, 2048)
