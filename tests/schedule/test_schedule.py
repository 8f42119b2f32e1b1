"""What schedules take on chip, and the limits that they break."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.tile_operators import alu_step, gemm_operator
from vta.isa.instruction import AluOp
from vta.schedule.schedule import Schedule, broken_limits, largest_pad, resources, step_blocks, step_kernel, window_size
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor

BLOCK = BASELINE.block


def conv_operator(source=(4, 14, 14), out=(2, 14, 14), kernel=(3, 3), padding=(1, 1), strides=(1, 1), dilation=(1, 1), steps=()):
    data, result = Tensor("x", 1, *source), Tensor("y", 1, *out)
    weights = np.zeros((out[0], source[0], *kernel, BLOCK, BLOCK), np.int8)
    term = GemmTerm(data, weights, strides=strides, padding=padding, dilation=dilation)
    return gemm_operator(result, term, steps=steps)


def diagonal(name="r", blocks=1, shape=(2, 14, 14)):
    return GemmTerm(Tensor(name, 1, *shape), np.zeros((blocks, 1, 1, 1, BLOCK, BLOCK), np.int8), diagonal=True)


SCHEDULE = replace(Schedule.smallest(), tile_co=2, tile_h=7, tile_w=14, tile_ci=2, tile_kh=3, tile_kw=3, inp_slots=2, wgt_slots=2)


def test_windows_reach_over_the_kernel():
    term = conv_operator(strides=(2, 1), dilation=(1, 2)).terms[0]
    assert window_size(term, 7, 14, 3, 3) == (6 * 2 + 3, 13 + 2 * 2 + 1)
    assert window_size(term, 1, 1, 1, 1) == (1, 1)


def test_resources_of_a_convolution():
    need = resources(conv_operator(), SCHEDULE, BASELINE)
    assert need.inp_slot == 2 * 9 * 16
    assert need.wgt_slot == 2 * 2 * 9
    assert need.wgt_fixed == 0
    assert need.acc_tile == need.acc_slot == 2 * 7 * 14
    assert need.vectors == 0


def test_a_residual_takes_fixed_weights_and_a_tensor_operand_rows_of_its_own():
    scratch = alu_step(AluOp.MAX, diagonal("m"))
    operator = conv_operator(steps=(scratch,))
    operator = replace(operator, digits=(RadixDigit(0, (*operator.digits[0].terms, diagonal("r", 2))),))
    need = resources(operator, SCHEDULE, BASELINE)
    assert need.wgt_fixed == 2 + 1
    assert need.acc_slot == 2 * need.acc_tile
    assert [term.source.name for term in operator.terms] == ["x", "r", "m"]


def test_per_channel_constants_take_rows_for_all_channels_while_these_are_few():
    steps = [alu_step(AluOp.ADD, np.arange(32)), alu_step(AluOp.MAX, 0), alu_step(AluOp.SHR, np.arange(32))]
    operator = conv_operator(steps=steps)
    assert all(a is b for a, b in zip(operator.vectors, [steps[0].operand.values, steps[2].operand.values], strict=True))
    need = resources(operator, replace(SCHEDULE, tile_co=1), BASELINE)
    assert (need.vectors, need.vectors_whole) == (4, True)
    small = replace(BASELINE, log_acc_buff_size=9)
    need = resources(operator, replace(SCHEDULE, tile_co=1), small)
    assert (need.vectors, need.vectors_whole) == (2, False)


def test_a_shared_diagonal_takes_one_weight_block():
    data, result = Tensor("x", 1, 4, 8, 8), Tensor("y", 1, 4, 4, 4)
    pool = GemmTerm(data, np.zeros((1, 1, 1, 1, BLOCK, BLOCK), np.int8), diagonal=True, strides=(2, 2), window=(3, 3))
    operator = gemm_operator(result, pool, kind="sum_pool2d")
    schedule = replace(Schedule.smallest(), tile_co=2, tile_h=4, tile_w=4, tile_ci=4, tile_kh=3, tile_kw=3)
    need = resources(operator, schedule, BASELINE)
    assert need.wgt_slot == 1
    assert need.inp_slot == 2 * 9 * 9, "a diagonal term reads no more blocks than the tile has"


def test_steps_are_no_larger_than_the_term():
    term = conv_operator(kernel=(1, 5), padding=(0, 2)).terms[0]
    assert step_kernel(term, SCHEDULE) == (1, 3)
    assert step_blocks(term, replace(SCHEDULE, tile_ci=9)) == 4
    assert step_blocks(diagonal(shape=(8, 14, 14)), replace(SCHEDULE, tile_co=3, tile_ci=1)) == 3


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
    assert broken_limits(conv_operator(), replace(SCHEDULE, **changes), BASELINE) == [message]


def test_a_large_pad_is_broken_only_by_windows_that_can_need_it():
    operator = conv_operator(source=(4, 40, 40), out=(2, 40, 40), kernel=(33, 33), padding=(16, 16))
    term = operator.terms[0]
    assert largest_pad(operator, term, 0) == 16
    one = replace(Schedule.smallest(), tile_kw=16)
    assert broken_limits(operator, one, BASELINE) == []
    (message,) = broken_limits(operator, replace(one, tile_kw=17), BASELINE)
    assert message == "padding 16 exceeds 15 and a window of 17 can need it all"


def test_the_pad_below_may_be_the_largest():
    operator = conv_operator(source=(4, 10, 10), out=(2, 20, 10), padding=(1, 1))
    assert largest_pad(operator, operator.terms[0], 0) == 19 + 2 + 1 - 1 - 10
    assert largest_pad(operator, operator.terms[0], 1) == 1


def test_rows_too_long_to_step_over_are_a_limit():
    operator = conv_operator(source=(1, 3, 70000), out=(1, 3, 70000))
    broken = broken_limits(operator, Schedule.smallest(), BASELINE)
    assert broken == [f"{name}: rows of 70000 elements exceed the stride limit of 65535" for name in "yx"]
