"""The trained network beside other work: the same outputs, or none, and an end when nobody waits."""

import numpy as np

from tests.integer_graphs import BASELINE
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.files.forked_call import ForkedCall
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime import Module, evaluate_top1
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.evaluation import compute, evaluate, forked_outputs, trained
from vta.runtime.evaluation.compute import compute_widely
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples
from vta.runtime.evaluation.trained import TrainedPass, trained_pass

X = graph_input("x", (1, 3, 4, 4))
NET = Graph((X,), (call(ops.RELU, [X]), call(ops.NEGATIVE, [X])))
DATA = Dataset(np.random.default_rng(0).standard_normal((9, 3, 4, 4)).astype(np.float32), np.zeros(9, np.int64))
PLAIN = Preprocessing()


class Here:
    """A call in this process, in the place of a `ForkedCall`."""

    def __init__(self, work, nice):
        self.work = work
        self.ended = False

    def __exit__(self, *_):
        self.ended = True

    def result(self, seconds):
        try:
            return self.work()
        except UsageError:
            return None


def test_outputs_are_those_of_the_pass_in_turn(monkeypatch):
    monkeypatch.setattr(forked_outputs, "ForkedCall", Here)
    with TrainedPass(NET, DATA, PLAIN) as found:
        outputs, seconds = found.outputs()
    assert found._call.ended
    for got, want in zip(outputs, compute_widely(NET, input_samples(NET, DATA, PLAIN), None), strict=True):
        np.testing.assert_array_equal(got, want)
    assert seconds >= 0


def test_fewer_products_are_asked_for_here_and_where_the_network_comes_later(monkeypatch):
    asked = []

    def noted(graph, inputs, *others, winograd=False):
        asked.append(winograd)
        return compute_widely(graph, inputs, None)

    monkeypatch.setattr(forked_outputs, "ForkedCall", Here)
    for module in (trained, evaluate):
        monkeypatch.setattr(module, "compute_widely", noted)
    TrainedPass(NET, DATA, PLAIN).outputs()
    flat = Graph((X,), (call(ops.BATCH_FLATTEN, [X]),))
    with Module(CompiledModule(flat, BASELINE, (), (), 0), SimDevice(BASELINE)) as module:
        evaluate_top1(module, DATA, PLAIN, flat)
    assert asked == [True, True]


def test_where_the_other_process_fails_there_are_none(monkeypatch):
    monkeypatch.setattr(forked_outputs, "ForkedCall", Here)
    assert TrainedPass(NET, Dataset(DATA.x[:, :2], DATA.y), PLAIN).outputs() is None


def test_it_begins_only_where_the_process_may_be_split_and_there_is_enough_to_do(monkeypatch):
    monkeypatch.setattr(ForkedCall, "possible", staticmethod(lambda: True))
    assert trained_pass(NET, DATA, PLAIN) is None
    monkeypatch.setattr(compute, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(ForkedCall, "possible", staticmethod(lambda: False))
    assert trained_pass(NET, DATA, PLAIN) is None
