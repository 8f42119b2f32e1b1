"""The driver on a system with LiteDRAM's controller and its model of chips, and LiteEth's Etherbone. Needs the extra `fpga`."""

import json
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("litedram", reason="needs the extra `fpga`: pip install '.[fpga]'")

from tests.bitstream.simulated_dram import generate, system_with_dram
from tests.devices.link.test_system import HW, checked_cycles, network
from tests.engines import require_rtl
from tests.integer_graphs import random_inputs
from vta.bitstream.ethernet import packets_verilog
from vta.boards.description import MemoryWindow
from vta.boards.files import find_board
from vta.boards.package import Package
from vta.config.timing import TimingParameters
from vta.devices.board import BoardDevice
from vta.devices.cycle import CycleDevice
from vta.devices.engine.clock import SystemClock
from vta.devices.link.host import LinkHost, open_linked
from vta.devices.link.network_words import NetworkWords, Patience
from vta.devices.link.serial_words import SerialWords
from vta.errors import DeviceError
from vta.hardware.system.address_map import NOBODY
from vta.runtime.module import Module
from vta.testing.boards.link_server import NetworkServer
from vta.testing.boards.system import SimulatedSystem

TIMING = TimingParameters(bus_bits=128)
ECPIX5 = find_board("ecpix5")


class Programmed(LinkHost):
    """The board holds the bitstream already; only its description is taken."""

    def program(self, bitstream):
        self._described = bitstream


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    require_rtl()
    # The largest chips would take half a gigabyte.
    return generate(tmp_path_factory.mktemp("controller"), replace(ECPIX5.fpga.dram, module="MT41K64M16"), ECPIX5.part)


@pytest.fixture
def system(controller):
    def dram(parameters):
        return system_with_dram(HW, TIMING, parameters, controller)

    return SimulatedSystem(HW, TIMING, controller.memory_bytes, dram=dram, network=packets_verilog())


@contextmanager
def linked(system, link):
    """Words through one of the system's links."""
    if link == "serial":
        yield SerialWords(system)
        return
    server = NetworkServer(system)
    with closing(server):
        yield NetworkWords("127.0.0.1", server.port, Patience(first=1.0, least=0.5))


@pytest.mark.parametrize("link", ["serial", "network"])
def test_memory_is_set_up_and_a_network_is_bit_exact(controller, system, tmp_path, link):
    board = replace(ECPIX5, memory=MemoryWindow(0, controller.memory_bytes))
    bitstream = tmp_path / "made.bit"
    bitstream.write_bytes(b"\xff\x00Part: LFE5UM5G-85F-8CABGA554\0\xff")
    package = Package(board.name, "core", HW, TIMING, bitstream.name, None, controller.setup)
    (tmp_path / "package.json").write_text(json.dumps(package.to_json()))
    with linked(system, link) as words:
        assert words.read(0x1000, 1)[0] == NOBODY
        host = Programmed(board, words, SystemClock())
        device = BoardDevice(HW, board, board.design(), host, bitstream=bitstream)
        pattern = np.arange(1000, dtype=np.uint32) * 2654435761
        words.write(0x4000000, pattern)
        assert np.array_equal(words.read(0x4000000, 1000), pattern)
        compiled = network()
        inputs = random_inputs(compiled.graph)
        found = checked_cycles(compiled, device, inputs)
    with closing(CycleDevice(HW, TIMING, 1 << 20)) as engine, Module(compiled, engine) as reference:
        assert found >= reference.run(inputs).cycles


def test_memory_that_is_not_set_up_needs_the_description(controller, system):
    board = replace(ECPIX5, memory=MemoryWindow(0, controller.memory_bytes))
    with pytest.raises(DeviceError, match="board ecpix5: its DRAM is not set up yet, and the bitstream's description says how"):
        open_linked(HW, board, board.design(), words=SerialWords(system))
