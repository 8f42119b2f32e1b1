"""Schedules as knobs of records."""

from dataclasses import replace

import numpy as np
import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from vta.autotune.task import task_of_graph
from vta.errors import TuningError
from vta.records.knobs import entity_of, schedule_of
from vta.schedule.schedule import Schedule

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
    sizes = {"tile_co": 2, "tile_h": 3, "tile_w": 6, "tile_ci": 1, "tile_kh": 3, "tile_kw": 3}
    slots = dict.fromkeys(("inp_slots", "wgt_slots", "acc_slots"), 2)
    assert schedule == Schedule(**sizes, **slots, weights_outer=False, flat=False)


OURS = entity_of(small_task().space.schedule(0), small_task().operator)


def changed(entity, **knobs):
    """Knobs with other values; None takes one out."""
    return tuple((name, kind, knobs.get(name, value)) for name, kind, value in entity if knobs.get(name, value) is not None)


def test_knobs_that_early_records_lack_may_be_missing():
    assert schedule_of(changed(OURS, skip_padding=None), small_task().operator) == schedule_of(OURS, small_task().operator)


def test_outer_factors_of_published_records_may_be_a_part():
    assert schedule_of(changed(PUBLISHED, tile_h=(1, 3)), small_task().operator).tile_h == 3
    with pytest.raises(TuningError, match="its factors do not fit 6"):
        schedule_of(changed(OURS, tile_h=(1, 3)), small_task().operator)


def test_factors_of_rows_and_columns_serve_an_operator_that_has_one_axis():
    """What follows the products decides that, and is no part of the workload."""
    operator = task_of_graph(layer(kernel=1, pad=0), BASELINE).operator
    entity = entity_of(replace(Schedule.smallest(), tile_h=3, tile_w=6, flat=False), operator)
    assert schedule_of(changed(entity, flat=True), operator).tile_w == 6
    entity = entity_of(replace(Schedule.smallest(), tile_w=36), operator)
    found = schedule_of(changed(entity, flat=False), operator)
    assert (found.tile_h, found.tile_w) == (1, 6)


@pytest.mark.parametrize("base", [PUBLISHED, OURS])
@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"tile_h": 3}, r"knob tile_h = 3; allowed: \[outer, inner\]"),
        ({"tile_h": (1, 0)}, r"knob tile_h = \(1, 0\); allowed: \[outer, inner\], with an inner factor of 1 or more"),
        ({"tile_h": (1, True)}, r"knob tile_h = \(1, True\); allowed"),
        ({"tile_h": (True, 6)}, "its factors do not fit 6"),
        ({"tile_h": (0, 6)}, "its factors do not fit 6"),
        ({"tile_h": (-2, 6)}, "its factors do not fit 6"),
        ({"tile_h": (1, 100)}, r"knob tile_h = \(1, 100\): its factors do not fit 6"),
        ({"tile_h": (4, 3)}, "its factors do not fit 6"),
        ({"tile_w": (1, 7)}, "its factors do not fit 6"),
        ({"tile_co": (1, 3)}, "its factors do not fit 2"),
        ({"tile_ci": (2, 2)}, "its factors do not fit 2"),
        ({"tile_ci": (1, "2")}, "knob tile_ci"),
        ({"oc_nthread": "2"}, "knob oc_nthread = '2'; allowed: integers 1 to 2"),
        ({"oc_nthread": 3}, "knob oc_nthread = 3; allowed: integers 1 to 2"),
        ({"h_nthread": 0}, "knob h_nthread = 0"),
        ({"h_nthread": -1}, "knob h_nthread = -1"),
        ({"tile_b": None}, "knobs are missing: tile_b"),
        ({"tile_h": None, "h_nthread": None}, "knobs are missing: tile_h, h_nthread"),
    ],
)
def test_impossible_knobs_are_named(base, knobs, message):
    with pytest.raises(TuningError, match=message):
        schedule_of(changed(base, **knobs), small_task().operator)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"kernel": (0, 1)}, r"knob kernel = \(0, 1\); allowed: two sizes, from 1x1 to 3x3"),
        ({"kernel": (3, 4)}, "knob kernel"),
        ({"kernel": 3}, "knob kernel"),
        ({"inp_slots": 128}, "knob inp_slots = 128; allowed: integers 1 to 127"),
        ({"acc_slots": 2.0}, "knob acc_slots = 2.0"),
        ({"weights_outer": 1}, "knob weights_outer = 1; allowed: true, false"),
        ({"flat": "yes"}, "knob flat = 'yes'"),
        ({"skip_padding": ()}, "knob skip_padding"),
        ({"wgt_slots": None}, "knobs are missing: wgt_slots"),
        ({"kernel": None, "flat": None}, "knobs are missing: kernel, flat"),
    ],
)
def test_impossible_knobs_of_our_own_are_named(knobs, message):
    with pytest.raises(TuningError, match=message):
        schedule_of(changed(OURS, **knobs), small_task().operator)


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        ((), "knobs are missing: tile_b, tile_h, tile_w, tile_ci, tile_co, oc_nthread, h_nthread"),
        ((*PUBLISHED, ("tile_x", "sp", (1, 1))), "knob 'tile_x' is unknown; allowed: tile_b, tile_h"),
        ((*PUBLISHED, ("tile_h", "sp", (1, 6))), "knob tile_h is given twice"),
        ((*PUBLISHED[:-1], ("h_nthread", "sp", (1, 1))), "knob h_nthread is of kind 'sp'; allowed: ot"),
        ((("tile_b", "ot", 1), *PUBLISHED[1:]), "knob tile_b is of kind 'ot'; allowed: sp"),
    ],
)
def test_lists_of_knobs_that_are_none_are_named(entity, message):
    with pytest.raises(TuningError, match=message):
        schedule_of(entity, small_task().operator)
