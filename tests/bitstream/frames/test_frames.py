"""Frames of Ethernet at the speed of the cable, through all of LiteEth's cores but the FPGA's cells. Needs the extra `fpga`."""

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("liteeth", reason="needs the extra `fpga`: pip install '.[fpga]'")

from tests.engines import require_rtl
from vta.devices.link.etherbone import Answer, ProbeAnswer, parse_packet, probe_packet, read_packet, write_packet
from vta.hardware.verilator.toolchain import compiler, find_verilator

HERE = Path(__file__).parent
HOST, BOARD, ALL = bytes.fromhex("020000000009"), bytes.fromhex("10e2d5000001"), b"\xff" * 6
HOST_IP, BOARD_IP = bytes((192, 168, 1, 1)), bytes((192, 168, 1, 50))
ENOUGH = 20_000


def frame(kind, body, to=BOARD, wrong=0):
    """The line of a frame for the harness; `wrong` is added to its checksum."""
    data = (to + HOST + kind.to_bytes(2, "big") + body).ljust(60, b"\0")
    return f"frame {(data + ((zlib.crc32(data) + wrong) % (1 << 32)).to_bytes(4, 'little')).hex()}"


def arp(operation, to):
    return frame(0x806, struct.pack(">HHBBH", 1, 0x800, 6, 4, operation) + HOST + HOST_IP + BOARD + BOARD_IP, to)


def ip(protocol, body, wrong=0):
    head = struct.pack(">BBHIBBH", 0x45, 0, 20 + len(body), 0, 64, protocol, 0) + HOST_IP + BOARD_IP
    total = sum(struct.unpack(">10H", head))
    check = ~(total + (total >> 16)) & 0xFFFF
    return frame(0x800, head[:10] + check.to_bytes(2, "big") + head[12:] + body, wrong=wrong)


def udp(packet, port=40000, wrong=0):
    return ip(17, struct.pack(">HHHH", port, 1234, 8 + len(packet), 0) + packet, wrong)


def words(*values):
    return np.array(values, np.uint32)


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    """The program, compiled; a call gives it lines, and returns the frames that were sent, and the words that were written."""
    require_rtl()
    folder, verilator = tmp_path_factory.mktemp("frames"), find_verilator()
    root, include = HERE.parents[2], verilator.root / "include"

    def call(*command, **more):
        done = subprocess.run(
            list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False, timeout=500, **more
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    call(sys.executable, "-m", "tests.bitstream.frames.core", "frames.v", env={**os.environ, "PYTHONPATH": str(root)})
    quiet = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "-Wno-UNOPTFLAT")
    environment = {**os.environ, "VERILATOR_ROOT": str(verilator.root)}
    call(verilator.command, "--cc", "-O3", "--top-module", "frames", *quiet, "--Mdir", "model", "frames.v", env=environment)
    defines = [f"-DVM_{name}=0" for name in ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_VCD", "TRACE_FST")]
    sources = [HERE / "harness.cc", *sorted((folder / "model").glob("*.cpp"))]
    sources += [include / name for name in ("verilated.cpp", "verilated_threads.cpp")]
    paths = ["-Imodel", f"-I{include}", f"-I{include / 'vltstd'}"]
    call(compiler(), "-std=c++20", "-O1", "-w", *defines, *paths, *sources, "-lpthread", "-o", "harness")

    def run(*lines):
        # Before its first answer the board asks where the host is.
        known = [udp(probe_packet(0)), f"run {ENOUGH}", arp(2, BOARD), f"run {ENOUGH}"]
        said = call(folder / "harness", input="\n".join([*known, *lines, f"run {ENOUGH}", ""]))
        told = [line.split() for line in said.splitlines()]
        sent = [bytes.fromhex(parts[1])[8:] for parts in told if parts[0] == "sent"]
        for data in sent:
            assert zlib.crc32(data[:-4]).to_bytes(4, "little") == data[-4:]
        assert sent[0][:22] == ALL + BOARD + bytes.fromhex("08060001080006040001")
        return [data[:-4] for data in sent[2:]], [tuple(map(int, parts[1:])) for parts in told if parts[0] == "wrote"]

    return run


def packet_of(data, port=40000):
    """The packet of UDP in a frame of the board to the host."""
    assert data[:14] == HOST + BOARD + b"\x08\x00"
    assert (data[23], data[26:34]) == (17, BOARD_IP + HOST_IP)
    source, to, length, _ = struct.unpack_from(">HHHH", data, 34)
    assert (source, to) == (1234, port)
    return parse_packet(data[42 : 34 + length])


def test_the_board_says_where_it_is_and_answers_pings(harness):
    ping = ip(1, bytes.fromhex("0800000000010001") + bytes(range(32)))
    (found, *pongs), _ = harness(arp(1, ALL), ping, ping, ping)
    assert found[:22] == HOST + BOARD + bytes.fromhex("08060001080006040002")
    assert found[22:32] == BOARD + BOARD_IP
    assert [pong[34] for pong in pongs] == [0] * 3


def test_words_are_written_and_read_and_a_probe_is_answered(harness):
    sent, wrote = harness(
        udp(probe_packet(1)), udp(write_packet(0x1000, words(1, 2, 3))), udp(read_packet(77, words(0x1008, 0x1000)), port=40001)
    )
    assert wrote == [(0x1000, 1), (0x1004, 2), (0x1008, 3)]
    assert packet_of(sent[0]) == ProbeAnswer()
    answer = packet_of(sent[1], 40001)
    assert isinstance(answer, Answer)
    assert (answer.tag, answer.words.tolist()) == (77, [3, 1])


def test_a_frame_with_a_wrong_checksum_is_not_executed(harness):
    lines = [udp(write_packet(0x1000, np.arange(count, dtype=np.uint32)), wrong=1) for count in (1, 3, 248)]
    sent, wrote = harness(*lines, udp(read_packet(5, words(0x1000)), wrong=1), udp(read_packet(6, words(0x1000))))
    assert not wrote
    assert [packet_of(data).tag for data in sent] == [6]


def test_a_window_of_packets_is_taken_at_the_speed_of_the_cable(harness):
    lines, expected = [], []
    for index in range(6):
        values = np.arange(248, dtype=np.uint32) + 1000 * index
        lines += [udp(write_packet(0x1000 * index, values)), udp(read_packet(index, words(0x1000 * index + 4 * 247)))]
        expected += [(0x1000 * index + 4 * at, int(value)) for at, value in enumerate(values)]
    sent, wrote = harness(*lines, "run 100000")
    assert wrote == expected
    assert [(packet_of(data).tag, int(packet_of(data).words[0])) for data in sent] == [(at, 1000 * at + 247) for at in range(6)]


def test_a_flood_is_dropped_in_whole_packets(harness):
    lines = [udp(write_packet(0x1000 * index, np.full(248, index, np.uint32))) for index in range(40)]
    sent, wrote = harness(*lines, "run 400000", udp(read_packet(9, words(0))))
    written = [address >> 12 for address, _ in wrote]
    assert wrote == [(0x1000 * index + 4 * at, index) for index in sorted(set(written)) for at in range(248)]
    assert 8 <= len(set(written)) < 40
    assert packet_of(sent[-1]).tag == 9
