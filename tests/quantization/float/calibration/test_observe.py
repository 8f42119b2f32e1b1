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

    def asks_for(self, node):
        return self.sees(node)

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


def residual_net():
    """Layers with biases and activations, and a sum."""
    first = call(ops.BIAS_ADD, [CONV, constant(np.float32([1, -1, 0, 2]), "b")], "bias")
    relu = call(ops.RELU, [first], "relu")
    weight = constant(np.random.default_rng(2).standard_normal((4, 4, 1, 1)).astype(np.float32), "v")
    total = call(ops.ADD, [call(ops.CONV2D, [relu, weight], "second"), relu], "sum")
    return Graph((X,), (call(ops.RELU, [total], "last"),))


def test_what_only_some_values_are_asked_for_of_is_the_same():
    net = residual_net()
    wanted = [net.outputs[0], net.outputs[0].inputs[0].inputs[1]]
    every, some = Seen(), Seen()
    some.asks_for = wanted.__contains__
    for seen in (every, some):
        assert sum(map(len, observed_batches(net, batches(3), [seen]))) == 3
    kept = dict(every.values)
    assert [node.name for node, _ in some.values[1:]] == ["relu", "last"]
    for node, value in some.values[1:]:
        np.testing.assert_array_equal(value, kept[node], err_msg=node.name)


def test_what_is_infinite_is_seen_by_who_does_not_ask_for_it():
    net, seen = residual_net(), Seen()
    seen.asks_for = lambda node: False
    given = batches(2)
    given[1]["x"][0, 0, 0, 0] = np.inf
    assert sum(map(len, observed_batches(net, given, [seen]))) == 2
    assert [node.name for node, _ in seen.values[1:]] == [node.name for node in net.calls()]
