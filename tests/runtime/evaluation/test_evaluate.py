"""Top-1 and bit-exactness over samples."""

import numpy as np
import pytest

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.ir.graph import Graph, call, graph_input
from vta.isa import AluOp
from vta.runtime.evaluation import evaluate, forked_outputs
from vta.runtime.evaluation.dataset import Dataset, Preprocessing
from vta.runtime.evaluation.evaluate import Top1, evaluate_top1
from vta.runtime.module import Module

COUNT = 5


def samples():
    x = np.random.default_rng(2).integers(-60, 60, (COUNT, 3, 3, 20), np.int8)
    classes = x.transpose(0, 3, 1, 2).reshape(COUNT, -1).argmax(axis=1)
    classes[0] += 1
    return Dataset(x, classes)


def float_network():
    x = graph_input("image", (1, 20, 3, 3))
    return Graph((x,), (call("nn.batch_flatten", [call("negative", [x], "negative")], "flat"),))


def test_all_three_are_counted(hardware, module_builder):
    calls = []
    with Module(module_builder(inputs=1), SimDevice(hardware())) as module:
        result = evaluate_top1(module, samples(), Preprocessing("NHWC"), float_network(), lambda *args: calls.append(args))
    assert result.n == COUNT
    assert result.top1 == Top1(float=0.0, interpreter=0.8, device=0.8)
    assert result.bit_exact
    assert result.mismatches == ()
    assert result.device_runs == 3
    assert result.predictions[1:].tolist() == samples().y[1:].tolist()
    assert list(result.seconds) == ["float", "interpreter", "device"]
    assert {stage for stage, _, _ in calls} == set(result.seconds)
    assert calls[-1] == ("device", COUNT, COUNT)


def test_samples_may_be_a_file(hardware, module_builder, tmp_path):
    np.savez(tmp_path / "labelled.npz", x=samples().x, y=samples().y)
    with Module(module_builder(inputs=1), SimDevice(hardware())) as module:
        results = [evaluate_top1(module, data, Preprocessing("NHWC")) for data in (samples(), tmp_path / "labelled.npz")]
    assert results[0].top1 == results[1].top1
    np.testing.assert_array_equal(results[0].predictions, results[1].predictions)


def test_cycles_of_all_device_runs_are_added(hardware, module_builder):
    with Module(module_builder(inputs=1), SimDevice(hardware())) as module:
        assert evaluate_top1(module, samples(), Preprocessing("NHWC")).cycles is None
    with Module(module_builder(inputs=1), CycleDevice(hardware())) as module:
        result = evaluate_top1(module, samples(), Preprocessing("NHWC"))
        once = module.run(dict.fromkeys(["a"], np.zeros(module.compiled.graph.inputs[0].shape, np.int8)))
    assert result.cycles == 3 * once.cycles


def test_a_wrong_device_is_found_out(hardware, module_builder):
    with Module(module_builder(inputs=1, sum_op=AluOp.MIN), SimDevice(hardware())) as module:
        result = evaluate_top1(module, samples(), Preprocessing("NHWC"))
    assert not result.bit_exact
    assert result.mismatches == tuple(range(COUNT))
    assert result.top1.float is None


def test_a_network_of_two_inputs_is_refused(hardware, module_builder):
    with Module(module_builder(), SimDevice(hardware())) as module, pytest.raises(UsageError, match="has 2: a, b"):
        evaluate_top1(module, samples())


@pytest.mark.parametrize("fails", [False, True])
def test_a_copy_of_the_process_may_compute_what_the_device_must_give(hardware, module_builder, monkeypatch, fails):
    class Here:
        def __init__(self, work, nice):
            self.work = work

        def __exit__(self, *_):
            pass

        def result(self, seconds):
            return None if fails else self.work()

    monkeypatch.setattr(forked_outputs, "ForkedCall", Here)
    monkeypatch.setattr(evaluate, "_may_split", lambda module, samples: True)
    monkeypatch.setattr(evaluate, "cores", lambda: 2)
    with Module(module_builder(inputs=1), SimDevice(hardware())) as module:
        result = evaluate_top1(module, samples(), Preprocessing("NHWC"))
    assert result.bit_exact
    assert result.top1 == Top1(float=None, interpreter=0.8, device=0.8)


def test_the_process_is_split_for_simulators_of_this_process_alone(hardware, module_builder, monkeypatch):
    monkeypatch.setattr(evaluate.ForkedCall, "possible", staticmethod(lambda: True))
    monkeypatch.setattr(evaluate, "is_worth_compiling", lambda graph, samples: True)
    for device in (SimDevice(hardware()), CycleDevice(hardware())):
        with Module(module_builder(inputs=1), device) as module:
            assert evaluate._may_split(module, COUNT) == (type(device) is SimDevice)


@pytest.mark.parametrize(("low", "high"), [(-1, 0), (0, 180), (1, 1000)])
def test_classes_that_the_network_does_not_have_are_refused(hardware, module_builder, low, high):
    data = Dataset(samples().x, np.array([low, *[high] * (COUNT - 1)]))
    with (
        Module(module_builder(inputs=1), SimDevice(hardware())) as module,
        pytest.raises(UsageError, match=rf"'y' holds classes from {low} to {high}; the network has classes from 0 to 179, as"),
    ):
        evaluate_top1(module, data, Preprocessing("NHWC"))


def test_an_output_of_one_integer_is_the_class():
    x = graph_input("x", (2, 4))
    graph = Graph((x,), (call("argmax", [x], "best", axis=1, keepdims=False),))
    values = np.random.default_rng(0).normal(size=(COUNT, 4)).astype(np.float32)
    classes = values.argmax(axis=1)
    classes[0] = 7
    compiled = compile_model(graph, HardwareConfig.named("sim"))
    with Module(compiled, SimDevice(compiled.hw)) as module:
        result = evaluate_top1(module, Dataset(values, classes), float_graph=graph)
    assert result.top1 == Top1(0.8, 0.8, 0.8)
    assert result.predictions[1:].tolist() == classes[1:].tolist()


def test_of_one_real_output_only_class_0_is_found():
    x = graph_input("x", (1, 4))
    graph = Graph((x,), (call("sigmoid", [call("sum", [x], "sum", axis=(1,), keepdims=True)], "score"),))
    compiled = compile_model(graph, HardwareConfig.named("sim"))
    with (
        Module(compiled, SimDevice(compiled.hw)) as module,
        pytest.raises(UsageError, match="classes from 0 to 0, as many as its"),
    ):
        evaluate_top1(module, Dataset(np.ones((2, 4)), np.array([0, 1])))
