"""`vta tune`, `vta records` and `vta compile --records`, on the digits network."""

import json

import pytest

from vta.cli.main import main
from vta.demo import model_path
from vta.records.log import read_log


def tune_arguments(log, *more):
    return ["tune", str(model_path()), "--config", "sim", "--tuner", "ga", "--trials", "8", "--records", str(log), *more]


def run_json(arguments, capsys, status=0):
    assert main([*map(str, arguments), "--json"]) == status, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("tune") / "digits.log"
    assert main(tune_arguments(path)) == 0
    return path


def test_the_keys_that_scripts_rely_on(tmp_path, capsys):
    figures = run_json(tune_arguments(tmp_path / "log", "--plot", str(tmp_path / "plot.png")), capsys)
    assert figures["trials_per_second"] > 0
    assert len(figures["tasks"]) == 4
    for task in figures["tasks"]:
        assert task["roofline_cycles"] <= task["best_cycles"] <= task["default_cycles"]
        assert task["trials"] == 8
        assert task["weight"] >= 1
        assert all(count > 0 for count in task["rejected"].values())
    assert figures["estimated_cycles"] == sum(task["weight"] * task["best_cycles"] for task in figures["tasks"])
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_and_the_lines_below_it(log, capsys):
    assert main(tune_arguments(log)) == 0
    text = capsys.readouterr().out
    for word in (
        "whole region: ",
        "best cycles",
        "roofline",
        "MAC use",
        "GOPS",
        "left out before measuring",
        "estimated total: ",
    ):
        assert word in text


def test_a_log_is_gone_on_from(tmp_path, capsys):
    path = tmp_path / "log"
    assert main(tune_arguments(path)) == 0
    before = len(path.read_text().splitlines())
    assert main(tune_arguments(path)) == 0
    assert len(path.read_text().splitlines()) == before + 4, "only the default schedules are measured again"
    capsys.readouterr()


@pytest.mark.parametrize("by", ["number", "name"])
def test_one_workload(by, tmp_path, capsys):
    tasks = run_json(tune_arguments(tmp_path / "log", "--list"), capsys)["tasks"]
    wanted = {"number": "1", "name": tasks[1]["workload"]}[by]
    figures = run_json(tune_arguments(tmp_path / "log", "--workload", wanted), capsys)
    assert [task["workload"] for task in figures["tasks"]] == [tasks[1]["workload"]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tuner", "best"], "there is no such tuner; allowed: xgb, xgb_knob"),
        (["--workload", "99"], "there is no such task; there are 0: conv2d_packed.vta"),
    ],
)
def test_wrong_usage_lists_what_is_allowed(more, message, tmp_path, capsys):
    assert main(tune_arguments(tmp_path / "log", *more)) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "log").exists()


def test_a_log_is_needed(capsys):
    assert main(["tune", str(model_path()), "--config", "sim"]) == 2
    assert "--records missing" in capsys.readouterr().err


def test_compiling_with_records(log, tmp_path, capsys):
    out = tmp_path / "net.vta"
    arguments = ["compile", str(model_path()), "-o", str(out), "--config", "sim", "--records", str(log)]
    assert main(arguments) == 0
    assert "default schedule" not in capsys.readouterr().err
    assert main(["run", str(out), "--device", "sim", "--check", "--seed", "1"]) == 0


def test_compiling_with_records_of_another_config_says_so(log, tmp_path, caplog):
    out = tmp_path / "net.vta"
    assert main(["compile", str(model_path()), "-o", str(out), "--config", "sim_1x32", "--records", str(log)]) == 0
    assert caplog.messages
    assert all("LOG_BLOCK = 4 there and 5 here" in message for message in caplog.messages)


@pytest.mark.parametrize("action", ["pick-best", "distill"])
def test_the_best_records_are_kept(action, log, tmp_path, capsys):
    """One for each workload, and those of the choice for the region, where tuning has found one."""
    best = tmp_path / "best.log"
    figures = run_json(["records", action, log, "-o", best], capsys)
    values = [json.loads(line) for line in best.read_text().splitlines()]
    alone = [value["input"] for value in values if "region" not in value["vta"]]
    assert len({json.dumps(value["input"]) for value in values}) == 4
    assert len(alone) == len({json.dumps(wanted) for wanted in alone}) <= 4
    assert figures["kept"] == len(values)
    assert figures["skipped"] == []


def test_records_go_to_standard_output(log, tmp_path, capsys):
    best = tmp_path / "best.log"
    assert main(["records", "pick-best", str(log), "-o", str(best)]) == 0
    capsys.readouterr()
    assert main(["records", "pick-best", str(log)]) == 0
    assert capsys.readouterr().out == best.read_text()
    assert main(["records", "pick-best", str(log), "--json"]) == 2


@pytest.mark.parametrize("action", ["pick-best", "distill", "merge"])
def test_what_is_kept_compiles_to_the_same(action, log, tmp_path, capsys):
    kept = tmp_path / "kept.log"
    assert main(["records", action, str(log), "-o", str(kept)]) == 0
    assert cycles_with(kept, tmp_path, capsys) == cycles_with(log, tmp_path, capsys)


def cycles_with(log, tmp_path, capsys):
    out = tmp_path / "net.vta"
    assert main(["compile", str(model_path()), "-o", str(out), "--config", "sim", "--records", str(log)]) == 0
    capsys.readouterr()
    return run_json(["run", out, "--device", "cycle", "--timing-only", "--seed", "0"], capsys)["cycles"]


def test_the_whole_region_is_chosen_last(tmp_path, capsys):
    path = tmp_path / "log"
    (region,) = run_json(tune_arguments(path), capsys)["regions"]
    assert region["name"] == "region0"
    assert region["operators"] == region["records"] == 5
    assert region["best_cycles"] < region["alone_cycles"], "8 trials a task leave something to find"
    assert cycles_with(path, tmp_path, capsys) == region["best_cycles"]


@pytest.mark.parametrize("more", [["--region-evaluations", "0"], ["--workload", "0"]])
def test_the_last_stage_can_be_left_out(more, tmp_path, capsys):
    path = tmp_path / "log"
    assert run_json(tune_arguments(path, *more), capsys)["regions"] == []
    assert all(line.record.place is None for line in read_log(path))


def test_merging_a_log_with_itself_changes_nothing(log, tmp_path, capsys):
    merged = tmp_path / "merged.log"
    figures = run_json(["records", "merge", log, log, "-o", merged], capsys)
    assert figures["read"] == 2 * figures["kept"]
    assert merged.read_text() == log.read_text()


def test_checking_names_lines_and_reasons(log, tmp_path, capsys):
    path = tmp_path / "mixed.log"
    good = log.read_text().splitlines()[0]
    values = json.loads(good)
    values["result"][0] = [1e-9]
    path.write_text(f"# head\n{good}\nnonsense\n{json.dumps(values)}\n")
    problems = run_json(["records", "check", path], capsys, status=1)["problems"]
    assert [problem["line"] for problem in problems] == [3, 4]
    assert "not JSON" in problems[0]["reason"]
    assert "not believed" in problems[1]["reason"]


def test_converting_to_the_pickled_form_and_back(log, tmp_path, capsys):
    pickled, again = tmp_path / "pickled.log", tmp_path / "again.log"
    figures = run_json(["records", "convert", log, "--to", "pickle", "-o", pickled], capsys)
    lines = pickled.read_text().splitlines()
    assert figures["kept"] == figures["read"] == len(lines) == len(log.read_text().splitlines())
    assert all(line.count("\t") == 5 for line in lines)
    run_json(["records", "convert", pickled, "-o", again], capsys)
    for ours, other in zip(log.read_text().splitlines(), again.read_text().splitlines(), strict=True):
        assert {**json.loads(ours), "vta": None} == {**json.loads(other), "vta": None}
    assert run_json(["records", "check", pickled], capsys)["problems"] == []


def test_only_convert_writes_pickles(log, capsys):
    assert main(["records", "merge", str(log), "--to", "pickle"]) == 2
    assert "merge writes JSON" in capsys.readouterr().err


def test_a_pickled_log_compiles_as_the_other_does(log, tmp_path):
    """The other without choices for regions, for which the pickled form has no place."""
    pickled, plain = tmp_path / "pickled.log", tmp_path / "plain.log"
    assert main(["records", "convert", str(log), "--to", "pickle", "-o", str(pickled)]) == 0
    assert main(["records", "convert", str(pickled), "-o", str(plain)]) == 0
    outputs = [tmp_path / name for name in ("one.vta", "two.vta")]
    for records, out in zip((plain, pickled), outputs, strict=True):
        assert main(["compile", str(model_path()), "-o", str(out), "--config", "sim", "--records", str(records)]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_debug_says_each_trial(tmp_path, capsys):
    assert main(tune_arguments(tmp_path / "log", "--workload", "0", "--no-records", "--debug")) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "tile_co=" in line]
    assert [line.split(": ")[1] for line in lines] == ["default", *(f"trial {number} of 8" for number in range(1, 9))]
    assert all(" cycles, " in line and "GOPS" in line for line in lines)
    assert main(tune_arguments(tmp_path / "log2", "--workload", "0", "--no-records")) == 0
    assert "tile_co=" not in capsys.readouterr().err, "without --debug none is said"


def test_every_failed_trial_says_why(caplog):
    import logging

    from tests.autotune._tasks import small_task
    from tests.autotune.test_session import Costs, by_number, run

    with caplog.at_level(logging.DEBUG, "vta.autotune.session"):
        run(Costs(lambda candidate: "no such row" if candidate.number % 2 else by_number(candidate)), trials=6)
    failed = [message for message in caplog.messages if "failed" in message]
    assert failed
    assert all("failed: runtime_device: no such row" in message for message in failed)
    assert len(caplog.messages) == 7
    assert all(message.startswith(small_task().name) for message in caplog.messages)


def test_an_operator_without_products_has_no_speed(capsys, tmp_path):
    command = ["tune", "resnet8", "--config", "sim", "--tuner", "ga", "--trials", "2"]
    tasks = run_json([*command, "--list"], capsys)["tasks"]
    number = next(at for at, task in enumerate(tasks) if "sum_pool" in task["workload"])
    assert main([*command, "--workload", str(number), "--records", str(tmp_path / "log"), "--debug"]) == 0
    printed = capsys.readouterr()
    assert "0.0 GOPS" not in printed.err
    assert "0.00 GOPS" not in printed.err


@pytest.mark.parametrize("options", [["--no-records"], ["--records", "none"]])
def test_compiling_without_shipped_records(options, tmp_path):
    from vta.compiler.compile import compile_model
    from vta.config.hardware import HardwareConfig
    from vta.runtime.compiled_module import load
    from vta.schedule.source import DEFAULT_SCHEDULES

    out = tmp_path / "net.vta"
    assert main(["compile", "resnet8", "-o", str(out), "--config", "sim", *options]) == 0
    expected = compile_model("resnet8", HardwareConfig.named("sim"), schedules=DEFAULT_SCHEDULES)
    assert load(out).regions[0].program.instructions.tobytes() == expected.regions[0].program.instructions.tobytes()


def test_tuning_with_padding_kept(tmp_path, capsys):
    log = tmp_path / "log"
    run_json(tune_arguments(log, "--keep-padding", "--workload", "0"), capsys)
    knobs = [json.loads(line)["config"]["entity"][-1] for line in log.read_text().splitlines()]
    assert {tuple(knob) for knob in knobs} == {("skip_padding", "ot", False)}
