"""The driver of a board without a processor, on the RTL of its system in simulation."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.engines import require_rtl
from tests.integer_graphs import BASELINE, conv, int8_clip, random_inputs
from vta.boards.description import MemoryWindow
from vta.boards.files import find_board
from vta.compiler.compile import compile_graph
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.link.host import open_linked
from vta.devices.link.open_link import open_link
from vta.devices.link.serial_words import SerialWords
from vta.devices.link.words import LinkRegisters
from vta.errors import DeviceError, UsageError
from vta.hardware.registers import IDENTITY, REGISTERS
from vta.hardware.system.address_map import CORE_BASE, INFORMATION_BASE, NOBODY, SYSTEM_IDENTITY, Information
from vta.hardware.verilator.library import Stalls
from vta.ir.graph import Graph, graph_input
from vta.runtime import Module
from vta.testing.boards.link_server import LinkServer
from vta.testing.boards.system import SimulatedSystem

MEMORY_BYTES = 1 << 20
HW = replace(
    BASELINE, log_block=2, log_uop_buff_size=12, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14, target="rtl"
)
TIMING = TimingParameters(bus_bits=64)
BOARD = replace(find_board("ulx3s-85f"), memory=MemoryWindow(0, MEMORY_BYTES))


class Kept:
    """A link that stays open for the next test."""

    def __init__(self, system):
        self.send, self.receive = system.send, system.receive

    def close(self):
        pass


def network():
    rng = np.random.default_rng(3)
    data = graph_input("data", (1, 4, 6, 6), "int8")
    output = int8_clip(conv(data, rng.integers(-4, 4, (8, 4, 3, 3))), "conv")
    return compile_graph(Graph((data,), (output,), "small"), HW)


@pytest.fixture(scope="module")
def system():
    require_rtl()
    system = SimulatedSystem(HW, TIMING, MEMORY_BYTES)
    yield system
    system.close()


@pytest.fixture
def words(system):
    return SerialWords(system)


def checked_cycles(compiled, device, inputs):
    """The cycles of a run whose layers are those of the reference."""
    with closing(device), Module(compiled, device) as module:
        check = module.check(inputs)
        assert check.bit_exact, check.mismatch
        return module.run(inputs).cycles


def test_a_network_is_bit_exact_through_a_socket_and_takes_the_cycles_of_the_engine():
    require_rtl()
    compiled = network()
    inputs = random_inputs(compiled.graph)
    server = LinkServer(SimulatedSystem(HW, TIMING, MEMORY_BYTES))
    with closing(server):
        device = open_linked(HW, BOARD, BOARD.design(), place=f"127.0.0.1:{server.port}")
        found = checked_cycles(compiled, device, inputs)
    with closing(CycleDevice(HW, TIMING, MEMORY_BYTES)) as engine, Module(compiled, engine) as reference:
        assert found == reference.run(inputs).cycles


def test_the_system_says_what_it_is(words):
    information, core = LinkRegisters(words, INFORMATION_BASE), LinkRegisters(words, CORE_BASE)
    assert information.read(Information.IDENTITY) == SYSTEM_IDENTITY
    assert information.read(Information.MEMORY_BYTES) == MEMORY_BYTES
    assert core.read(REGISTERS["identity"].offset) == IDENTITY


@pytest.mark.parametrize("address", [MEMORY_BYTES, 0xE0000000, 0xF0010000, 0xF0030000])
def test_nobody_answers_where_nothing_is(words, address):
    words.write(address, np.array([5], np.uint32))
    assert words.read(address, 1)[0] == NOBODY


@pytest.mark.parametrize("stalls", [None, Stalls(permille=300, seed=5)])
def test_words_go_to_their_places_and_to_no_others(stalls):
    require_rtl()
    system = SimulatedSystem(HW, TIMING, MEMORY_BYTES, stalls)
    rng = np.random.default_rng(7)
    words, expected = SerialWords(system), np.zeros(MEMORY_BYTES // 4, np.uint32)
    for _ in range(6):
        count, first = int(rng.integers(1, 300)), int(rng.integers(0, 2000))
        values = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        words.write(4 * first, values)
        expected[first : first + count] = values
    assert np.array_equal(words.read(0, 2400), expected[:2400])
    assert np.array_equal(system.memory.view(np.uint32), expected)
    system.close()


def test_a_command_that_stopped_is_forgotten(system, words):
    """The bridge's patience is in cycles: that many go by while the system is left alone."""
    system.send(bytes([1, 2, 0]))
    system.pass_time()
    assert words.read(INFORMATION_BASE, 1)[0] == SYSTEM_IDENTITY


def test_another_config_is_found_out(system):
    other = replace(HW, log_wgt_buff_size=14)
    with pytest.raises(DeviceError, match="built for LOG_WGT_BUFF_SIZE = 13; the device is to have 14"):
        open_linked(other, BOARD, BOARD.design(), MEMORY_BYTES, words=SerialWords(Kept(system)))


def test_a_board_with_more_memory_than_the_system_is_refused(system):
    board = replace(BOARD, memory=MemoryWindow(0, 2 * MEMORY_BYTES))
    with pytest.raises(DeviceError, match=f"the system has {MEMORY_BYTES} bytes of memory; .* says {2 * MEMORY_BYTES}"):
        open_linked(HW, board, board.design(), words=SerialWords(Kept(system)))


@pytest.mark.parametrize("place", ["", ":1", "host:port", "host:0", "host:70000"])
def test_what_is_no_link_is_refused(place):
    with pytest.raises(UsageError, match=r"is no link; allowed: HOST, HOST:PORT"):
        open_link(place, BOARD.fpga)


def test_a_link_is_asked_for():
    with pytest.raises(UsageError, match="board ulx3s-85f is reached through a link: name HOST, HOST:PORT or a serial line"):
        open_linked(HW, BOARD, BOARD.design())
