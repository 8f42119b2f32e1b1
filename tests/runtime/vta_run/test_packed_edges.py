"""Kernels of a file that give and read values as they lie on the device."""

from dataclasses import replace

import numpy as np

from tests.integer_graphs import BASELINE, between_floats
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.host.llvm.target import host_target
from vta.runtime import Module, save
from vta.runtime.host_library.build import build_host_library


def test_they_give_the_bytes_of_the_references(vta_run, tmp_path):
    compiled = compile_graph(between_floats(21), BASELINE)
    save(replace(compiled, host=build_host_library(compiled, host_target())), tmp_path / "net.vta")
    data = np.random.default_rng(1).standard_normal((1, 21, 10, 12)).astype(np.float32)
    np.save(tmp_path / "data.npy", data)
    status, *_ = vta_run(tmp_path / "net.vta", "--input", tmp_path / "data.npy", "--output", tmp_path / "out.npy", "--repeat", 2)
    assert status == 0
    with Module(compiled, SimDevice(BASELINE)) as plain:
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), plain.run(data).outputs[0])
