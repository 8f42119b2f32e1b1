"""The store unit: sends output rows to memory, and completes stores in order as their responses arrive."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases, Moved, UnitStatus
from vta.hardware.control.tokens import GIVEN_TOKENS, TAKEN_TOKENS
from vta.hardware.core.store_reader import StoreReader
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.hardware.memories.buffers import window_read_of
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.axi import AxiWrite
from vta.hardware.ports.write_port import WritePort

__all__ = ["StoreUnit"]

_BURST_NUMBER_BITS = 20
"""Bursts are numbered modulo a power of two that is larger than the number of those without response."""


class StoreUnit(Component):
    """Executes STOREs of what it reads through `window`. Tokens come `from_compute` and go `to_compute`.

    `sent` is 1 as a beat is taken. `bad_memory` tells of a memory type other than OUT, `failed` of an error response.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._reader = StoreReader(geometry)
        self._writes = WritePort(geometry)
        super().__init__(
            {
                "instructions": In(stream.Signature(INSTRUCTION_BITS)),
                "from_compute": In(TAKEN_TOKENS),
                "to_compute": Out(GIVEN_TOKENS),
                "bases": In(Bases()),
                "window": Out(window_read_of(geometry, MemoryType.OUT)),
                "axi": Out(AxiWrite(geometry)),
                "moved": Out(Moved((MemoryType.OUT,))),
                "sent": Out(1),
                "failed": Out(1),
                "bad_memory": Out(1),
                "status": Out(UnitStatus()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build acceptance, and the way of the beats to the write port."""
        m = Module()
        m.submodules.reader = reader = self._reader
        m.submodules.writes = writes = self._writes
        connect(m, flipped(self.bases), reader.bases)
        connect(m, flipped(self.window), reader.window)
        connect(m, reader.moved, flipped(self.moved))
        connect(m, reader.beats, writes.beats)
        connect(m, flipped(self.axi), writes.axi)
        given, state, ahead = self.instructions, self.status.state, self._geometry.timing.store_ahead
        store = self._geometry.instruction(given.payload).store
        tokens, has_room, accept, accepted = Signal(), Signal(), Signal(), Signal()
        incomplete = Signal(range(ahead + 1))
        m.d.comb += [
            tokens.eq(self.from_compute.valid | ~store.pop_prev),
            has_room.eq(incomplete < ahead),
            reader.stores.valid.eq(given.valid & tokens & has_room),
            reader.stores.payload.eq(given.payload),
            accept.eq(reader.stores.valid & reader.stores.ready),
            given.ready.eq(accept),
            self.from_compute.ready.eq(accept & store.pop_prev),
            self.sent.eq(writes.beats.valid & writes.beats.ready),
            self.failed.eq(writes.failed),
            self.bad_memory.eq(accept & reader.moves & (store.memory_type != int(MemoryType.OUT))),
            self.status.drained.eq(~given.valid & (incomplete == 0)),
            state.busy.eq(self.sent | accepted),
            state.memory.eq(given.valid & reader.stores.ready & tokens & ~has_room),
            state.token.eq(given.valid & reader.stores.ready & ~tokens),
        ]
        m.d.sync += [accepted.eq(accept), incomplete.eq(incomplete + accept - self.status.completed)]
        self._complete(m, accept)
        return m

    def _complete(self, m: Module, accept: Value) -> None:
        """Complete accepted stores in order: one without rows at once, the others when their last burst is answered."""
        reader, writes, ahead = self._reader, self._writes, self._geometry.timing.store_ahead
        accepted = Queue(shape=StructLayout({"moves": 1, "push": 1}), depth=ahead, always_ready=True)
        last_bursts = Queue(shape=_BURST_NUMBER_BITS, depth=ahead, always_ready=True)
        m.submodules.accepted_queue = accepted
        m.submodules.last_burst_queue = last_bursts
        sent, number = (Signal(_BURST_NUMBER_BITS) for _ in range(2))
        next_answer = Signal(_BURST_NUMBER_BITS, init=1)
        arrived, waiting, completed = Signal(), Signal(range(ahead + 1)), self.status.completed
        oldest = accepted.head.payload
        m.d.comb += [
            accepted.tail.valid.eq(accept),
            accepted.tail.payload.moves.eq(reader.moves),
            accepted.tail.payload.push.eq(self._geometry.instruction(self.instructions.payload).store.push_prev),
            number.eq(sent + writes.beats.payload.frame.first),
            last_bursts.tail.valid.eq(reader.ends),
            last_bursts.tail.payload.eq(number),
            last_bursts.head.ready.eq(writes.answered & (next_answer == last_bursts.head.payload)),
            arrived.eq(last_bursts.head.valid & last_bursts.head.ready),
            accepted.head.ready.eq(~oldest.moves | arrived | (waiting != 0)),
            completed.eq(accepted.head.valid & accepted.head.ready),
            self.to_compute.valid.eq(completed & oldest.push),
        ]
        m.d.sync += [
            waiting.eq(waiting + arrived - (completed & oldest.moves)),
            next_answer.eq(next_answer + writes.answered),
        ]
        with m.If(self.sent):
            m.d.sync += sent.eq(number)
