"""Values of many batches at once: to each observer in order, with the bits of each batch alone."""

import threading

import numpy as np
import pytest

from vta.errors import CompileError
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate, walk
from vta.quantization import QuantizeConfig, calibrate
from vta.quantization.float import observe
from vta.quantization.float.observe import observed_batches, outputs_of_batches

X = graph_input("x", (1, 3, 8, 8))
WEIGHT = constant(np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
CONV = call(ops.CONV2D, [X, WEIGHT], "conv", padding=(1, 1, 1, 1))
MEAN = call(ops.MEAN, [CONV], "mean", axis=(2, 3))
FIXED = call(ops.NEGATIVE, [constant(np.ones((1, 2), np.float32), "ones")], "fixed")
NET = Graph((X,), (MEAN, FIXED))


def batches(count):
    rng = np.random.default_rng(count)
    return [{"x": rng.standard_normal(X.shape).astype(np.float32)} for _ in range(count)]


class Seen:
    """Keeps what it sees, and on which threads."""

    def __init__(self):
        self.values, self.threads = [], set()

    def expect(self, order, batches):
        self.values.append((None, batches))

    def add(self, node, value, batches=1):
        self.threads.add(threading.current_thread())
        if node.is_call:
            self.values.append((node, value))


@pytest.mark.parametrize("beside", [False, True])
def test_observers_see_all_values_in_order(monkeypatch, beside):
    monkeypatch.setattr(observe, "_WORTH_A_THREAD", 0 if beside else 1 << 60)
    seen, given = Seen(), batches(5)
    assert sum(map(len, observed_batches(NET, given, [seen]))) == 5
    assert (threading.current_thread() in seen.threads) != beside
    alone = [[value for node, value in walk(NET, batch) if node.is_call] for batch in given]
    assert seen.values[0] == (None, 5)
    for (node, value), *each in zip(seen.values[1:], *alone, strict=True):
        np.testing.assert_array_equal(value, np.concatenate(each), err_msg=node.name)


def test_what_is_no_number_is_named_also_from_another_thread(monkeypatch):
    monkeypatch.setattr(observe, "_WORTH_A_THREAD", 0)
    given = batches(3)
    given[1]["x"][...] = np.inf
    with pytest.raises(CompileError, match=r"layer 'conv': nn\.conv2d gives nan"):
        calibrate(NET, given, QuantizeConfig())


@pytest.mark.parametrize("most", [1, 32])
def test_outputs_of_batches_are_those_of_each(monkeypatch, most):
    monkeypatch.setattr(observe, "_MOST_TOGETHER", most)
    given = batches(4)
    for found, *each in zip(outputs_of_batches(NET, given), *(evaluate(NET, batch) for batch in given), strict=True):
        np.testing.assert_array_equal(found, np.stack(each))
