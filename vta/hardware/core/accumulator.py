"""The accumulator: the operands that stage S7 has of it, and what is written to it."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In, Out, PureInterface

from vta.config.targets import MemoryType
from vta.hardware.core.acc_loader import acc_loaded, widened
from vta.hardware.geometry import Geometry
from vta.hardware.memories.banks import write_row
from vta.hardware.memories.buffers import buffer_of
from vta.hardware.memories.coded import CodedMemory
from vta.hardware.transfers.plan import LoadWrites
from vta.hardware.transfers.writer import delayed_writes, elements_of, write_load

__all__ = ["Accumulator"]

_ROWS = (MemoryType.ACC, MemoryType.ACC_8BIT)
"""The memory types of loads that write it."""
_KEPT = {"keep": 1}
"""For signals that synthesis is not to take apart."""


class Accumulator(Component):
    """Gives the rows `dst` and `src` of S5 as operands in S7: `left`, and `right`, unless S6 `replaces` the latter by `other`.

    In a cycle with `writes`, `row` is the one to be written a cycle later, by then with `result`; `load` writes in the cycles
    with its `valid`, when no micro-op is there. An operand sees whatever was written before, in whatever way.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        row, bits = geometry.row_bits(MemoryType.ACC), geometry.elem_bits(MemoryType.ACC)
        super().__init__(
            {
                "dst": In(row),
                "src": In(row),
                "replaces": In(1),
                "other": In(bits),
                "left": Out(bits),
                "right": Out(bits),
                "writes": In(1),
                "row": In(row),
                "result": In(bits),
                "load": In(LoadWrites(geometry, acc_loaded(geometry))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build it as the fabric has it: with a copy for each operand, or of coded banks."""
        m = Module()
        written, row = Signal(), Signal.like(self.row)
        m.d.sync += [written.eq(self.writes), row.eq(self.row)]
        build = self._coded if self._geometry.fabric.accumulator_banks else self._copied
        build(m, written, row)
        return m

    def _copied(self, m: Module, written: Signal, row: Signal) -> None:
        """Read in S5, so that what a memory has goes to registers; what was written meanwhile takes its place there.

        Between a result and the operand that is made of it there is nothing but a choice: the memory gets it a cycle later.
        """
        m.submodules.memory = memory = buffer_of(self._geometry, MemoryType.ACC, rows=2)
        steps = [(written, row, self.result)]
        for step in (1, 2):
            later = (
                Signal(name=f"written_{step}"),
                Signal.like(row, name=f"row_{step}"),
                Signal.like(self.result, name=f"data_{step}"),
            )
            m.d.sync += [signal.eq(value) for signal, value in zip(later, steps[-1], strict=True)]
            steps.append(later)
        enable, place, data = steps[1]
        m.d.comb += write_row(memory.writes, enable=enable, row=place, data=data)
        # The last micro-op before a load writes the memory in the cycle before the first of these.
        self._write_load(m, delayed_writes(m, delayed_writes(m, self.load)), memory.writes)
        before = [(self.writes, self.row), *(step[:2] for step in steps[:2])]
        substitutes = ((self.left, self.dst, None), (self.right, self.src, self.other))
        for read, (operand, wanted, other) in zip(memory.rows, substitutes, strict=True):
            m.d.comb += read.row.eq(wanted)
            value: Value = read.data
            hits = [Signal(name=f"{operand.name}_hit_{step}") for step in range(len(steps))]
            m.d.sync += [hit.eq(enable & (place == wanted)) for hit, (enable, place) in zip(hits, before, strict=True)]
            for hit, (_, _, data) in reversed(list(zip(hits[1:], steps[1:], strict=True))):
                value = Mux(hit, data, value)
            fresh: Value = hits[0]
            if other is not None:
                value, fresh = Mux(self.replaces, other, value), fresh & ~self.replaces
            # A result comes late: nothing but this choice is to lie between it and the register.
            takes, earlier = (
                Signal(name=f"{operand.name}_takes"),
                Signal.like(operand, name=f"earlier_{operand.name}", attrs=_KEPT),
            )
            m.d.comb += [takes.eq(fresh), earlier.eq(Mux(takes, 0, value))]
            m.d.sync += operand.eq((self.result & takes.replicate(len(operand))) | earlier)

    def _coded(self, m: Module, written: Signal, row: Signal) -> None:
        """Read in S6: a coded memory reads what it writes in the next cycle. Its rows are there in S7."""
        bits, row_bits = self._geometry.elem_bits(MemoryType.ACC), self._geometry.row_bits(MemoryType.ACC)
        m.submodules.memory = memory = CodedMemory(shape=bits, row_bits=row_bits, banks=self._geometry.fabric.accumulator_banks)
        left, right = memory.rows
        replaces, other = Signal(), Signal(bits)
        m.d.sync += [right.row.eq(self.src), replaces.eq(self.replaces), other.eq(self.other)]
        m.d.comb += [
            left.row.eq(Mux(self.load.valid, self.load.row, self.row)),
            self.left.eq(left.data),
            self.right.eq(Mux(replaces, other, right.data)),
            *write_row(memory.writes, enable=written, row=row, data=self.result),
        ]
        self._write_load(m, delayed_writes(m, self.load), memory.writes)

    def _write_load(self, m: Module, load: PureInterface, to: PureInterface) -> None:
        for kind, memory in enumerate(acc_loaded(self._geometry)):
            if memory in _ROWS:
                write_load(m, load=load, kind=kind, elements=self._elements(memory, load.window), to=to)

    def _elements(self, memory: MemoryType, window: Value) -> list[Value]:
        elements = elements_of(self._geometry, memory, window)
        if memory is MemoryType.ACC:
            return elements
        return [widened(self._geometry.element(memory, element), self._geometry.hw.acc_bits) for element in elements]
