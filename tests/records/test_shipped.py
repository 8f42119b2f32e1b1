"""The records that come with the package: found by geometry, used where they fit, and what they promise."""

import json
from dataclasses import replace

import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from tests.records.test_history import other_schedule
from tests.records.test_log import record
from vta.autotune.hints import shipped_schedules
from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.compiler.compile import compile_graph
from vta.records import shipped
from vta.records.check import config_of_model
from vta.records.history import History, load_history
from vta.records.knobs import entity_of, schedule_of
from vta.records.log import RecordLog, line_start, read_log, target_of, to_line
from vta.records.region import best_choices
from vta.records.shipped import SHIPPED, ShippedSchedules, shipped_folder, shipped_records
from vta.schedule.choose import choose_schedule
from vta.schedule.source import DEFAULT_SCHEDULES, PerOperator


@pytest.fixture
def ship(monkeypatch, tmp_path):
    """Makes records the shipped ones."""

    def put(*records):
        for entry in records:
            path = tmp_path / f"{config_of_model(entry.model).bitstream}.log"
            path.write_text((path.read_text() if path.exists() else "# head\n") + to_line(entry))
        shipped._lines_by_start.cache_clear()

    monkeypatch.setattr(shipped, "shipped_folder", lambda: tmp_path)
    shipped._lines_by_start.cache_clear()
    yield put
    shipped._lines_by_start.cache_clear()


def on(target, entry):
    return replace(entry, target=target_of(f"{target}_{BASELINE.bitstream}"))


def skipping(cost):
    """A record that leaves out products."""
    task = small_task()
    schedule = replace(choose_schedule(task.operator, BASELINE), skip_padding=True)
    return replace(record(cost), entity=entity_of(schedule, task.operator))


def test_a_line_starts_as_its_record_says():
    ours = record()
    assert to_line(ours).startswith(line_start(ours.target, ours.workload) + '"config": ')


def test_a_shipped_schedule_is_used_by_default(ship):
    number = other_schedule()
    ship(record(number=number))
    graph, task = layer(), small_task()
    assert SHIPPED.choose(task.operator, BASELINE) == task.space.schedule(number)
    found = compile_graph(graph, BASELINE).regions[0].program.instructions.tobytes()
    default = compile_graph(graph, BASELINE, schedules=DEFAULT_SCHEDULES).regions[0].program.instructions.tobytes()
    expected = compile_graph(graph, BASELINE, schedules=PerOperator(lambda operator, hw: task.space.schedule(number)))
    assert found == expected.regions[0].program.instructions.tobytes() != default


def test_without_a_record_the_default_is_used(ship):
    assert SHIPPED.find(small_task().operator, BASELINE) is None
    assert SHIPPED.choose(small_task().operator, BASELINE) == choose_schedule(small_task().operator, BASELINE)


def test_the_exact_target_goes_before_one_of_the_same_bus(ship):
    ship(*(on(target, record(number=number)) for number, target in enumerate(("ultra96", "sim", "pynq"))))
    chosen = {
        target: shipped_records(small_task().workload, replace(BASELINE, target=target))[0].index
        for target in ("ultra96", "zcu104", "sim", "cycle", "tsim", "de10nano", "intelfocl", "pynq")
    }
    assert chosen == {
        **{"ultra96": 0, "zcu104": 0, "sim": 1, "cycle": 1, "tsim": 1, "de10nano": 1, "intelfocl": 1, "pynq": 2},
    }


def test_a_target_with_another_bus_is_no_stand_in(ship):
    ship(on("ultra96", record()))
    assert shipped_records(small_task().workload, BASELINE) == ()
    assert len(shipped_records(small_task().workload, replace(BASELINE, target="zcu104"))) == 1


def test_another_geometry_has_its_own_log(ship):
    ship(record())
    assert shipped_records(small_task().workload, replace(BASELINE, log_wgt_buff_size=17)) == ()


def test_products_are_left_out_on_request_only(ship):
    number = other_schedule()
    ship(skipping(1e-4), record(2e-4, number))
    operator = small_task().operator
    assert SHIPPED.find(operator, BASELINE) == small_task().space.schedule(number)
    assert ShippedSchedules(fastest=True).find(operator, BASELINE).skip_padding


def test_of_two_that_do_all_products_the_faster_is_taken_on_request(ship):
    """It may move more bytes."""
    number = other_schedule()
    ship(record(1e-4, number), record(2e-4, 0))
    operator, space = small_task().operator, small_task().space
    assert SHIPPED.find(operator, BASELINE) == space.schedule(0)
    assert ShippedSchedules(fastest=True).find(operator, BASELINE) == space.schedule(number)


def test_a_record_that_leaves_out_products_is_none_by_default(ship):
    ship(skipping(1e-4))
    assert SHIPPED.find(small_task().operator, BASELINE) is None


def test_a_schedule_that_does_not_fit_is_not_used(ship):
    ship(replace(record(), entity=(*record().entity, ("inp_slots", "ot", 100))))
    assert SHIPPED.find(small_task().operator, BASELINE) is None


def test_lines_that_are_no_records_are_no_schedules(ship, tmp_path):
    ship(record(number=other_schedule()))
    path = next(tmp_path.glob("*.log"))
    path.write_text("nonsense\n" + path.read_text().replace('"tile_h"', '"tile_x"'))
    shipped._lines_by_start.cache_clear()
    assert SHIPPED.find(small_task().operator, BASELINE) is None


def test_a_log_goes_before_the_shipped_records(ship, tmp_path):
    ship(record(number=other_schedule()))
    path = tmp_path / "own.log"
    RecordLog(path).append([record(number=0)])
    assert load_history(path).choose(small_task().operator, BASELINE) == small_task().space.schedule(0)
    assert History([], "own").choose(small_task().operator, BASELINE) == small_task().space.schedule(other_schedule())
    assert History([], "own", None).choose(small_task().operator, BASELINE) == choose_schedule(small_task().operator, BASELINE)


def test_the_message_says_that_the_shipped_schedule_is_used(ship, caplog):
    ship(record(number=other_schedule()))
    History([], "own.log").choose(small_task().operator, BASELINE)
    assert caplog.messages[0].endswith("it has no usable record; using the shipped schedule")


def test_tuning_begins_with_the_shipped_schedules(ship):
    number = other_schedule()
    ship(record(number=number), skipping(1e-4))
    task = small_task()
    known = shipped_schedules(task)
    assert [schedule.skip_padding for schedule in known] == [False, True]
    assert shipped_schedules(replace(task, skip_padding=False)) == [task.space.schedule(number)]
    (report,) = tune([task], in_process(BASELINE), TuneOptions("gridsearch", 1), hints=shipped_schedules)
    measured = in_process(BASELINE)
    from vta.autotune.measure.measure import Candidate, measure

    costs = [result.cycles for result in measure([Candidate(task, schedule) for schedule in known], measured)]
    assert report.best_cycles <= min(costs)
    assert report.trials == 1


LOGS = sorted(folder.glob("*.log")) if (folder := shipped_folder()) else []


def test_there_are_logs_for_the_shipped_geometries():
    from vta.config.files import shipped_configs
    from vta.config.hardware import HardwareConfig

    geometries = {HardwareConfig.named(name).bitstream for name in shipped_configs()}
    assert {path.stem for path in LOGS} <= geometries
    assert HardwareConfig.named("sim").bitstream in {path.stem for path in LOGS}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_shipped_logs_keep_their_promises(path):
    """Every line is a record of its geometry; each workload has a schedule that does all products, and at most a faster one."""
    kinds = {}
    for line in read_log(path):
        if line.comment:
            continue
        entry = line.record
        assert entry is not None, line.problem
        assert to_line(entry) == line.text, "the form that looking up relies on"
        assert config_of_model(entry.model).bitstream == path.stem
        assert (entry.error, entry.timestamp, entry.all_cost) == (0, 0.0, 0.0)
        if entry.place is None:
            kinds.setdefault((entry.target, entry.workload), []).append(entry)
    for entries in kinds.values():
        assert len(entries) <= 2
        first, *others = sorted(entries, key=lambda entry: -entry.cycles)
        assert not dict_of(first)["skip_padding"]
        assert all(other.cycles < first.cycles for other in others)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_shipped_choices_for_regions_are_whole(path):
    """Of each region there is one, with a record for every place."""
    entries = [line.record for line in read_log(path) if line.record and line.record.place]
    assert sum(map(len, best_choices(entries).values())) == len(entries)


def dict_of(entry):
    return {name: value for name, _, value in entry.entity}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_some_shipped_schedules_cost_what_they_say(path):
    from vta.autotune.measure.measure import Candidate, measure
    from vta.autotune.usable import task_of_workload

    alone = [line.record for line in read_log(path) if line.record and line.record.place is None]
    entries = [entry for entry in alone if "conv2d" in entry.workload.name]
    for entry in entries[:: max(1, len(entries) // 8)]:
        hw = config_of_model(entry.model)
        task = task_of_workload(entry.workload, hw)
        (result,) = measure([Candidate(task, schedule_of(entry.entity, task.operator))], in_process(hw))
        assert result.error == 0, result.message
        assert entry.cycles >= 0.9 * result.cycles, "the network may have more or less to do behind the products"
        assert json.loads(to_line(entry))["vta"]["cycles"] == entry.cycles
