"""How tile sizes cut a term into reduction steps."""

from dataclasses import replace

import numpy as np

from tests.schedule._operators import SCHEDULE, conv_operator, diagonal
from vta.schedule.columns import Schedules
from vta.schedule.cut import step_blocks, step_kernel, step_window


def test_windows_reach_over_the_kernel():
    term = conv_operator(strides=(2, 1), dilation=(1, 2)).terms[0]
    assert step_window(term, SCHEDULE) == (6 * 2 + 3, 13 + 2 * 2 + 1)
    assert step_window(term, replace(SCHEDULE, tile_h=1, tile_w=1, tile_kh=1, tile_kw=1)) == (1, 1)


def test_steps_are_no_larger_than_the_term():
    term = conv_operator(kernel=(1, 5), padding=(0, 2)).terms[0]
    assert step_kernel(term, SCHEDULE) == (1, 3)
    assert step_blocks(term, replace(SCHEDULE, tile_ci=9)) == 4
    assert step_blocks(diagonal(shape=(8, 14, 14)), replace(SCHEDULE, tile_co=3, tile_ci=1)) == 3


def test_many_at_once_are_each_alone():
    term = conv_operator(kernel=(1, 5), padding=(0, 2), strides=(2, 1)).terms[0]
    schedules = [SCHEDULE, replace(SCHEDULE, tile_h=3, tile_kw=5), replace(SCHEDULE, tile_ci=9, tile_w=1)]
    together = Schedules.of(schedules)
    assert np.transpose(step_window(term, together)).tolist() == [list(step_window(term, one)) for one in schedules]
    assert np.transpose(step_kernel(term, together)).tolist() == [list(step_kernel(term, one)) for one in schedules]
    assert step_blocks(term, together).tolist() == [step_blocks(term, one) for one in schedules]
