"""Schedules as knobs of records."""

import numpy as np
import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from vta.autotune.entity import entity_of, schedule_of
from vta.autotune.task import task_of_graph
from vta.codegen.schedule import Schedule
from vta.errors import TuningError

PUBLISHED = (
    ("tile_b", "sp", (1, 1)),
    ("tile_h", "sp", (2, 3)),
    ("tile_w", "sp", (1, 6)),
    ("tile_ci", "sp", (2, 1)),
    ("tile_co", "sp", (-1, 2)),
    ("oc_nthread", "ot", 2),
    ("h_nthread", "ot", 1),
)


@pytest.mark.parametrize("shape", [{}, {"kernel": 1, "pad": 0}])
def test_there_and_back(shape):
    task = task_of_graph(layer(**shape), BASELINE)
    for number in task.space.random(np.random.default_rng(0), 40):
        schedule = task.space.schedule(int(number))
        assert schedule_of(entity_of(schedule, task.operator), task.operator) == schedule


def test_published_knobs_come_first():
    entity = entity_of(small_task().space.schedule(0), small_task().operator)
    assert [knob[0] for knob in entity[:7]] == [knob[0] for knob in PUBLISHED]


def test_of_a_published_record_inner_factors_and_threads_count():
    schedule = schedule_of(PUBLISHED, small_task().operator)
    assert schedule == Schedule(2, 3, 6, 1, 3, 3, 2, 2, 2, False, flat=False)


def test_sizes_beyond_the_axis_are_cut():
    entity = (("tile_h", "sp", (1, 100)), ("tile_co", "sp", (1, 9)))
    schedule = schedule_of(entity, small_task().operator)
    assert (schedule.tile_h, schedule.tile_co) == (6, 2)


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        ((("tile_x", "sp", (1, 1)),), "knob 'tile_x' is unknown; allowed: tile_b, tile_h"),
        ((("tile_h", "sp", 3),), r"knob tile_h = 3; allowed: \[outer, inner\]"),
        ((("tile_h", "sp", (1, 0)),), "knob tile_h = 0; allowed: integers of 1 or more"),
        ((("oc_nthread", "ot", "2"),), "knob oc_nthread = '2'"),
        ((("kernel", "ot", (0, 1)),), r"knob kernel = \(0, 1\); allowed: two sizes"),
    ],
)
def test_impossible_knobs_are_named(entity, message):
    with pytest.raises(TuningError, match=message):
        schedule_of(entity, small_task().operator)
