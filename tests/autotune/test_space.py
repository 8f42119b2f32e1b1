"""Config spaces: exactly the points that fit, numbered."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE, CONFIGS, TINY
from tests.schedule.test_choose import operators
from tests.tile_operators import alu_step
from vta.autotune.space import KNOBS, Space
from vta.autotune.task import task_of_graph
from vta.errors import CompileError, TuningError
from vta.isa.instruction import AluOp
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits


def space_of(operator, hw):
    try:
        return Space([operator], hw)
    except TuningError:
        assume(False)


@given(operators(), st.sampled_from(CONFIGS), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_every_point_fits(operator, hw, seed):
    space = space_of(operator, hw)
    numbers = space.random(np.random.default_rng(seed), 10)
    for number in numbers:
        assert not broken_limits(operator.flattened, space.schedule(int(number)), hw)
    assert space.numbers(space.positions(numbers)).tolist() == numbers.tolist()


@given(operators(), st.sampled_from(CONFIGS), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_positions_without_a_number_break_a_limit_or_are_told_apart_by_nothing(operator, hw, seed):
    space = space_of(operator, hw)
    rng = np.random.default_rng(seed)
    positions = np.stack([rng.integers(0, size, 30) for size in space.dims], axis=1)
    numbers = space.numbers(positions)
    for number, position in zip(numbers, positions, strict=True):
        if number >= 0:
            assert (space.positions([number])[0] == position).all()
    assert sum(space.rejected.values()) + space.size == space.raw_size


@given(operators(), st.sampled_from(CONFIGS))
@settings(max_examples=40)
def test_the_default_schedule_is_a_point_unless_left_out_as_slow(operator, hw):
    try:
        chosen = choose_schedule(operator, hw)
    except CompileError:
        assume(False)
    space = space_of(operator, hw)
    number = space.find(chosen)
    slow = any("times as long" in reason for reason in space.rejected)
    assert slow if number is None else space.schedule(number) == chosen


def test_points_are_all_different():
    space = small_task().space
    schedules = {space.schedule(number) for number in range(0, space.size, max(1, space.size // 500))}
    assert len(schedules) == len(range(0, space.size, max(1, space.size // 500)))


def test_knobs_name_the_columns():
    space = small_task().space
    assert space.positions([0, 1]).shape == (2, len(KNOBS)) == (2, len(space.dims))


def test_a_number_outside_is_refused():
    space = small_task().space
    with pytest.raises(IndexError, match=f"of a space of {space.size}"):
        space.schedule(space.size)


def test_reasons_are_counted():
    rejected = task_of_graph(layer(256, 256, 14), TINY).space.rejected
    assert {"input buffer", "weight buffer", "accumulator buffer", "same as another point"} <= set(rejected)
    assert all(count > 0 for count in rejected.values())


def with_vectors(operator, count):
    """The operator with `count` more additions of a value per channel."""
    channels = operator.output.blocks * BASELINE.block
    return replace(operator, epilogue=(*operator.epilogue, *[alu_step(AluOp.ADD, np.zeros(channels, np.int64))] * count))


def test_no_valid_point_is_an_error_with_counts():
    crowded = with_vectors(small_task().operator, 80)
    with pytest.raises(TuningError, match=r"no valid candidate on sim_.*: .*points: accumulator buffer"):
        Space([crowded], TINY)


def test_points_fit_all_variants():
    plain = task_of_graph(layer(64, 64, 14), TINY).operator
    assert Space([plain, with_vectors(plain, 5)], TINY).size < Space([plain], TINY).size


def test_padding_may_be_skipped_only_where_there_is_some():
    assert small_task().space.dims[-1] == 2
    assert task_of_graph(layer(pad=0), BASELINE).space.dims[-1] == 1
