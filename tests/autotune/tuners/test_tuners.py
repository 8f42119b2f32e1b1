"""All tuners over one interface, on costs whose best point is known."""

import numpy as np
import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from vta.autotune.task import task_of_graph
from vta.autotune.tuners import TUNERS, Experience, make_tuner
from vta.errors import TuningError

NAMES = list(TUNERS)
LEARNING = [name for name in NAMES if name.startswith("xgb")]


def scores(task, numbers):
    """More for larger tiles and more slots: smooth, with one best kind of point."""
    points = task.space.points(numbers)
    size = np.log2(points.tile_co) + np.log2(points.tile_h) + np.log2(points.tile_w) + np.log2(points.tile_ci)
    return (1 / (8 - size + (points.inp_slots == 1) + (points.wgt_slots == 1) + (points.acc_slots == 1))).tolist()


def search(tuner, trials):
    proposed = []
    while len(proposed) < trials:
        batch = tuner.propose(min(tuner.batch_size, trials - len(proposed)))
        if not batch:
            break
        tuner.update(batch, scores(tuner.task, batch))
        proposed += batch
    return proposed


def test_the_names_that_users_know():
    boosted = [f"xgb{loss}{kind}" for loss in ("", "_rank", "_rank_binary") for kind in ("", "_knob", "_itervar", "_curve")]
    assert sorted(NAMES) == sorted([*boosted, "ga", "random", "gridsearch"])


def test_an_unknown_name_is_an_error_that_lists_all():
    with pytest.raises(TuningError, match="unknown tuner 'xgboost'; allowed: " + ", ".join(NAMES)):
        make_tuner("xgboost", small_task())


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_points_and_never_twice_the_same(name):
    task = small_task()
    proposed = search(make_tuner(name, task), 80)
    assert len(proposed) == len(set(proposed)) == 80
    assert min(proposed) >= 0
    assert max(proposed) < task.space.size


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_proposals(name):
    first, second = (search(make_tuner(name, small_task(), seed=5), 70) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_space_is_searched_to_its_end(name):
    task = task_of_graph(layer(16, 16, 1, 1, 0), BASELINE)
    proposed = search(make_tuner(name, task), 10**6)
    assert sorted(proposed) == list(range(task.space.size))


@pytest.mark.parametrize("name", [*LEARNING, "ga"])
def test_tuners_that_learn_beat_chance(name):
    task = small_task()
    best = max(scores(task, np.arange(task.space.size)))
    tuner = make_tuner(name, task)
    search(tuner, 128)
    chance = make_tuner("random", task)
    search(chance, 128)
    assert tuner.best_score >= chance.best_score
    assert tuner.best_score == pytest.approx(best, rel=0.2)
    assert scores(task, [tuner.best]) == [tuner.best_score]


def test_gridsearch_goes_in_order():
    assert make_tuner("gridsearch", small_task()).propose(5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["xgb", "xgb_rank_knob", "xgb_rank_binary_curve"])
def test_what_one_task_taught_helps_the_next(name):
    experience = Experience()
    search(make_tuner(name, task_of_graph(layer(64, 64), BASELINE), 0, experience), 96)
    task = small_task()
    taught, untaught = (make_tuner(name, task, 1, known).propose(32) for known in (experience, None))
    assert np.mean(scores(task, taught)) > np.mean(scores(task, untaught))


def test_xgboost_missing_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    with pytest.raises(TuningError, match="need the package xgboost-cpu: pip install 'vta\\[tune\\]'"):
        make_tuner("xgb", small_task())
