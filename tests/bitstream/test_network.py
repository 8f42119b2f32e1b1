"""The driver on a system with LiteEth's Etherbone, over UDP on loopback. Needs the extra `fpga`, and takes a minute."""

import re
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("liteeth", reason="needs the extra `fpga`: pip install '.[fpga]'")

from tests.devices.link.etherbone_board import BadNet
from tests.devices.link.test_system import HW, MEMORY_BYTES, TIMING, checked_cycles, network
from tests.engines import require_rtl
from tests.integer_graphs import random_inputs
from vta.bitstream.ethernet import board_settings, network_command, packets_verilog
from vta.bitstream.top import top_verilog
from vta.boards.description import MemoryWindow
from vta.boards.files import find_board
from vta.devices.cycle import CycleDevice
from vta.devices.link.etherbone import ProbeAnswer, parse_packet, probe_packet, read_packet, write_packet
from vta.devices.link.host import open_linked
from vta.devices.link.network_words import NetworkWords
from vta.devices.link.serial_words import SerialWords
from vta.hardware.system.address_map import INFORMATION_BASE, ORDERED_BASE, SYSTEM_IDENTITY
from vta.runtime.module import Module
from vta.testing.boards.link_server import NetworkServer
from vta.testing.boards.system import SimulatedSystem

ECPIX5 = find_board("ecpix5")
BOARD = replace(
    ECPIX5,
    memory=MemoryWindow(0, MEMORY_BYTES),
    designs={"core": replace(ECPIX5.design(), bus_bits=TIMING.bus_bits)},
)
ENOUGH_CYCLES = 1 << 14


@pytest.fixture(scope="module")
def cores():
    require_rtl()
    return packets_verilog()


@pytest.fixture
def system(cores):
    system = SimulatedSystem(HW, TIMING, MEMORY_BYTES, network=cores)
    yield system
    system.close()


def identity_of(system):
    system.put_packet(read_packet(9, np.array([INFORMATION_BASE], np.uint32)), 5000)
    answer = system.take_packet(ENOUGH_CYCLES)
    return None if answer is None else int(parse_packet(answer[0]).words[0])


@pytest.mark.parametrize("permille", [0, 100])
def test_a_network_is_bit_exact_through_packets_and_takes_the_cycles_of_the_engine(system, permille):
    compiled = network()
    inputs = random_inputs(compiled.graph)
    server = NetworkServer(system)
    between = BadNet(server.port, seed=3, permille=permille)
    with closing(server), closing(between):
        device = open_linked(HW, BOARD, BOARD.design(), place=f"127.0.0.1:{between.port}")
        found = checked_cycles(compiled, device, inputs)
    with closing(CycleDevice(HW, TIMING, MEMORY_BYTES)) as engine, Module(compiled, engine) as reference:
        assert found == reference.run(inputs).cycles
    assert (between.lost > 0) == (permille > 0)


def test_words_go_to_their_places(system):
    data = np.random.default_rng(2).integers(0, 1 << 32, 3000, dtype=np.uint32)
    server = NetworkServer(system)
    with closing(server):
        words = NetworkWords("127.0.0.1", server.port)
        words.write(0x4000, data)
        assert np.array_equal(words.read(0x4000, len(data)), data)
        words.close()
    assert np.array_equal(system.memory[0x4000 : 0x4000 + 4 * len(data)].view(np.uint32), data)


def test_the_serial_line_is_there_as_well(system):
    serial = SerialWords(system)
    serial.write(0x1000, np.array([7], np.uint32))
    assert identity_of(system) == SYSTEM_IDENTITY
    assert serial.read(0x1000, 1)[0] == 7


def test_a_write_is_executed_once_and_late_ones_are_not(system):
    def put(number, value):
        system.put_packet(write_packet(ORDERED_BASE, np.array([number, 0x2000, value], np.uint32)), 5000)

    put(0, 5)
    put(1, 6)
    put(0, 5)
    put(3, 8)
    system.put_packet(read_packet(1, np.array([ORDERED_BASE, 0x2000], np.uint32)), 5001)
    answer, port = system.take_packet(ENOUGH_CYCLES)
    assert parse_packet(answer).words.tolist() == [2, 6]
    assert port == 5001


@pytest.mark.parametrize(
    "packet",
    [
        probe_packet(1)[:8],
        b"\x4e\x6e" + probe_packet(1)[2:],
        read_packet(1, np.arange(4, dtype=np.uint32))[:-4],
        read_packet(1, np.arange(4, dtype=np.uint32)) + bytes(4),
        read_packet(1, np.arange(253, dtype=np.uint32)),
        write_packet(0, np.arange(253, dtype=np.uint32)),
        bytes.fromhex("4e6f104400000000000f010100000000000000000000000000000000"),
        bytes.fromhex("4e6f104400000000000f000000000000"),
        bytes(2000),
    ],
    ids=lambda packet: f"{packet[:12].hex()}-{len(packet)}",
)
def test_a_packet_that_is_none_is_not_executed_and_stops_nothing(system, packet):
    system.put_packet(packet, 5000)
    assert system.take_packet(100) is None
    assert identity_of(system) == SYSTEM_IDENTITY
    assert not system.memory.any()


def test_many_packets_at_once_are_taken_or_dropped_whole(system):
    """More than the gate holds: those that were taken are answered, with their own words."""
    for tag in range(30):
        system.put_packet(read_packet(tag, np.full(100 + tag, ORDERED_BASE + 4, np.uint32)), 5000)
    answered = []
    while (answer := system.take_packet(ENOUGH_CYCLES)) is not None:
        found = parse_packet(answer[0])
        assert len(found.words) == 100 + found.tag
        answered.append(found.tag)
    assert answered == sorted(answered)
    assert 14 <= len(answered) < 30
    system.put_packet(probe_packet(4), 5000)
    assert parse_packet(system.take_packet(ENOUGH_CYCLES)[0]) == ProbeAnswer()


def test_the_cores_of_a_board_have_the_ports_that_its_top_joins(tmp_path):
    (tmp_path / "network.json").write_text(board_settings(ECPIX5.fpga.ethernet, ECPIX5.fpga.ethernet.network, clock_mhz=50))
    command = [sys.executable, *network_command("network.json", "network.v")]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    module = (tmp_path / "network.v").read_text().split("module vta_ethernet (")[1].split(");")[0]
    ports = set(re.findall(r"^ +(?:input|output) +wire +(?:\[\d+:0\] +)?(\w+)", module, re.MULTILINE))
    top = top_verilog(ECPIX5.fpga, bus_bits=128, address_bits=29, pll=None)
    assert ports == set(re.findall(r"\.(\w+)\(", top.split("vta_ethernet network (")[1].split(");")[0]))
