"""Tuning while servers and their tracker die and come back: it always ends, with results or with an error that says why."""

import threading
from contextlib import closing

import pytest

from tests.autotune._tasks import small_task
from tests.rpc.support import LIMIT_SECONDS, Attempt, until
from tests.rpc.test_tuning import trials  # noqa: F401
from vta.autotune.measure.local import LocalBuilder
from vta.autotune.measure.measure import Build, MeasureOption
from vta.autotune.measure.remote import RPCRunner
from vta.autotune.session import TuneOptions, tune
from vta.errors import RemoteError
from vta.records.log import RecordLog, read_log
from vta.records.measurement import ErrorKind
from vta.rpc.client.connect import query

LEASE_SECONDS = 3.0
BOTH = ("a", "b")


@pytest.fixture
def site(spawn, gate):
    """A tracker and two servers, each a process of its own."""
    site = Site(spawn, gate)
    site.start("tracker", *BOTH)
    return site


class Site:
    def __init__(self, spawn, gate):
        self._spawn, self._gate = spawn, gate
        self._processes = {}
        self.tracker = None

    def start(self, *names):
        for name in names:
            if name == "tracker":
                process, self.tracker = self._spawn("tracker", self.tracker.port if self.tracker else 0)
            else:
                process, _ = self._spawn("server", self.tracker, "sim", *self._gate.command)
            self._processes[name] = process
        until(lambda: self._free() >= len([name for name in names if name != "tracker"]), lambda: "the servers do not register")

    def _free(self):
        return sum(row.free for row in query(self.tracker).rows)

    def kill(self, *names):
        for name in names:
            process = self._processes.pop(name)
            process.kill()
            process.wait(LIMIT_SECONDS)


@pytest.fixture
def runner(site):
    runner = RPCRunner(str(site.tracker), "sim", n_parallel=2, timeout=30.0, lease_timeout=LEASE_SECONDS)
    yield runner
    runner.close()


def run(runner, trials, number=4):  # noqa: F811
    return Attempt(lambda: runner.run(trials[0][:number], trials[1][:number]))


@pytest.mark.parametrize(
    ("dying", "survive"),
    [
        (("a",), True),
        (BOTH, False),
        (("tracker",), True),
        (("tracker", "a"), True),
        (("tracker", *BOTH), False),
    ],
)
@pytest.mark.parametrize("moment", ["running", "idle"])
def test_who_dies_when(site, runner, trials, gate, dying, survive, moment):  # noqa: F811
    """Devices that are held go on without their tracker; who has none left waits for the limit of a lease, and no longer."""
    if moment == "idle":
        assert run(runner, trials, 2).wait() is None
        until(lambda: len(runner._sessions) == 2, lambda: "the second device was not had")
        site.kill(*dying)
        attempt = run(runner, trials)
    else:
        gate.closed.touch()
        attempt = run(runner, trials)
        gate.wait_for_run()
        until(lambda: len(runner._sessions) == 2, lambda: "the second device was not had")
        site.kill(*dying)
        gate.closed.unlink()
    error = attempt.wait()
    if survive:
        assert error is None
        assert [result.error for result in attempt.result] == [ErrorKind.NONE] * 4
    else:
        assert isinstance(error, RemoteError)
        assert "cannot be reached" in str(error) if "tracker" in dying else "0 up" in str(error) or "no server" in str(error)


@pytest.mark.parametrize("dying", [("tracker",), BOTH, ("tracker", *BOTH)])
def test_who_is_not_there_at_the_start(site, runner, trials, dying):  # noqa: F811
    site.kill(*dying)
    error = run(runner, trials).wait()
    assert isinstance(error, RemoteError)


@pytest.mark.parametrize("coming", [BOTH, ("tracker", *BOTH)])
def test_who_comes_back_is_used(site, spawn, gate, trials, coming):  # noqa: F811
    runner = RPCRunner(str(site.tracker), "sim", n_parallel=2, timeout=30.0, lease_timeout=LIMIT_SECONDS)
    gate.closed.touch()
    attempt = run(runner, trials)
    gate.wait_for_run()
    until(lambda: len(runner._sessions) == 2, lambda: "the second device was not had")
    site.kill(*coming)
    gate.closed.unlink()
    if "tracker" in coming:
        site.start("tracker")
    spawn("server", site.tracker, "sim", *gate.command)
    assert attempt.wait() is None
    assert [result.error for result in attempt.result] == [ErrorKind.NONE] * 4
    runner.close()


def test_waits_that_overlap_do_not_go_on_for_ever(runner, monkeypatch):
    """Two that wait in turn for what never comes: the second begins before the first gives up."""
    failures = []

    def never(tracker, key, timeout_seconds, *_, **__):
        failures.append(timeout_seconds)
        threading.Event().wait(0.01 * (1 + len(failures) % 2))
        raise RemoteError("nobody")

    monkeypatch.setattr("vta.autotune.measure.remote.lease", never)
    monkeypatch.setattr("vta.autotune.measure.remote._PAUSE_SECONDS", 0.0)
    runner._had_one, runner._lease_timeout = True, 0.2
    attempt = Attempt(lambda: runner.run([None] * 2, [Build(object())] * 2))
    assert str(attempt.wait()) == "nobody"


def test_the_log_is_usable_after_all_devices_died(site, runner, tmp_path):
    path = tmp_path / "tuned.log"
    with closing(LocalBuilder(timeout=60)) as builder:
        option, options = MeasureOption(builder, runner), TuneOptions("random", trials=64)
        attempt = Attempt(lambda: tune([small_task()], option, options, RecordLog(path)))
        until(path.exists, lambda: "nothing is recorded")
        site.kill(*BOTH)
        error = attempt.wait()
    assert isinstance(error, RemoteError)
    assert "0 up" in str(error) or "no server" in str(error)
    records = [line.record for line in read_log(path)]
    assert records
    assert all(record.error == 0 for record in records)
