"""Generates the end of the board's Ethernet: LiteEth's cores as Verilog. A program of its own, which needs the extra `fpga`.

    python -m vta.bitstream.ethernet_core SETTINGS.json OUTPUT.v

LiteEth's Etherbone takes what comes without a look at it: a frame whose checksum is wrong is executed, a record that ends too
early stops it for good, and where a second packet waits behind one that it works at, words are lost (its FIFOs take the
description of a packet more than once while they are full). `PacketGate` lets through only what it can take, one at a time.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from liteeth.common import eth_udp_user_description, etherbone_magic
from liteeth.core import LiteEthUDPIPCore
from liteeth.frontend.etherbone import LiteEthEtherbone
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex.build.lattice.common import lattice_ecp5_special_overrides
from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.stream import Endpoint, SyncFIFO
from migen import READ_FIRST, Case, Cat, ClockDomain, If, Memory, Mux, Record, Signal

_WORD_BITS = 32
_BUFFER_WORDS = 256
"""Of a record, in LiteEth's core; with its addresses."""
_HEAD_WORDS = 4
"""Of a packet: two of its own head, the head of the record, and the address that comes before what it counts."""
_LONGEST_WORDS = 511
"""Of a packet, as far as words are told apart: those that are longer have none of the lengths that are taken."""
_WAITING_WORDS = 2048
_WAITING_PACKETS = 16
_WAY_CYCLES = 7
"""From the gate to the FIFO of records, at most."""
_AFTER_HEAD = 3
_LAST_BYTE = 1 << _WORD_BITS // 8 - 1
_PARAMETERS = [("src_port", 16), ("ip_address", 32), ("length", 16)]
_DATED = re.compile(r"^// .*\b20\d\d-\d\d-\d\d .*\n", re.MULTILINE)
"""Lines that differ with the time."""
_FRAME_SIGNALS = ("valid", "ready", "last", "data")


class PacketGate(LiteXModule):
    """Holds packets until they are whole, and passes those on that Etherbone can take. `sink` is always ready.

    Those are probes, and records of reads or of writes, and not of both, with as many words as they count. The next one begins
    when it `may_begin`.
    """

    def __init__(self) -> None:
        layout = eth_udp_user_description(_WORD_BITS)
        self.sink, self.source = Endpoint(layout), Endpoint(layout)
        self.memory = Memory(_WORD_BITS + 1, _WAITING_WORDS)
        self.parameters = SyncFIFO(_PARAMETERS, _WAITING_PACKETS)
        self.begun, self.taken = Signal(max=_WAITING_WORDS), Signal(max=_WAITING_WORDS)
        self.complete = Signal(max=_WAITING_WORDS)
        self.may_begin = Signal()
        self.specials += self.memory
        self._take_in()
        self._pass_on()

    def _take_in(self) -> None:
        """Write words behind what is complete, and complete them with the last, or begin there again."""
        sink, parameters = self.sink, self.parameters
        port = self.memory.get_port(write_capable=True, mode=READ_FIRST)
        self.specials += port
        bad, full, good = Signal(), Signal(), Signal()
        after = Signal.like(self.begun)
        self.comb += [
            sink.ready.eq(1),
            after.eq(self.begun + 1),
            full.eq(after == self.taken),
            port.adr.eq(self.begun),
            port.dat_w.eq(Cat(sink.data, sink.last)),
            port.we.eq(sink.valid & ~full),
            good.eq(~bad & ~full & (sink.error == 0) & parameters.sink.ready & self._has_the_words_it_counts()),
            parameters.sink.valid.eq(sink.valid & sink.last & good),
            *(getattr(parameters.sink, name).eq(getattr(sink, name)) for name, _ in _PARAMETERS),
        ]
        self.sync += If(
            sink.valid,
            If(~full, self.begun.eq(after)),
            bad.eq(bad | full | (sink.error != 0)),
            If(
                sink.last,
                bad.eq(0),
                If(good, self.complete.eq(after)).Else(self.begun.eq(self.complete)),
            ),
        )

    def _has_the_words_it_counts(self) -> Signal:
        """Whether the last word of `sink` is the last of a packet that Etherbone knows."""
        sink, data = self.sink, self.sink.data
        index, counted, is_probe, known, right = Signal(max=_LONGEST_WORDS + 1), Signal(10), Signal(), Signal(), Signal()
        writes, reads = data[16:24], data[24:32]
        self.sync += If(
            sink.valid,
            index.eq(Mux(sink.last, 0, Mux(index == _LONGEST_WORDS, index, index + 1))),
            Case(
                index,
                {
                    0: [
                        is_probe.eq(data[16]),
                        known.eq(data[:16] == (etherbone_magic >> 8 | (etherbone_magic & 0xFF) << 8)),
                    ],
                    2: [
                        counted.eq(writes + reads + _HEAD_WORDS),
                        known.eq(known & ((writes == 0) ^ (reads == 0))),
                    ],
                },
            ),
        )
        fits = counted <= _BUFFER_WORDS
        self.comb += right.eq(known & Mux(is_probe, index == 2, (index >= _HEAD_WORDS) & (index + 1 == counted) & fits))
        return right

    def _pass_on(self) -> None:
        source, parameters = self.source, self.parameters
        port = self.memory.get_port(mode=READ_FIRST)
        self.specials += port
        there, moves, coming, begun = Signal(), Signal(), Signal.like(self.taken), Signal()
        self.comb += [
            source.valid.eq(there & parameters.source.valid & (begun | self.may_begin)),
            moves.eq(source.valid & source.ready),
            coming.eq(self.taken + moves),
            port.adr.eq(coming),
            Cat(source.data, source.last).eq(port.dat_r),
            source.last_be.eq(Mux(source.last, _LAST_BYTE, 0)),
            *(getattr(source, name).eq(getattr(parameters.source, name)) for name, _ in _PARAMETERS),
            parameters.source.ready.eq(moves & source.last),
        ]
        self.sync += [self.taken.eq(coming), there.eq(coming != self.complete), If(moves, begun.eq(~source.last))]


class EtherboneEnd(LiteXModule):
    """Etherbone behind a gate, on packets of `port`, with `bus` to what is read and written.

    Answers go to the port that the last packet came from, rather than to our own: hosts are then free to have any.
    """

    def __init__(self, port: Any, udp_port: int) -> None:
        self.gate = gate = PacketGate()
        layout = eth_udp_user_description(_WORD_BITS)
        answers, asker = Endpoint(layout), Signal(16)
        self.comb += [
            port.source.connect(gate.sink),
            answers.connect(port.sink, omit={"dst_port"}),
            port.sink.dst_port.eq(asker),
        ]
        self.sync += If(gate.source.valid & gate.source.ready, asker.eq(gate.source.src_port))
        gated = SimpleNamespace(source=gate.source, sink=answers)
        crossbar = SimpleNamespace(dw=_WORD_BITS, get_port=lambda *_, **__: gated)
        self.etherbone = LiteEthEtherbone(SimpleNamespace(crossbar=crossbar), udp_port, buffer_depth=_BUFFER_WORDS)
        self.bus = self.etherbone.wishbone.bus
        self._one_at_a_time(answers)

    def _one_at_a_time(self, answers: Endpoint) -> None:
        """Let a packet begin when Etherbone has executed and answered the one before."""
        given, receiver = self.gate.source, self.etherbone.record.receiver
        index, has_answer, unanswered, on_its_way = Signal(2), Signal(), Signal(), Signal(max=_WAY_CYCLES + 1)
        at_rest = receiver.fsm.ongoing("IDLE") & ~receiver.fifo.source.valid & (on_its_way == 0)
        self.comb += self.gate.may_begin.eq(at_rest & ~unanswered)
        self.sync += [
            If(answers.valid & answers.ready & answers.last, unanswered.eq(0)),
            If(on_its_way != 0, on_its_way.eq(on_its_way - 1)),
            If(
                given.valid & given.ready,
                If(index != _AFTER_HEAD, index.eq(index + 1)),
                If(index == 0, has_answer.eq(given.data[16])),
                If(index == 2, has_answer.eq(has_answer | (given.data[24:32] != 0))),
                If(given.last, index.eq(0), on_its_way.eq(_WAY_CYCLES), unanswered.eq(has_answer)),
            ),
        ]


class BoardEthernet(LiteXModule):
    """From the pins of the chip that drives the cable to a bus."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.clock_domains.cd_sys = ClockDomain()
        self.clocks = Record([("tx", 1), ("rx", 1)], "eth_clock")
        self.pads = Record([("rst_n", 1), ("rx_ctl", 1), ("rx_data", 4), ("tx_ctl", 1), ("tx_data", 4)], "eth")
        self.bus = wishbone.Interface()
        self.phy = LiteEthPHYRGMII(
            self.clocks, self.pads, tx_delay=settings["tx_delay_ns"] * 1e-9, rx_delay=settings["rx_delay_ns"] * 1e-9
        )
        self.core = LiteEthUDPIPCore(
            self.phy,
            mac_address=int(settings["mac"].replace(":", ""), 16),
            ip_address=settings["ip"],
            clk_freq=settings["clock_hz"],
            dw=_WORD_BITS,
            with_sys_datapath=True,
        )
        port = self.core.udp.crossbar.get_port(settings["port"], dw=_WORD_BITS)
        self.end = EtherboneEnd(port, settings["port"])
        self.comb += self.end.bus.connect(self.bus)

    @property
    def ios(self) -> set[Any]:
        """The ports of the module."""
        return {self.cd_sys.clk, self.cd_sys.rst, *self.clocks.flatten(), *self.pads.flatten(), *_bus(self.bus)}


class PacketEthernet(LiteXModule):
    """The same from the packets on, which come and go word by word: for simulations."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.clock_domains.cd_sys = ClockDomain()
        layout = eth_udp_user_description(_WORD_BITS)
        self.port = SimpleNamespace(source=Endpoint(layout, name="received"), sink=Endpoint(layout, name="sent"))
        self.bus = wishbone.Interface()
        self.end = EtherboneEnd(self.port, settings["port"])
        self.comb += self.end.bus.connect(self.bus)

    @property
    def ios(self) -> set[Any]:
        """The ports of the module."""
        streams = {getattr(end, name) for end in (self.port.source, self.port.sink) for name in _FRAME_SIGNALS}
        streams |= {getattr(self.port.source, name) for name in ("error", "src_port", "ip_address", "length")}
        return {self.cd_sys.clk, self.cd_sys.rst, *streams, self.port.sink.dst_port, self.port.sink.length, *_bus(self.bus)}


def _bus(bus: Any) -> list[Any]:
    return [getattr(bus, name) for name in ("adr", "dat_w", "dat_r", "sel", "cyc", "stb", "we", "ack")]


def verilog(settings: dict[str, Any]) -> str:
    """The module of `settings`, with its name."""
    kinds: dict[str, type[BoardEthernet | PacketEthernet]] = {"board": BoardEthernet, "packets": PacketEthernet}
    module = kinds[settings["kind"]](settings)
    made = convert(module, module.ios, name=settings["name"], special_overrides=lattice_ecp5_special_overrides)
    return _DATED.sub("", str(made.main_source))


def main() -> int:
    """Write the Verilog that the settings are of."""
    settings, output = sys.argv[1:]
    Path(output).write_text(verilog(json.loads(Path(settings).read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
