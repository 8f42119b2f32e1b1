"""A hand-made module on the simulator: host and device together, batches, checks, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from vta.devices.device import Counters, RunOptions
from vta.devices.sim import SimDevice
from vta.errors import ArtifactError, DeviceError, GraphError, UsageError
from vta.ir.graph import Graph
from vta.isa import AluOp
from vta.runtime.compiled_module import load, save
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.module import Module
from vta.runtime.values import chunks


@pytest.fixture(params=[0, 1], ids=["1x16", "2x16"])
def hw(request, hardware):
    return hardware(request.param)


@pytest.fixture
def loaded(hw, module_builder):
    with Module(module_builder(hw), SimDevice(hw)) as module:
        yield module


def test_host_and_device_together(loaded, sampler):
    inputs, expected = sampler()
    for seed in (None, 0, 1):
        report = loaded.run(inputs, seed=seed)
        np.testing.assert_array_equal(report.outputs[0], expected)
        assert report.device_runs == 1
        assert report.seconds == report.device_seconds + report.host_seconds > 0


def test_counters_are_those_of_the_program(loaded, sampler):
    report = loaded.run(sampler()[0])
    assert list(report.operators) == ["sum", "floor"]
    assert sum(report.operators.values(), Counters()) == report.counters
    rows = 36 // loaded.compiled.hw.batch
    assert report.operators["sum"].alu_uops == 3 * rows
    assert report.operators["floor"].alu_uops == rows
    assert report.counters.instructions == len(loaded.compiled.regions[0].program.instructions)
    assert report.cycles is None


def test_a_run_leaves_no_trace_in_the_next(loaded, sampler):
    inputs, expected = sampler()
    zeros = {name: np.zeros_like(array) for name, array in inputs.items()}
    first = loaded.run(inputs).outputs[0]
    np.testing.assert_array_equal(loaded.run(zeros).outputs[0], np.full_like(expected, 9.5))
    np.testing.assert_array_equal(first, expected)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_samples(loaded, sampler, count):
    inputs, expected = sampler(count)
    ticks = []
    report = loaded.run_batches(inputs, tick=ticks.append)
    np.testing.assert_array_equal(report.outputs[0], expected)
    assert report.device_runs == len(ticks) == -(-count // 2)
    assert ticks[-1] == count


@pytest.mark.parametrize("compiled", [False, True])
def test_cores_share_many_samples(hw, module_builder, sampler, monkeypatch, compiled):
    monkeypatch.setattr(chunks, "_MOST_RUNS", 2)
    monkeypatch.setattr("vta.runtime.module.cores", lambda: 3)
    inputs, expected = sampler(23)
    ticks = []
    with Module(module_builder(hw), SimDevice(hw), host=HostOptions(compiled=compiled)) as module:
        report = module.run_batches(inputs, tick=ticks.append)
        assert module.device.status().runs < report.device_runs == len(ticks) == 12
    np.testing.assert_array_equal(report.outputs[0], expected)
    assert ticks == [*range(2, 24, 2), 23]


def test_a_device_made_of_the_simulator_runs_each_sample(hw, module_builder, sampler):
    class Counting(SimDevice):
        runs = 0

        def run(self, *arguments):
            self.runs += 1
            return super().run(*arguments)

    inputs, expected = sampler(5)
    device = Counting(hw)
    with Module(module_builder(hw), device) as module:
        np.testing.assert_array_equal(module.run_batches(inputs).outputs[0], expected)
    assert device.runs == 3


def test_from_a_file(hw, module_builder, sampler, tmp_path):
    save(module_builder(hw), tmp_path / "net.vta")
    inputs, expected = sampler()
    with Module(load(tmp_path / "net.vta"), SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(inputs).outputs[0], expected)


def test_check_of_a_right_module(loaded, sampler):
    report = loaded.check(sampler()[0])
    assert report.bit_exact
    assert report.mismatch is None
    assert report.compared == 2
    np.testing.assert_array_equal(report.run.outputs[0], sampler()[1])


def test_check_names_the_operator_that_is_wrong(hw, module_builder, sampler):
    inputs, _ = sampler()
    with Module(module_builder(hw, sum_op=AluOp.MAX), SimDevice(hw)) as module:
        report = module.check(inputs)
    assert not report.bit_exact
    mismatch = report.mismatch
    assert (mismatch.operator, mismatch.layer) == ("sum", "sum")
    a, b = (np.maximum(inputs[name], -100).astype(int) for name in "ab")
    right, wrong = np.clip(a + b, -128, 127), np.maximum(a, b)
    assert mismatch.differing == np.count_nonzero(right != wrong)
    assert mismatch.index == tuple(np.argwhere(right != wrong)[0])
    assert (mismatch.expected, mismatch.got) == (right[mismatch.index], wrong[mismatch.index])


def test_check_finds_a_fault_that_only_the_whole_run_shows(loaded, sampler, monkeypatch):
    monkeypatch.setattr(loaded, "_check_regions", lambda *_: (None, 2))
    real = loaded._run

    def faulty(*args):
        report = real(*args)
        return replace(report, outputs=(report.outputs[0] + 1,))

    monkeypatch.setattr(loaded, "_run", faulty)
    report = loaded.check(sampler()[0])
    assert (report.mismatch.operator, report.mismatch.layer) == ("output", "shift")


def test_another_config_is_refused_before_anything_is_allocated(hardware, module_builder):
    device = SimDevice(replace(hardware(), log_wgt_buff_size=17))
    before = device.allocate(4096)
    with pytest.raises(ArtifactError, match=r"LOG_WGT_BUFF_SIZE = 16, but the device has LOG_WGT_BUFF_SIZE = 17"):
        Module(module_builder(), device)
    assert device.allocate(4096) == before + 4096


def test_too_little_memory_names_bytes_needed_and_available(hardware, module_builder):
    hw = hardware()
    device = SimDevice(hw, memory_bytes=4 * 4096)
    with pytest.raises(DeviceError, match=r"region0 16960 bytes\): out of device memory: 20480 bytes needed, 12288 available"):
        Module(module_builder(hw), device)
    device.allocate(3 * 4096)


def test_close_gives_the_memory_back(hardware, module_builder, sampler):
    hw = hardware()
    device = SimDevice(hw, memory_bytes=7 * 4096)
    for _ in range(3):
        with Module(module_builder(hw), device) as module:
            np.testing.assert_array_equal(module.run(sampler()[0]).outputs[0], sampler()[1])
        module.close()


def test_wrong_inputs(loaded, sampler):
    inputs, _ = sampler()
    with pytest.raises(GraphError, match="input 'b'"):
        loaded.run({"a": inputs["a"]})
    with pytest.raises(GraphError, match=r"input 'a' must be int8\[2, 20, 3, 3\]"):
        loaded.run({**inputs, "a": inputs["a"].astype(np.float32)})
    with pytest.raises(UsageError, match="got a 2, b 1"):
        loaded.run_batches({**inputs, "b": inputs["b"][:1]})


def test_device_options_reach_the_device(hardware, module_builder, sampler):
    hw = hardware()
    module = module_builder(hw)
    program = module.regions[0].program
    program.instructions["pop_next"][-2] = 0
    program.instructions["pop_prev"][2] = 1
    with Module(module, SimDevice(hw), RunOptions(seed=3)) as broken, pytest.raises(DeviceError, match="deadlock"):
        broken.run(sampler()[0])


def test_output_names_are_distinct(hardware, module_builder):
    compiled = module_builder()
    graph = compiled.graph
    twice = replace(compiled, graph=Graph(graph.inputs, (*graph.outputs, *graph.outputs, graph.inputs[0])))
    with Module(twice, SimDevice(hardware())) as module:
        assert module.output_names() == ("shift", "shift:1", "a")


@pytest.mark.parametrize("victim", ["module", "device"])
def test_a_closed_one_says_so(victim, hw, module_builder, sampler):
    device = SimDevice(hw)
    module = Module(module_builder(hw), device)
    (module if victim == "module" else device).close()
    inputs, _ = sampler()
    for use in (module.run, module.run_batches, module.check):
        with pytest.raises(DeviceError, match=f"the {'sim device' if victim == 'device' else victim} is closed"):
            use(inputs)
    module.close()
    module.close()
    device.close()


def test_a_module_without_regions_is_closed_like_others(hw, module_builder, sampler):
    module = Module(replace(module_builder(hw), regions=()), SimDevice(hw))
    assert module.run(sampler()[0]).device_runs == 0
    module.close()
    with pytest.raises(DeviceError, match="the module is closed"):
        module.run(sampler()[0])


def test_no_module_on_a_closed_device(hw, module_builder):
    device = SimDevice(hw)
    device.close()
    with pytest.raises(DeviceError, match=r"^the sim device is closed$"):
        Module(module_builder(hw), device)
