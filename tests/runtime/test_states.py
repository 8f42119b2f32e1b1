"""Modules that keep states between runs: on the host, on the device, and both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, BATCH_2
from tests.state_nets import counter, frames, streaming_net
from vta.compiler.compile import compile_graph
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.errors import DeviceError, GraphError, UsageError
from vta.ir.stream import evaluate_stream
from vta.isa.program import SymbolKind
from vta.runtime.compiled_module import load, save
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.module import Module


@pytest.fixture(scope="module")
def graph():
    return streaming_net(np.random.default_rng(0))


@pytest.fixture(scope="module", params=[BASELINE, BATCH_2], ids=["1x16", "2x16"])
def compiled(request, graph):
    return compile_graph(graph, request.param)


@pytest.fixture(scope="module")
def data(graph):
    return frames(np.random.default_rng(1), graph, 8)


@pytest.fixture(scope="module")
def expected(graph, data):
    return list(evaluate_stream(graph, ({"x": frame} for frame in data)))


@pytest.fixture
def module(compiled):
    with Module(compiled, SimDevice(compiled.hw)) as module:
        yield module


def outputs(expected):
    return np.stack([results[0] for results, _ in expected])


def test_the_whole_net_is_one_region_that_keeps_its_states(compiled):
    (region,) = compiled.regions
    assert [placement.where for placement in compiled.placements] == ["vta"] * len(compiled.placements)
    kinds = {symbol.name.rsplit(".", 1)[0]: symbol.kind for symbol in region.program.symbols}
    assert kinds["first"] is kinds["second"] is SymbolKind.STATE


def test_a_stream_is_that_of_the_reference(module, data, expected):
    got = [module.run(frame).outputs for frame in data]
    assert [found.names for found in got] == [("y",)] * len(data)
    np.testing.assert_array_equal([found[0] for found in got], outputs(expected))
    for name, value in expected[-1][1].items():
        np.testing.assert_array_equal(module.state[name], value)


@pytest.mark.parametrize("check", [False, True])
def test_frames(module, data, expected, check):
    report = module.run_frames(data, check=check)
    np.testing.assert_array_equal(report.outputs["y"], outputs(expected))
    assert (report.frames, report.device_runs) == (len(data), len(data))


def test_frames_need_no_axis_of_the_batch(module, data, expected):
    np.testing.assert_array_equal(module.run_frames(data[:, 0]).outputs["y"], outputs(expected))


def test_cycles_are_those_of_each_frame(graph, data):
    compiled = compile_graph(graph, BASELINE)
    with Module(compiled, CycleDevice(BASELINE)) as module:
        cycles = module.run_frames(data).cycles
    assert cycles is not None
    assert len(cycles) == len(data)
    assert len(set(cycles)) == 1


def test_runs_and_checks_take_turns(module, data, expected):
    for at, frame in enumerate(data):
        report = module.check(frame).run if at % 2 else module.run(frame)
        np.testing.assert_array_equal(report.outputs["y"], expected[at][0][0])


def test_reset(module, data, expected):
    module.run_frames(data)
    module.reset()
    np.testing.assert_array_equal(module.run(data[0]).outputs["y"], expected[0][0][0])


def test_states_are_set_and_read(module, data, expected):
    module.state.update(expected[2][1])
    np.testing.assert_array_equal(module.run(data[3]).outputs["y"], expected[3][0][0])
    held = module.state["first"]
    held[:] = 0
    np.testing.assert_array_equal(module.state["first"], expected[3][1]["first"])
    module.state["first"] = held
    assert not module.state["first"].any()
    np.testing.assert_array_equal(module.state["second"], expected[3][1]["second"])


def test_states_are_saved_and_restored(module, data, expected, tmp_path):
    path = tmp_path / "state.npz"
    module.run_frames(data[:4])
    module.state.save(path)
    module.reset()
    module.state.restore(path)
    np.testing.assert_array_equal(module.run_frames(data[4:]).outputs["y"], outputs(expected)[4:])


def test_two_modules_have_their_own_states(compiled, data, expected):
    device = SimDevice(compiled.hw)
    with Module(compiled, device) as first, Module(compiled, device) as second:
        first.run_frames(data)
        np.testing.assert_array_equal(second.run(data[0]).outputs["y"], expected[0][0][0])
        np.testing.assert_array_equal(first.state["first"], expected[-1][1]["first"])


def test_files_hold_states(compiled, data, expected, tmp_path):
    save(compiled, tmp_path / "net.vta")
    with Module(load(tmp_path / "net.vta"), SimDevice(compiled.hw)) as module:
        np.testing.assert_array_equal(module.run_frames(data).outputs["y"], outputs(expected))


def test_kernels_of_the_host_go_on_with_states():
    pytest.importorskip("llvmlite")
    compiled = compile_graph(counter(), BASELINE)
    with Module(compiled, SimDevice(BASELINE), host=HostOptions(compiled=True)) as module:
        found = module.run_frames(np.array([[[1, 2]], [[10, 20]], [[0, 0]]], np.int32)).outputs["y"]
    assert found.tolist() == [[[5, -5]], [[6, -3]], [[16, 17]]]


def test_states_in_which_the_host_has_a_part(graph, data, expected):
    layers = frozenset({"conv0", "first.rows"})
    compiled = compile_graph(graph, BASELINE, layers=layers)
    assert "host" in {placement.where for placement in compiled.placements}
    with Module(compiled, SimDevice(BASELINE)) as module:
        np.testing.assert_array_equal(module.run_frames(data, check=True).outputs["y"], outputs(expected))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"first": np.zeros((1, 20, 3, 1), np.int8)}, "'first' is a state of graph 'stream', set in the module's `state`"),
        ({}, "input 'x' .* is missing"),
        ({"y": 0}, "'y' is no input"),
    ],
)
def test_states_are_no_inputs(module, data, given, reason):
    module.run(data[0])
    before = module.state["first"]
    with pytest.raises(GraphError, match=reason):
        module.run({"x": data[0], **given} if given else {})
    np.testing.assert_array_equal(module.state["first"], before)


def test_states_that_there_are_not(module):
    with pytest.raises(GraphError, match="'third' is no state of graph 'stream'; its states are: first, second"):
        module.state["third"]
    with pytest.raises(GraphError, match=r"state 'first' must be int8\[1, 20, 3, 1\], got int8\[2\]"):
        module.state["first"] = np.zeros(2, np.int8)


def test_files_of_states_that_do_not_fit(module, tmp_path):
    np.savez(tmp_path / "a.npz", first=np.zeros((1, 20, 3, 1), np.int8))
    with pytest.raises(UsageError, match=r"a\.npz: state 'second' is missing; the file holds first"):
        module.state.restore(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", first=np.zeros(2), second=np.zeros(2))
    with pytest.raises(UsageError, match=r"b\.npz: state 'first' must be int8\[1, 20, 3, 1\], got float64\[2\]"):
        module.state.restore(tmp_path / "b.npz")


def test_samples_are_no_frames(module, data):
    with pytest.raises(UsageError, match="stream keeps state 'first': run it by frames"):
        module.run_batches(data[:, 0])


@pytest.mark.parametrize(
    ("shape", "reason"), [((0, 1, 20, 1, 1), "one or more frames"), ((4, 2), r"its frames are of shape \(time, 1, 20, 1, 1\)")]
)
def test_frames_that_are_none(module, shape, reason):
    with pytest.raises((GraphError, UsageError), match=reason):
        module.run_frames(np.zeros(shape, np.int8))


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("z",), r"'z' is no input of graph 'stream'; its inputs are: x"),
        ((), r"input 'x' \(int8\[1, 20, 1, 1\]\) of graph 'stream' is missing"),
        (("x", "first"), "'first' is a state of graph 'stream', set in the module's `state`"),
    ],
)
def test_frames_of_other_names(module, data, names, reason):
    with pytest.raises(GraphError, match=reason):
        module.run_frames(dict.fromkeys(names, data))


def test_what_a_failed_run_leaves_is_lost_until_it_is_set(compiled, data, expected, monkeypatch):
    device = SimDevice(compiled.hw)
    with Module(compiled, device) as module:
        module.run(data[0])
        run = device.run
        monkeypatch.setattr(device, "run", _fails)
        with pytest.raises(DeviceError, match="broken"):
            module.run(data[1])
        monkeypatch.setattr(device, "run", run)
        with pytest.raises(DeviceError, match="state 'first' was lost on the device in a run that failed"):
            module.run(data[1])
        module.state.update(expected[0][1])
        np.testing.assert_array_equal(module.run(data[1]).outputs["y"], expected[1][0][0])


def _fails(*arguments, **options):
    raise DeviceError("broken")


def test_closed_modules_have_no_states(compiled, data):
    module = Module(compiled, SimDevice(compiled.hw))
    module.run(data[0])
    module.close()
    with pytest.raises(DeviceError, match="the module is closed"):
        module.state["first"]


def test_states_whose_next_value_is_read_elsewhere(data):
    plain = streaming_net(np.random.default_rng(0))
    graph = replace(plain, outputs=(*plain.outputs, plain.outputs[1]), output_names=(*plain.output_names, "seen"))
    compiled = compile_graph(graph, BASELINE)
    with Module(compiled, SimDevice(BASELINE)) as module:
        got = module.run_frames(data, check=True).outputs
    for frame, (results, _) in enumerate(evaluate_stream(graph, ({"x": frame} for frame in data))):
        np.testing.assert_array_equal(got["seen"][frame], results[1])
