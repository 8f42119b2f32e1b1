"""Values of many batches at once: to each observer in order, with the bits of each batch alone."""

import numpy as np
import pytest

from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.transforms.wide import evaluate_alike
from vta.quantization.float.calibration import observe
from vta.quantization.float.calibration.observe import observed_batches, outputs_of_batches
from vta.quantization.float.calibration.values import value_of

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
    """Keeps what it sees."""

    def __init__(self):
        self.values = []

    def sees(self, node):
        return True

    def expect(self, order, batches):
        self.values.append((None, batches))

    def add(self, node, value, batches=1):
        if node.is_call:
            self.values.append((node, value))


def values_of(batch):
    """What the nodes of the network give for one batch."""
    found = Seen()
    outputs = evaluate_alike(NET, NET, batch, found.add, value_of)
    assert len(outputs) == 2
    return [value for _, value in found.values]


def outputs_of(batch):
    return evaluate_alike(NET, NET, batch, compute=value_of)


def test_observers_see_only_what_they_want():
    seen, wanted = Seen(), {MEAN}
    seen.sees = wanted.__contains__
    assert sum(map(len, observed_batches(NET, batches(3), [seen]))) == 3
    assert [node for node, _ in seen.values] == [None, MEAN]


def test_observers_see_all_values_in_order():
    seen, given = Seen(), batches(5)
    assert sum(map(len, observed_batches(NET, given, [seen]))) == 5
    alone = [values_of(batch) for batch in given]
    assert seen.values[0] == (None, 5)
    for (node, value), *each in zip(seen.values[1:], *alone, strict=True):
        np.testing.assert_array_equal(value, np.concatenate(each), err_msg=node.name)


@pytest.mark.parametrize("most", [1, 32])
def test_outputs_of_batches_are_those_of_each(monkeypatch, most):
    monkeypatch.setattr(observe, "_MOST_TOGETHER", most)
    given = batches(4)
    for found, *each in zip(outputs_of_batches(NET, given), *(outputs_of(batch) for batch in given), strict=True):
        np.testing.assert_array_equal(found, np.stack(each))
