"""Threads that share a session or a module of it, and what a closed one says."""

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.rpc.support import LIMIT_SECONDS
from vta.errors import DeviceError, RemoteError, VTAError
from vta.ir.interpreter import evaluate
from vta.rpc.client.session import Session


@pytest.fixture
def cases(compiled, sample):
    """Inputs with the output that each must give."""
    shifted = [{name: np.roll(array, step, -1) for name, array in sample.items()} for step in range(4)]
    return [(inputs, evaluate(compiled.graph, inputs)[0]) for inputs in shifted]


def wrong_runs(module, cases):
    return sum(not np.array_equal(module.run(inputs).outputs[0], expected) for inputs, expected in cases)


def run_until_closed(module, cases, started):
    """Run again and again, each time right; returns the error that ends it."""
    try:
        while True:
            assert wrong_runs(module, cases) == 0
            started.set()
    except VTAError as error:
        return error


def test_two_modules_and_two_threads_for_each(serve, take, artifact, cases):
    serve("cycle")
    with take() as session, session.load(artifact) as one, session.load(artifact) as other, ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(wrong_runs, module, cases) for module in (one, other, one, other)]
        checked = other.check(cases[0][0])
        assert [future.result(LIMIT_SECONDS) for future in futures] == [0] * 4
        assert checked.bit_exact


def test_closing_a_module_waits_for_runs(serve, take, artifact, cases):
    serve("sim")
    with take() as session:
        module = session.load(artifact)
        started = threading.Event()

        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(run_until_closed, module, cases[:1], started) for _ in range(2)]
            assert started.wait(LIMIT_SECONDS)
            module.close()
            for future in futures:
                error = future.result(LIMIT_SECONDS)
                assert (type(error), str(error)) == (DeviceError, "the module is closed")


def test_closing_a_session_ends_runs(serve, take, artifact, cases):
    serve("sim")
    session = take()
    module = session.load(artifact)
    started = threading.Event()

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(run_until_closed, module, cases[:1], started) for _ in range(2)]
        assert started.wait(LIMIT_SECONDS)
        session.close()
        for future in futures:
            error = future.result(LIMIT_SECONDS)
            assert isinstance(error, RemoteError)
            assert re.search(r"the session (is|was) closed", str(error))
    module.close()


def test_a_closed_module_says_so(serve, take, artifact, sample):
    serve("sim")
    with take() as session:
        module = session.load(artifact)
        module.close()
        module.close()
        for use in (
            lambda: module.run(sample),
            lambda: module.run_batches(sample),
            lambda: module.check(sample),
            module.measure,
        ):
            with pytest.raises(DeviceError, match=r"^the module is closed$"):
                use()


def test_a_forked_process_does_not_use_the_session(serve, take, artifact, sample, monkeypatch):
    """Only what a fork changes here is made: gRPC does not take a real one kindly."""
    serve("sim")
    with take() as session, session.load(artifact) as module:
        assert isinstance(session, Session)
        process = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: process + 1)
        with pytest.raises(RemoteError, match=f"the session belongs to process {process}, which opened it"):
            module.run(sample)
        monkeypatch.undo()
        assert module.run(sample).device_runs == 1
