"""A record is judged before it is ranked: a good one wins over a cheaper one that is no schedule, whichever way it comes in."""

import json
import logging

import pytest

from tests.autotune._tasks import layer, small_task, two_layers
from tests.integer_graphs import BASELINE
from tests.records.test_log import record
from vta.autotune.measure.in_process import in_process
from vta.autotune.region.tune import RegionOptions, SearchLimits, tune_region
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import extract_tasks
from vta.autotune.usable import record_problem
from vta.cli.main import main
from vta.compiler.compile import compile_graph, graph_regions
from vta.records.history import load_history
from vta.records.log import parse_line, read_log, to_line, to_pickled_line
from vta.records.region import best_choices, choice_records, region_identity
from vta.schedule.source import PerOperator

GOOD = record(1e-3, 3)
CHEAP = json.loads(to_line(record(1e-4, 5)))


def cheaper(**knobs):
    """A line that costs a tenth of the good one and has other knobs; None takes one out."""
    entity = [[name, kind, knobs.get(name, value)] for name, kind, value in CHEAP["config"]["entity"]]
    return {**CHEAP, "config": {**CHEAP["config"], "entity": [knob for knob in entity if knob[2] is not None]}}


def with_entity(entity):
    return {**CHEAP, "config": {**CHEAP["config"], "entity": entity}}


BAD = {
    "no knobs": with_entity([]),
    "one knob": with_entity([["tile_h", "sp", [6, 1]]]),
    "a knob is missing": cheaper(tile_co=None),
    "one of ours is missing": cheaper(acc_slots=None),
    "an unknown knob": with_entity([*CHEAP["config"]["entity"], ["tile_z", "sp", [1, 1]]]),
    "a knob twice": with_entity([*CHEAP["config"]["entity"], CHEAP["config"]["entity"][1]]),
    "zero": cheaper(tile_h=[6, 0]),
    "negative": cheaper(inp_slots=-1),
    "factors that do not fit the shape": cheaper(tile_w=[5, 5]),
    "too large a factor": cheaper(tile_h=[1, 1000]),
    "a text": cheaper(wgt_slots="2"),
    "a flag that is none": cheaper(weights_outer="true"),
    "a kernel beyond the layer's": cheaper(kernel=[7, 7]),
    "more than the buffer has": cheaper(inp_slots=120, kernel=[3, 3], tile_h=[1, 6], tile_w=[1, 6], tile_ci=[1, 2]),
}


@pytest.fixture(params=BAD)
def bad(request):
    return json.dumps(BAD[request.param]) + "\n"


def test_it_is_a_record_with_a_problem(bad):
    found = parse_line(bad).record
    assert found.cost < GOOD.cost
    assert record_problem(found)
    assert record_problem(GOOD) == ""


@pytest.mark.parametrize("form", ["json", "pickled"])
@pytest.mark.parametrize("first", [True, False])
def test_compiling(bad, form, first, tmp_path, caplog):
    good, other = (to_line(GOOD), bad) if form == "json" else (to_pickled_line(GOOD), to_pickled_line(parse_line(bad).record))
    if not record_problem(parse_line(other).record):
        pytest.skip("the pickled form has no place for a knob twice")
    path = tmp_path / "net.log"
    path.write_text(other + good if first else good + other)
    with caplog.at_level(logging.WARNING):
        history = load_history(path, shipped=None)
        program = compile_graph(layer(), BASELINE, schedules=history).regions[0].program
    wanted = compile_graph(layer(), BASELINE, schedules=PerOperator(lambda *_: small_task().space.schedule(3))).regions[0].program
    assert program.instructions.tobytes() == wanted.instructions.tobytes()
    assert history.notes == {}
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"{path}:{1 if first else 2}: {small_task().name}: not used: ")


def test_shipped_records(bad, tmp_path, monkeypatch):
    from vta.records import shipped

    (tmp_path / f"{BASELINE.bitstream}.log").write_text(bad + to_line(GOOD))
    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    for cached in (shipped._source, shipped._lines_by_start):
        cached.cache_clear()
    try:
        found = shipped.ShippedSchedules(fastest=True).find(small_task().operator, BASELINE)
        assert found == small_task().space.schedule(3)
    finally:
        for cached in (shipped._source, shipped._lines_by_start):
            cached.cache_clear()


@pytest.mark.parametrize("action", ["distill", "pick-best"])
def test_keeping_the_best(action, bad, tmp_path, capsys):
    path, best = tmp_path / "net.log", tmp_path / "best.log"
    path.write_text(bad + to_line(GOOD))
    assert main(["records", action, str(path), "-o", str(best)]) == 0
    assert [line.record for line in read_log(best)] == [GOOD]
    assert f"{path}:1: skipped: " in capsys.readouterr().err


def test_checking(bad, tmp_path, capsys):
    path = tmp_path / "net.log"
    path.write_text(to_line(GOOD) + bad)
    assert main(["records", "check", str(path)]) == 1
    printed = capsys.readouterr()
    assert f"{path}:2: " in printed.out
    assert "1 of 2 records cannot be used" in printed.err
    path.write_text(to_line(GOOD))
    assert main(["records", "check", str(path)]) == 0


def test_going_on_with_a_log(bad, tmp_path, caplog):
    """Tuning does not take the cost of what is no schedule, and neither do the tuners that learn."""
    path = tmp_path / "net.log"
    path.write_text(bad + to_line(GOOD))
    records = [line.record for line in read_log(path)]
    (report,) = tune([small_task()], in_process(BASELINE), TuneOptions("ga", 2), known=records)
    assert report.best_cost > parse_line(bad).record.cost or report.best_cycles != parse_line(bad).record.cycles
    assert [message for message in caplog.messages if f"{path}:1: " in message and "not used: " in message]


def test_choices_for_regions(bad, tmp_path, caplog):
    """Of a choice with a record that is no schedule nothing is used: the next one is, or it is tuned anew."""
    (region,) = graph_regions(two_layers(), BASELINE)
    identity = region_identity(region, BASELINE)
    good = choice_records([record(number=3), record(number=4)], identity, [0, 1], 1000)
    broken = choice_records([parse_line(bad).record, record(number=4)], identity, [0, 1], 900)
    path = tmp_path / "net.log"
    path.write_text("".join(map(to_line, [*broken, *good])))
    with caplog.at_level(logging.WARNING):
        found = load_history(path, shipped=None).choose_region(region, BASELINE)
    assert found == tuple(small_task().space.schedule(number) for number in (3, 4))
    assert [message for message in caplog.messages if f"{path}:1: " in message]
    tasks = extract_tasks(two_layers(), BASELINE)
    records = [line.record for line in read_log(path)]
    report = tune_region(region, BASELINE, tasks, records, RegionOptions(limits=SearchLimits(4)))
    assert report.best_cycles > 0


def test_a_changed_record_is_no_part_of_a_choice():
    good = choice_records([record(number=3), record(number=4)], "r", [0, 1], 1000)
    changed = parse_line(to_line(good[0]).replace('["inp_slots", "ot", ', '["inp_slots", "ot", 1')).record
    assert changed.place == good[0].place
    assert best_choices([changed, good[1]]) == {}
    assert best_choices([changed, *good]) == {(BASELINE.model, "r"): tuple(good)}
