"""A first-in first-out queue in block RAM whose head, in registers, can be replaced in every cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.checks import check_range

__all__ = ["Queue"]


class Queue(Component):
    """Holds up to `depth` payloads: what enters the `tail` of an empty queue at cycle t is the `head` at cycle t + 1.

    Whether the tail is ready does not depend on the head of the same cycle. With `always_ready`, who writes keeps count of the
    room, and does not write without.
    """

    def __init__(self, *, shape: ShapeLike, depth: int, always_ready: bool = False) -> None:
        check_range("depth of a queue", depth, 1)
        self._shape = shape
        self._depth = depth
        super().__init__({"tail": In(stream.Signature(shape, always_ready=always_ready)), "head": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        """Build a memory with a pointer for each end; its read port looks at what follows the head of the next cycle.

        The head itself lies in registers: what is decoded of it need not wait for a block memory.
        """
        m = Module()
        tail, head = self.tail, self.head
        m.submodules.memory = memory = Memory(shape=self._shape, depth=max(2, self._depth), init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])
        level = Signal(range(self._depth + 1))
        last = Signal(range(max(2, self._depth)))
        second, third = Signal.like(last, init=1), Signal.like(last, init=2 % max(2, self._depth))
        push, pop, more = Signal(), Signal(), Signal()
        if not tail.signature.always_ready:
            m.d.comb += tail.ready.eq(level != self._depth)
        m.d.comb += [
            more.eq(level[1:].any()),
            push.eq(tail.valid & tail.ready),
            pop.eq(head.valid & head.ready),
            write.addr.eq(last),
            write.data.eq(tail.payload),
            write.en.eq(push),
            read.addr.eq(Mux(pop, third, second)),
        ]
        m.d.sync += [level.eq(level + push - pop), head.valid.eq(push | (head.valid & (~pop | more)))]
        with m.If(pop | ~head.valid):
            # With one payload or none there is nothing behind the head but what comes now.
            m.d.sync += head.payload.eq(Mux(more, Value.cast(read.data), Value.cast(tail.payload)))
        with m.If(pop):
            m.d.sync += [second.eq(third), third.eq(self._after(third))]
        with m.If(push):
            m.d.sync += last.eq(self._after(last))
        return m

    def _after(self, pointer: Value) -> Value:
        return Mux(pointer == self._depth - 1, 0, pointer + 1)
