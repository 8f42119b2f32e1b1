"""Tuning on leased devices."""

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.autotune._tasks import small_task
from tests.rpc.conftest import Gate
from tests.rpc.support import LIMIT_SECONDS, Attempt, until
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.local import BuildJob, LocalBuilder, build_module
from vta.autotune.measure.measure import Build, Candidate, MeasureOption
from vta.autotune.measure.remote import RPCRunner
from vta.autotune.session import TuneOptions, tune
from vta.cli.main import main
from vta.demo import model_path
from vta.errors import RemoteError
from vta.records.log import read_log
from vta.records.measurement import ErrorKind


@pytest.fixture
def runner(tracker):
    """Makes runners that end with the test."""
    made = []

    def make(**options):
        made.append(RPCRunner(str(tracker.address), "sim", **{"timeout": 30.0, **options}))
        return made[-1]

    yield make
    for runner in made:
        runner.close()


@pytest.fixture(scope="module")
def trials():
    """A few candidates with their builds."""
    task = small_task()
    numbers = [int(number) for number in task.space.random(np.random.default_rng(0), 6)]
    candidates = [Candidate(task, task.space.schedule(number), number) for number in numbers]
    builds = [Build(build_module(BuildJob(task.graph, task.hw, candidate.schedule))) for candidate in candidates]
    return candidates, builds


def test_results_are_those_of_this_machine(serve, devices, runner, trials):
    for _ in range(2):
        serve("cycle")
    local = in_process(small_task().hw)
    expected = local.runner.run(trials[0], local.builder.build(trials[0]))
    measuring = runner(repeat=2, check_correctness=True)
    results = measuring.run(*trials)
    devices(2, 0)
    assert [result.cycles for result in results] == [result.cycles for result in expected]
    assert [result.costs for result in results] == [result.costs * 2 for result in expected]
    measuring.close()
    devices(2, 2)


def test_tuning_finds_the_same_as_here(serve, runner):
    for _ in range(2):
        serve("cycle")
    options = TuneOptions("random", trials=8, seed=1)
    with closing(LocalBuilder(timeout=60)) as builder:
        (there,) = tune([small_task()], MeasureOption(builder, runner()), options)
    (here,) = tune([small_task()], in_process(small_task().hw), options)
    assert (there.best, there.best_cycles, there.curve) == (here.best, here.best_cycles, here.curve)
    assert there.errors == {}


def test_a_failed_build_is_not_sent(serve, runner, trials):
    serve("cycle")
    broken = Build(error=ErrorKind.COMPILE_DEVICE, message="too large")
    first, second = runner().run(trials[0][:2], [broken, trials[1][1]])
    assert (first.error, first.message) == (ErrorKind.COMPILE_DEVICE, "too large")
    assert second.error is ErrorKind.NONE


def test_a_run_past_its_limit_costs_one_trial(serve, runner, trials, gate, devices):
    serve(command=gate.command)
    gate.closed.touch()
    (result,) = runner(timeout=0.5).run(trials[0][:1], trials[1][:1])
    assert result.error is ErrorKind.RUN_TIMEOUT
    assert "not done after 0.5 s" in result.message
    gate.closed.unlink()


def test_a_server_that_dies_costs_nothing(spawn, tracker, serve, runner, trials, gate, devices):
    process, _ = spawn("server", tracker.address, "sim", *gate.command)
    devices(1, 1)
    gate.closed.touch()
    measuring = runner(n_parallel=1)
    attempt = Attempt(lambda: measuring.run(trials[0][:2], trials[1][:2]))
    gate.wait_for_run()
    serve()
    process.kill()
    assert attempt.wait() is None
    assert [result.error for result in attempt.result] == [ErrorKind.NONE] * 2
    measuring.close()
    devices(1, 1)


def test_no_device_at_all_is_an_error(runner, trials):
    with pytest.raises(RemoteError, match="no server has the key 'sim'"):
        runner(lease_timeout=5.0).run(*trials)


def test_another_config_is_an_error_of_the_trial(serve, runner, trials):
    serve("cycle", hw=replace(small_task().hw, log_inp_buff_size=12))
    (result,) = runner().run(trials[0][:1], trials[1][:1])
    assert result.error is ErrorKind.UNKNOWN
    assert "compiled for LOG_INP_BUFF_SIZE = 15" in result.message


def test_four_servers_work_at_once(serve, runner, trials, tmp_path, devices):
    gates = [Gate(tmp_path / f"gate{number}") for number in range(4)]
    for gate in gates:
        gate.closed.touch()
        serve(command=gate.command)
    measuring = runner()
    attempt = Attempt(lambda: measuring.run(trials[0][:4], trials[1][:4]))
    for gate in gates:
        gate.wait_for_run()
    devices(4, 0)
    for gate in gates:
        gate.closed.unlink()
    assert attempt.wait() is None
    assert [result.error for result in attempt.result] == [ErrorKind.NONE] * 4
    measuring.close()
    devices(4, 4)


def tuned(capsys, records, *where):
    """What `vta tune` finds on a part of a network: the JSON of its tasks, and its records."""
    network = ("tune", str(model_path()), "--config", "sim", "--tuner", "ga", "--trials", "6", "--seed", "3")
    # Whole regions are timed here, and not on the devices of a tracker.
    network += ("--region-evaluations", "0")
    assert main([*network, "--records", str(records), "--json", *map(str, where)]) == 0
    lines = [line.record for line in read_log(records)]
    return json.loads(capsys.readouterr().out)["tasks"], {(r.workload, r.index, r.entity, r.cycles, r.device) for r in lines}


def test_the_command_line_finds_on_four_servers_what_it_finds_here(serve, tracker, capsys, tmp_path, devices):
    for _ in range(4):
        serve("cycle")
    here = tuned(capsys, tmp_path / "here.log")
    there = tuned(capsys, tmp_path / "there.log", "--tracker", tracker.address, "--key", "sim", "--timeout", LIMIT_SECONDS)
    assert len(here[0]) > 2
    assert there == here
    devices(4, 4)


def test_the_only_device_is_free_for_the_evaluation(serve, runner, take, devices):
    """After tuning, although the runner is not closed, and again after tuning once more."""
    serve("cycle")
    measuring = runner()
    option = MeasureOption(LocalBuilder(timeout=60), measuring)
    for seed in range(2):
        (report,) = tune([small_task()], option, TuneOptions("random", trials=2, seed=seed))
        assert report.errors == {}
        with take() as session, session.load(build_module(BuildJob(small_task().graph, small_task().hw, report.best))) as module:
            inputs = {node.name: np.zeros(node.shape, np.int8) for node in small_task().graph.inputs}
            assert module.check(inputs).bit_exact
            assert module.run(inputs).cycles == report.best_cycles
    devices(1, 1)
    option.builder.close()


def test_tune_and_evaluate_on_the_only_device_from_the_command_line(serve, tracker, tmp_path, capsys, devices):
    serve("cycle")
    log, out, where = tmp_path / "net.log", tmp_path / "net.vta", ["--key", "sim"]
    tuning = ["--tuner", "random", "--trials", "2", "--records", log, "--tracker", tracker.address, *where]
    compiling = ["-o", out, "--records", log, "--records", "none"]
    for command in (
        ["tune", model_path(), "--config", "sim", *tuning],
        ["compile", model_path(), "--config", "sim", *compiling],
        ["run", out, "--remote", tracker.address, *where, "--check", "--seed", "1"],
    ):
        assert main([str(word) for word in command]) == 0
    printed = capsys.readouterr()
    assert "default schedule" not in printed.err
    assert "bit-exact" in printed.out
    devices(1, 1)


def test_a_candidate_that_hangs_costs_its_timeout_from_the_command_line(serve, tracker, gate, tmp_path, capsys):
    serve("cycle", command=gate.command)
    log = tmp_path / "net.log"
    limits = ["--tuner", "random", "--trials", "3", "--workload", "0", "--timeout", "1"]
    gate.closed.touch()
    command = ["tune", model_path(), "--config", "sim", *limits, "--records", log, "--tracker", tracker.address, "--key", "sim"]
    attempt = Attempt(lambda: main([*map(str, command), "--json"]))
    until(log.exists, lambda: "the first candidate is not done")
    gate.closed.unlink()
    assert attempt.wait() is None
    assert attempt.result == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    ((message, count),) = task["failed"].items()
    assert message.startswith("run_timeout: time limit: ")
    assert "not done after 1 s" in message
    assert count == 1
    assert task["trials"] == 3
    results = [json.loads(line)["result"] for line in log.read_text().splitlines()]
    assert [result[1] for result in results] == [ErrorKind.RUN_TIMEOUT, 0, 0, 0]
    assert 1 <= results[0][2] < 10


def test_nothing_valid_from_the_command_line(serve, tracker, gate, tmp_path, capsys):
    """Every candidate hangs: the reason is counted, the exit status is not 0, and no record is a best one."""
    serve("cycle", command=gate.command)
    log, best = tmp_path / "net.log", tmp_path / "best.log"
    gate.closed.touch()
    limits = ["--tuner", "random", "--trials", "1", "--workload", "0", "--timeout", "0.5"]
    command = ["tune", model_path(), "--config", "sim", *limits, "--records", log, "--tracker", tracker.address, "--key", "sim"]
    assert main([str(word) for word in command]) == 1
    complaint = capsys.readouterr().err
    assert "no valid candidate" in complaint
    assert "trials: run_timeout: time limit: " in complaint
    assert "not done after 0.5 s" in complaint
    assert "0.00" not in complaint
    assert main(["records", "pick-best", str(log), "-o", str(best)]) == 0
    assert best.read_text() == ""
    gate.closed.unlink()


def test_the_time_of_a_simulator_is_no_cost(serve, tracker, tmp_path, capsys):
    """Nothing is tried on a device that counts no cycles, also where other servers of the key do."""
    log = tmp_path / "net.log"
    serve("cycle")
    serve("sim")
    command = ["tune", model_path(), "--config", "sim", "--workload", "0", "--trials", "1", "--tuner", "random"]
    command += ["--records", log, "--tracker", tracker.address, "--key", "sim"]
    assert main([str(word) for word in command]) == 1
    complaint = capsys.readouterr().err
    assert "has device sim, which counts no cycles" in complaint
    assert "device cycle or rtl, or on boards" in complaint
    assert not log.exists()
