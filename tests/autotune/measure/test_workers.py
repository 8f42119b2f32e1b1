"""Worker processes: what hangs or dies costs one job."""

import os
import time

from vta.autotune.measure.workers import Crashed, Failed, Finished, TimedOut, WorkerPool
from vta.errors import CompileError


def act(job):
    """In a worker: return, raise, hang or die."""
    if job == "raise":
        raise CompileError("too large")
    if job == "fail":
        raise ValueError("unexpected")
    if job == "hang":
        while True:
            pass
    if job == "die":
        os._exit(3)
    return job


def test_each_outcome_in_its_place():
    with WorkerPool() as pool:
        outcomes = pool.map(act, [1, "raise", "die", "fail", 2, 3], 60)
    assert [type(outcome) for outcome in outcomes] == [Finished, Failed, Crashed, Failed, Finished, Finished]
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Finished)] == [1, 2, 3]
    assert outcomes[1].message == "too large"
    assert outcomes[2].message == "the worker process ended with exit code 3"
    assert "ValueError: unexpected" in outcomes[3].message


def test_a_job_that_runs_for_ever_ends_at_its_timeout():
    with WorkerPool() as pool:
        started = time.monotonic()
        first, second = pool.map(act, ["hang", "after"], 0.5)
        elapsed = time.monotonic() - started
    assert isinstance(first, TimedOut)
    assert first.message == "took longer than 0.5 s"
    assert first.seconds >= 0.5
    assert elapsed >= 0.5
    assert second.value == "after"


def test_workers_serve_again_and_end():
    with WorkerPool(2) as pool:
        assert [outcome.value for outcome in pool.map(act, range(5), 60)] == [0, 1, 2, 3, 4]
        assert [outcome.value for outcome in pool.map(act, range(2), 60)] == [0, 1]
        processes = [worker.process for worker in pool._workers]
    assert 1 <= len(processes) <= 2
    assert all(process.poll() is not None for process in processes)


def test_nothing_to_do():
    assert WorkerPool().map(act, [], 1) == []


def test_each_outcome_is_told_as_it_comes():
    told = {}
    with WorkerPool(2) as pool:
        outcomes = pool.map(act, [1, "raise", "die"], 60, told.__setitem__)
    assert [told[index] for index in range(3)] == outcomes
