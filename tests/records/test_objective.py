"""What records are ranked by: cycles, energy, or both."""

import json
from dataclasses import replace

import pytest

from tests.autotune._tasks import small_task
from vta.config.technology import Technology
from vta.errors import TuningError
from vta.records.history import History
from vta.records.log import parse_line, pick_best, to_line
from vta.records.measurement import Measurement
from vta.records.objective import FEWEST_CYCLES, Objective
from vta.records.region import best_choices, choice_records

NAME = Technology().name


def record(cycles, energy_pj, number=0, technology=NAME):
    task = small_task()
    measured = Measurement((cycles / 1e8,), cycles, energy_pj=energy_pj, technology=technology if energy_pj else "")
    return task.record(task.space.schedule(number), number, measured, "cycle")


def test_powers_are_read_and_said():
    assert Objective.parse("energy").powers == (("energy", 1.0),)
    both = Objective.parse("cycles=1, energy=2")
    assert both.text == "cycles,energy=2"
    assert Objective.parse(both.text) == both
    assert both.value(3.0, 5.0) == 3 * 5 * 5
    assert FEWEST_CYCLES.value(7, None) == 7
    assert both.value(3.0, None) == float("inf")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("area", "area is the same for all schedules of a config; allowed: cycles, time, energy; a sweep ranks configs by area"),
        ("energie", "objective: 'energie'; allowed: cycles, time, energy, or powers"),
        ("cycles=0", "objective: 'cycles=0'; allowed: powers above 0, up to 100"),
        ("cycles=x", "'cycles=x'"),
        ("energy=nan", "'energy=nan'"),
        ("energy,energy=2", "energy is given twice"),
        ("", "allowed: cycles, time, energy"),
    ],
)
def test_what_is_no_objective_is_refused(text, problem):
    with pytest.raises(TuningError, match=problem):
        Objective.parse(text)


def test_records_are_ranked_by_it():
    fast, low, unknown = record(100, 30.0, 0), record(110, 20.0, 1), record(50, None, 2)
    for text, best in (("cycles", unknown), ("energy", low), ("cycles=9,energy", fast), ("time,energy=9", low)):
        assert pick_best([fast, low, unknown], Objective.parse(text)) == [best]
    history = History([fast, low, unknown], objective=Objective.parse("energy"))
    assert history.choose(small_task().operator, small_task().hw) == small_task().space.schedule(1)


def test_choices_for_regions_are_ranked_by_it_too():
    fast = choice_records([record(100, 30.0, 0)], "r", [0], 100, 30.0)
    low = choice_records([record(110, 20.0, 1)], "r", [0], 110, 20.0)
    unknown = choice_records([record(50, None, 2)], "r", [0], 50)
    key = small_task().hw.model, "r"
    assert best_choices([*fast, *low, *unknown]) == {key: tuple(unknown)}
    assert best_choices([*fast, *low, *unknown], Objective.parse("energy")) == {key: tuple(low)}
    assert best_choices(unknown, Objective.parse("energy")) == {}


def test_both_figures_are_kept_in_a_line():
    for made in (record(100, 30.5), *choice_records([record(100, 30.5)], "r", [0], 90, 29.5)):
        assert parse_line(to_line(made)).record == made
    assert "energy" not in to_line(record(100, None))
    values = json.loads(to_line(record(100, 30.5)))
    for wrong in (0, -1, "30", True):
        values["vta"]["energy_pj"] = wrong
        assert "energy_pj is" in parse_line(json.dumps(values)).problem
    del values["vta"]["technology"]
    assert parse_line(json.dumps(values)).problem == "vta: technology is missing"


def test_energies_of_other_technologies_are_not_compared():
    other = replace(record(100, 30.0, technology="7 nm"), source="a.log:3")
    with pytest.raises(TuningError, match=r"a.log:3: its energy is by the figures of '7 nm', not of '45 nm, 0.9 V'"):
        History([other], objective=Objective.parse("energy"))
    History([other])
    History([other], objective=Objective.parse("energy", Technology(name="7 nm")))
