"""A first-in first-out queue in block RAM whose head can be replaced in every cycle."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib.memory import Memory

__all__ = ["Queue"]


class Queue(Elaboratable):
    """Holds up to `depth` entries. What is pushed at cycle t is the head at cycle t + 1 if the queue is otherwise empty.

    The user pushes only when `full` is 0 and pops only when `valid` is 1. `full` does not look at a pop of the same cycle.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self._shape = shape
        self._depth = depth
        self.push = Signal()
        self.entry = Signal(shape)
        self.pop = Signal()
        self.head = Signal(shape)
        self.valid = Signal()
        self.full = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build a memory with a pointer for each end; its read port looks at the head of the next cycle."""
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._shape, depth=max(2, self._depth), init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])
        level = Signal(range(self._depth + 1))
        first = Signal(range(max(2, self._depth)))
        last = Signal.like(first)
        m.d.comb += [
            write.addr.eq(last),
            write.data.eq(self.entry),
            write.en.eq(self.push),
            read.addr.eq(Mux(self.pop, self._after(first), first)),
            self.head.eq(read.data),
            self.valid.eq(level != 0),
            self.full.eq(level == self._depth),
        ]
        m.d.sync += level.eq(level + self.push - self.pop)
        with m.If(self.pop):
            m.d.sync += first.eq(self._after(first))
        with m.If(self.push):
            m.d.sync += last.eq(self._after(last))
        return m

    def _after(self, pointer: Value) -> Value:
        return Mux(pointer == self._depth - 1, 0, pointer + 1)
