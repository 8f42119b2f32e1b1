"""What crosses between kernels and regions lies as on the device where both have the same blocks."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, between_floats
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.errors import ArtifactError
from vta.host.llvm.target import cpu_target, host_target
from vta.runtime import load, save
from vta.runtime.artifact.host_plan import PACKED_VERSION, PLAN_VERSION
from vta.runtime.host_library.build import build_host_library
from vta.runtime.host_library.load import plan_of_library
from vta.runtime.host_part.host_graph import reference_of
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import RegionStep
from vta.runtime.module import Module

OPTIONS = HostOptions(compiled=True)
same_blocks = pytest.mark.skipif(host_target().lanes(4) != BASELINE.block, reason="needs registers of as many values as a block")


def packed_of(module):
    (packed,) = [step.packed for step in module._host_plan().steps if isinstance(step, RegionStep)]
    return sorted(node.name for node in packed)


@same_blocks
@pytest.mark.parametrize("channels", [16, 21, 64])
def test_results_are_the_same(channels):
    compiled = compile_graph(between_floats(channels), BASELINE)
    data = np.random.default_rng(1).standard_normal((1, channels, 10, 12)).astype(np.float32)
    with Module(compiled, SimDevice(BASELINE)) as plain:
        want = plain.run(data).outputs[0]
    with Module(compiled, SimDevice(BASELINE), host=OPTIONS) as module:
        assert packed_of(module) == ["conv", "levels"]
        np.testing.assert_array_equal(module.run(data).outputs[0], want)
        assert module.check(data).bit_exact
    np.testing.assert_array_equal(reference_of(compiled, OPTIONS).run({"data": data})[0], want)


@same_blocks
def test_what_others_read_comes_row_by_row():
    compiled = compile_graph(between_floats(32, keeps=True), BASELINE)
    data = np.random.default_rng(1).standard_normal((1, 32, 10, 12)).astype(np.float32)
    with Module(compiled, SimDevice(BASELINE)) as plain, Module(compiled, SimDevice(BASELINE), host=OPTIONS) as module:
        assert packed_of(module) == ["conv"]
        for got, want in zip(module.run(data).outputs, plain.run(data).outputs, strict=True):
            np.testing.assert_array_equal(got, want)


@same_blocks
def test_files_have_such_kernels_too(tmp_path):
    compiled = compile_graph(between_floats(21), BASELINE)
    save(replace(compiled, host=build_host_library(compiled, host_target())), tmp_path / "net.vta")
    data = np.random.default_rng(1).standard_normal((1, 21, 10, 12)).astype(np.float32)
    with Module(compiled, SimDevice(BASELINE)) as plain:
        want = plain.run(data).outputs[0]
    with Module(load(tmp_path / "net.vta"), SimDevice(BASELINE), host=OPTIONS) as module:
        assert packed_of(module) == ["conv", "levels"]
        np.testing.assert_array_equal(module.run(data).outputs[0], want)


@same_blocks
def test_a_file_whose_value_does_not_lie_as_on_the_device_is_refused():
    compiled = compile_graph(between_floats(32), BASELINE)
    library = build_host_library(compiled, host_target())
    assert library.plan.version == PACKED_VERSION
    values = [replace(value, shape=(*value.shape[:1], 1, *value.shape[2:])) for value in library.plan.values]
    bad = replace(library, plan=replace(library.plan, values=tuple(values)))
    with pytest.raises(ArtifactError, match="does not lie so on the device"):
        plan_of_library(compiled, bad)


def test_files_without_such_values_are_of_the_first_version():
    compiled = compile_graph(between_floats(32), BASELINE)
    other = build_host_library(compiled, cpu_target("x86_64-linux-gnu", "x86-64"))
    assert other.plan.version == PLAN_VERSION
