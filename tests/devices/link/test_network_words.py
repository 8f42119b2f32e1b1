"""Words over Etherbone, on a network that loses packets, repeats them and lets them come late."""

import socket
from contextlib import closing, contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.devices.link.etherbone_board import HEAD, BadNet, EtherboneBoard, Loopback
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.devices.link.etherbone import (
    Answer,
    ProbeAnswer,
    parse_packet,
    probe_packet,
    read_packet,
    write_packet,
)
from vta.devices.link.host import open_linked
from vta.devices.link.network_words import NetworkWords, Patience
from vta.devices.link.open_link import open_link
from vta.errors import DeviceError, UsageError
from vta.hardware.system.address_map import INFORMATION_BASE

ECPIX5 = find_board("ecpix5")
HASTE = Patience(first=0.05, least=0.002, most=0.1, total=0.3)


@contextmanager
def linked(board, patience=None):
    with closing(board), closing(NetworkWords("127.0.0.1", board.port, patience)) as words:
        yield words


def test_words_go_there_and_back_in_packets_of_many():
    data = np.random.default_rng(1).integers(0, 1 << 32, 5000, dtype=np.uint32)
    board = EtherboneBoard()
    with linked(board) as words:
        words.write(0x1000, data)
        assert np.array_equal(words.read(0x1000, len(data)), data)
        assert words.read(0x1000, 0).size == 0
    assert board.executed == [(0x1000 + 4 * first, min(248, 5000 - first)) for first in range(0, 5000, 248)]
    assert (words.traffic.written, words.traffic.read) == (5000, 5000)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 1000))
def test_each_write_is_executed_once_and_in_its_order_on_a_bad_net(seed):
    rng = np.random.default_rng(seed)
    board = EtherboneBoard(number=(1 << 32) - 2)
    net = BadNet(board.port, seed, permille=150)
    expected, places = {}, []
    with closing(board), linked(net, Patience(first=0.02, least=0.002, most=0.02, total=20)) as words:
        for _ in range(12):
            place, count = 4 * int(rng.integers(0, 600)), int(rng.integers(1, 600))
            values = rng.integers(0, 1 << 32, count, dtype=np.uint32)
            words.write(place, values)
            places += [(place + 4 * first, min(248, count - first)) for first in range(0, count, 248)]
            expected |= {place + 4 * index: int(value) for index, value in enumerate(values)}
        found = words.read(0, 1200)
    assert board.executed == places
    assert found.tolist() == [expected.get(4 * index, 0) for index in range(1200)]
    assert net.lost > 0
    assert net.doubled > 0
    assert words.traffic.repeated > 0


def test_a_port_that_nobody_listens_to_is_said_at_once():
    free = Loopback()
    free.close()
    with pytest.raises(DeviceError, match=rf"127.0.0.1:{free.port}: there is a machine, and nothing that listens to this port"):
        NetworkWords("127.0.0.1", free.port)


def test_a_board_that_says_nothing_is_given_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(DeviceError, match=r"no answer for 0.3 s; is the board on, its cable in"):
            NetworkWords("127.0.0.1", silent.getsockname()[1], HASTE)


def test_a_board_that_falls_silent_is_given_up():
    board = EtherboneBoard()
    words = NetworkWords("127.0.0.1", board.port, HASTE)
    board.got = lambda data, sender: None
    with closing(board), pytest.raises(DeviceError, match="no answer"):
        words.read(0, 1)
    words.close()


class Other(Loopback):
    """Something else that answers."""

    def __init__(self, said):
        self.said = said
        super().__init__()

    def got(self, data, sender):
        self.socket.sendto(self.said, sender)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (b"no", "a packet of 2 bytes; Etherbone's have 8 or more"),
        (b"HTTP/1.1 400", "a packet that begins with 0x4854; Etherbone's begin with 0x4e6f"),
        (HEAD.pack(0x4E6F, 0x22, 0x44, 0), "Etherbone of version 2; expected 1"),
        (HEAD.pack(0x4E6F, 0x12, 0x48, 0), "Etherbone with the widths 0x48; expected 0x44, for 32 bits"),
    ],
)
def test_what_is_no_board_is_refused(said, error):
    with closing(Other(said)) as other, pytest.raises(DeviceError, match=f"what answers is no board of this package: {error}"):
        NetworkWords("127.0.0.1", other.port, HASTE)


def test_another_device_that_speaks_etherbone_is_found_out():
    board = EtherboneBoard(words={INFORMATION_BASE: 0x1234})
    place = f"127.0.0.1:{board.port}"
    with closing(board), pytest.raises(DeviceError, match=r"is no system of this package: it says 0x00001234"):
        open_linked(HardwareConfig.named("sim_1x4"), ECPIX5, ECPIX5.design(), place=place)


@pytest.mark.parametrize("place", ["", ":1", "host:port", "host:0", "tcp:", "tcp:host:70000"])
def test_what_is_no_link_is_refused(place):
    with pytest.raises(UsageError, match=r"is no link; allowed: HOST, HOST:PORT with a port from 1 to 65535, tcp:HOST:PORT"):
        open_link(place, ECPIX5.fpga)


def test_a_board_that_was_reset_in_between_is_found_out():
    board = EtherboneBoard(number=1000)
    with linked(board, HASTE) as words:
        words.write(0, np.ones(1, np.uint32))
        words.read(0, 1)
        board.number = 0
        words.write(0, np.ones(1, np.uint32))
        with pytest.raises(DeviceError, match="expects write 0, and 1002 is the next: it was reset, or another host uses it"):
            words.read(0, 1)


@given(tag=st.integers(0, (1 << 32) - 1), values=st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=20))
def test_an_answer_is_what_a_write_to_the_tag_looks_like(tag, values):
    given_words = np.array(values, np.uint32)
    packet = write_packet(tag, given_words)
    answer = parse_packet(packet)
    assert isinstance(answer, Answer)
    assert answer.tag == tag
    assert np.array_equal(answer.words, given_words)
    for length in range(len(packet)):
        with pytest.raises(ValueError, match=r"a packet of|a record of"):
            parse_packet(packet[:length])


def test_packets_are_as_the_specification_says():
    assert probe_packet(0x11223344).hex() == "4e6f11440000000011223344"
    assert read_packet(7, np.array([0xF0020000], np.uint32)).hex() == "4e6f104400000000000f000100000007f0020000"
    assert write_packet(0x1000, np.array([5, 6], np.uint32)).hex() == "4e6f144400000000000f0200000010000000000500000006"
    assert parse_packet(bytes.fromhex("4e6f12440000000011223344")) == ProbeAnswer()
