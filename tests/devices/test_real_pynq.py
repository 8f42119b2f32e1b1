"""The driver with the real package pynq, whose code for registers and buffers runs against a stand-in for its device."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pynq = pytest.importorskip("pynq", reason="needs the package pynq, which wants an environment of its own (docs/boards.md)")

from tests.integer_graphs import BASELINE, conv, int8_clip, random_inputs
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.pynq import open_pynq
from vta.errors import DeviceError
from vta.ir.graph import Graph, graph_input
from vta.runtime import Module
from vta.testing.boards.bench import make_stand_in
from vta.testing.boards.real_pynq import StandInDevice


@pytest.fixture(params=[("pynq-z1", "hls", "pynq"), ("pynq-z2", "core", "sim"), ("kv260", "core", "sim")], ids=str)
def stand_in(request, tmp_path):
    board, design, config = request.param
    return make_stand_in(board, design, HardwareConfig.named(config), tmp_path)


def opened(stand_in, bitstream=True):
    """The device behind the real package."""
    package = SimpleNamespace(
        allocate=pynq.allocate, MMIO=pynq.MMIO, Bitstream=pynq.Bitstream, Overlay=pynq.Overlay, Clocks=SimpleNamespace()
    )
    return open_pynq(
        stand_in.hw,
        stand_in.board,
        stand_in.design,
        bitstream=stand_in.bitstream if bitstream else None,
        pynq=package,
        pynq_device=StandInDevice(stand_in.model),
        clock=stand_in.model.clock,
    )


def test_a_network_is_bit_exact(stand_in):
    rng = np.random.default_rng(3)
    data = graph_input("data", (1, 16, 6, 6), "int8")
    output = int8_clip(conv(data, rng.integers(-4, 4, (16, 16, 3, 3))), "conv")
    compiled = compile_graph(Graph((data,), (output,), "small"), stand_in.hw)
    with Module(compiled, opened(stand_in)) as module:
        for seed in range(3):
            check = module.check(random_inputs(compiled.graph, seed))
            assert check.bit_exact, check.mismatch


def test_memory_is_given_back(stand_in):
    device = opened(stand_in)
    free = stand_in.model.memory._pool.available
    addresses = [device.allocate(5000) for _ in range(3)]
    device.write(addresses[1] + 3, np.arange(100, dtype=np.uint8))
    np.testing.assert_array_equal(device.read(addresses[1] + 3, 100), np.arange(100, dtype=np.uint8))
    for address in addresses:
        device.free(address)
    assert stand_in.model.memory._pool.available == free


def test_a_fabric_that_was_never_programmed(stand_in):
    with pytest.raises(DeviceError, match="bus error"):
        opened(stand_in, bitstream=False)


def test_the_package_alone_finds_no_board(tmp_path):
    stand_in = make_stand_in("pynq-z1", "hls", BASELINE, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DeviceError, match="No Devices Found"):
            open_pynq(BASELINE, stand_in.board, stand_in.design, bitstream=stand_in.bitstream)
