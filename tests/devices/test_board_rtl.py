"""A board's driver on the registers of the core itself, in its Verilator simulation."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engines import require_rtl
from tests.integer_graphs import BASELINE, conv, int8_clip, random_inputs
from vta.boards.files import find_board
from vta.compiler.compile import compile_graph
from vta.config.timing import timing_of
from vta.devices.board import BoardDevice
from vta.devices.device import RunOptions, Tokens
from vta.devices.engine.memory_pool import MemoryPool
from vta.devices.rtl import RtlDevice, core_library
from vta.errors import DeviceError, TimeLimitError
from vta.hardware.verilator.library import VerilatedCore
from vta.ir.graph import Graph, graph_input
from vta.isa import Opcode, blank_instructions, encode
from vta.runtime import Module

MEMORY_BYTES = 1 << 22
CYCLES_PER_ACCESS = 200
BOARD = find_board("pynq-z1")


class Host:
    """The core with memory that it and the driver see in the same way."""

    def __init__(self):
        self.memory = np.zeros(MEMORY_BYTES, np.uint8)
        self.pool = MemoryPool(MEMORY_BYTES)
        self.core = VerilatedCore(core_library(BASELINE, timing_of(BASELINE)), self.memory, timing_of(BASELINE))

    def registers(self, address, nbytes):
        return self

    def read(self, offset):
        self.core.run(CYCLES_PER_ACCESS)
        return self.core.read(offset)

    def write(self, offset, value):
        self.core.write(offset, value)

    def allocate(self, nbytes):
        return Block(self, self.pool.allocate(nbytes))

    def close(self):
        self.core.close()


class Block:
    def __init__(self, host, address):
        self.host = host
        self.address = address

    def write(self, offset, data):
        self.host.memory[self.address + offset : self.address + offset + data.size] = data

    def read(self, offset, nbytes):
        return self.host.memory[self.address + offset : self.address + offset + nbytes].copy()

    def free(self):
        self.host.pool.free(self.address)


@pytest.fixture
def device():
    require_rtl()
    device = BoardDevice(BASELINE, BOARD, BOARD.design("core"), Host(), MEMORY_BYTES)
    yield device
    device.close()


def test_a_network_is_bit_exact_and_counts_the_same_cycles(device):
    rng = np.random.default_rng(3)
    data = graph_input("data", (1, 16, 6, 6), "int8")
    output = int8_clip(conv(data, rng.integers(-4, 4, (16, 16, 3, 3))), "conv")
    compiled = compile_graph(Graph((data,), (output,), "small"), BASELINE)
    inputs = random_inputs(compiled.graph)
    with Module(compiled, device) as module, Module(compiled, RtlDevice(BASELINE, memory_bytes=MEMORY_BYTES)) as reference:
        check = module.check(inputs)
        assert check.bit_exact, check.mismatch
        found, expected = module.run(inputs), reference.run(inputs)
    assert found.cycles == expected.cycles
    assert found.results[0][1].units == expected.results[0][1].units


def test_another_config_is_found_out():
    require_rtl()
    other = replace(BASELINE, log_wgt_buff_size=17)
    with pytest.raises(DeviceError, match="built for LOG_WGT_BUFF_SIZE = 18; the device is to have 17"):
        BoardDevice(other, BOARD, BOARD.design("core"), Host(), MEMORY_BYTES)


def test_a_run_that_hangs_keeps_the_core_busy(device):
    row, finish = blank_instructions(1), blank_instructions(1)
    row["opcode"], row["pop_prev"], finish["opcode"] = Opcode.LOAD, 1, Opcode.FINISH
    stream = encode(np.concatenate([row, finish]), BASELINE)
    with pytest.raises(TimeLimitError, match=r"time limit: .* compute unit: instruction 0 waits for a load-to-compute token"):
        device.run(stream, RunOptions(limit_seconds=0.05))
    with pytest.raises(DeviceError, match="still going on; without its bitstream it cannot be cleared away"):
        device.run(stream)


def test_tokens_are_set_and_read(device):
    row = blank_instructions(1)
    row["opcode"], row["pop_prev"], row["push_next"] = Opcode.LOAD, 1, 1
    result = device.run(encode(row, BASELINE), RunOptions(tokens=Tokens(3, 0, 0, 0), limit_seconds=30.0))
    assert result.tokens == Tokens(2, 0, 1, 0)
