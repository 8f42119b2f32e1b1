"""The store unit: sends output rows to memory, and completes stores in order as their responses arrive."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.data import StructLayout

from vta.config.targets import MemoryType
from vta.hardware.core.store_reader import StoreReader
from vta.hardware.core.unit import UnitPort
from vta.hardware.geometry import Geometry
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.write_port import WritePort
from vta.isa import Opcode

__all__ = ["StoreUnit"]

_BURST_NUMBER_BITS = 20
"""Bursts are numbered modulo a power of two that is larger than the number of those without response."""


class StoreUnit(Elaboratable):
    """Executes STOREs. `pop_prev` takes a token of compute and `push_prev` gives one to it; `token_ready`: there is one to take.

    `stored` elements leave in a cycle; `bad_memory` tells of a memory type other than OUT.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.port = UnitPort()
        self.token_ready = Signal()
        self.pop_prev = Signal()
        self.push_prev = Signal()
        self.reader = StoreReader(geometry)
        self.writes = WritePort(geometry)
        self.stored = Signal.like(self.reader.count)
        self.bad_memory = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build acceptance, and the way of the beats to the write port."""
        m = Module()
        ahead = self._geometry.timing.store_ahead
        m.submodules.reader = reader = self.reader
        m.submodules.writes = writes = self.writes
        port = self.port
        tokens, has_room, accepted = Signal(), Signal(), Signal()
        incomplete = Signal(range(ahead + 1))
        pops = self._field("pop_prev")
        for name in ("valid", "word", "beats", "first", "last", "data", "strobe"):
            m.d.comb += getattr(writes.beat, name).eq(getattr(reader.beat, name))
        m.d.comb += [
            reader.beat.sent.eq(writes.beat.sent),
            reader.instruction.eq(port.instruction),
            reader.start.eq(port.accept),
            tokens.eq(self.token_ready | ~pops),
            has_room.eq(incomplete < ahead),
            port.accept.eq(port.valid & tokens & has_room & ~reader.busy),
            self.pop_prev.eq(port.accept & pops),
            self.stored.eq(reader.count & reader.advance.replicate(len(reader.count))),
            self.bad_memory.eq(port.accept & reader.moves & (self._field("memory_type") != int(MemoryType.OUT))),
            port.drained.eq(~port.valid & (incomplete == 0)),
            port.state.busy.eq(writes.beat.sent | accepted),
            port.state.memory.eq(port.valid & ~reader.busy & tokens & ~has_room),
            port.state.token.eq(port.valid & ~reader.busy & ~tokens),
        ]
        m.d.sync += [accepted.eq(port.accept), incomplete.eq(incomplete + port.accept - port.completed)]
        self._complete(m)
        return m

    def _complete(self, m: Module) -> None:
        """Complete accepted stores in order: one without rows at once, the others when their last burst is answered."""
        reader, writes, ahead = self.reader, self.writes, self._geometry.timing.store_ahead
        m.submodules.accepted_queue = accepted = Queue(StructLayout({"moves": 1, "push": 1}), ahead)
        m.submodules.last_burst_queue = last_bursts = Queue(_BURST_NUMBER_BITS, ahead)
        sent, answered, number = (Signal(_BURST_NUMBER_BITS) for _ in range(3))
        arrived, waiting = Signal(), Signal(range(ahead + 1))
        finished = accepted.head.moves & (arrived | (waiting != 0))
        m.d.comb += [
            accepted.push.eq(self.port.accept),
            accepted.entry.moves.eq(reader.moves),
            accepted.entry.push.eq(self._field("push_prev")),
            number.eq(sent + writes.beat.first),
            last_bursts.push.eq(reader.ends),
            last_bursts.entry.eq(number),
            arrived.eq(writes.answered & last_bursts.valid & (answered + 1 == last_bursts.head)),
            last_bursts.pop.eq(arrived),
            self.port.completed.eq(accepted.valid & (finished | ~accepted.head.moves)),
            accepted.pop.eq(self.port.completed),
            self.push_prev.eq(self.port.completed & accepted.head.push),
        ]
        m.d.sync += [
            waiting.eq(waiting + arrived - (self.port.completed & accepted.head.moves)),
            answered.eq(answered + writes.answered),
        ]
        with m.If(writes.beat.sent):
            m.d.sync += sent.eq(number)

    def _field(self, name: str) -> Value:
        return self._geometry.field(Opcode.STORE, name, self.port.instruction)
