"""The trained network beside other work: the same outputs, errors told, an end when nobody waits."""

import threading
from concurrent.futures import CancelledError

import numpy as np
import pytest

from vta.errors import UsageError
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.evaluation import compute, trained
from vta.runtime.evaluation.compute import compute_widely
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples
from vta.runtime.evaluation.trained import TrainedPass, trained_pass
from vta.runtime.values import chunks

X = graph_input("x", (1, 3, 4, 4))
NET = Graph((X,), (call(ops.RELU, [X]),))
DATA = Dataset(np.random.default_rng(0).standard_normal((9, 3, 4, 4)).astype(np.float32), np.zeros(9, np.int64))
PLAIN = Preprocessing()


def test_outputs_are_those_of_the_pass_in_turn(monkeypatch):
    monkeypatch.setattr(compute, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(trained, "cores", lambda: 2)
    found = trained_pass(NET, DATA, PLAIN)
    assert found is not None
    with found:
        outputs, seconds = found.outputs()
    np.testing.assert_array_equal(outputs[0], compute_widely(NET, input_samples(NET, DATA, PLAIN), None)[0])
    assert seconds >= 0


def test_it_begins_only_where_there_is_a_core_to_spare_and_enough_to_do(monkeypatch):
    monkeypatch.setattr(trained, "cores", lambda: 2)
    assert trained_pass(NET, DATA, PLAIN) is None
    monkeypatch.setattr(compute, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(trained, "cores", lambda: 1)
    assert trained_pass(NET, DATA, PLAIN) is None


def test_what_is_wrong_is_raised_to_who_waits():
    with TrainedPass(NET, Dataset(DATA.x[:, :2], DATA.y), PLAIN) as found, pytest.raises(UsageError, match="do not fit"):
        found.outputs()


def test_it_stops_when_nobody_waits(monkeypatch):
    monkeypatch.setattr(compute, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(chunks, "_MOST_RUNS", 1)
    entered = threading.Event()
    tick = TrainedPass._tick

    def held(self, done):
        assert entered.wait(10)
        tick(self, done)

    monkeypatch.setattr(TrainedPass, "_tick", held)
    found = TrainedPass(NET, DATA, PLAIN)
    found._stopped.set()
    entered.set()
    with found:
        pass
    assert not found._thread.is_alive()
    with pytest.raises(CancelledError, match="stopped after 1 samples"):
        found.outputs()
