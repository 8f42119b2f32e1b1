"""Issues the micro-ops of one GEMM or ALU instruction after the other: the two loops around a micro-op sequence."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.core.micro_op import control_layout, rows_layout
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.isa import AluOp, Opcode

__all__ = ["Sequencer"]


class Sequencer(Elaboratable):
    """Issues the micro-ops of the `instruction` given with `start`, one a cycle, beginning in the next cycle.

    In a cycle with `valid`: `uop_row` is the row of the micro-op, `offset` what the loops add to its rows, `control` its control
    word, `last` tells that it is the last one. What has no micro-ops is one empty micro-op; `load` marks a LOAD that moves data.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.start = Signal()
        self.instruction = Signal(INSTRUCTION_BITS)
        self.load = Signal()
        self.valid = Signal()
        self.last = Signal()
        self.uop_row = Signal(geometry.row_bits(MemoryType.UOP))
        self.offset = Signal(rows_layout(geometry))
        self.control = Signal(control_layout())
        self.unknown = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build the control word, the loop counters and the offsets."""
        m = Module()
        control = Signal.like(self.control)
        single = Signal()
        with m.If(self.start):
            m.d.sync += [self.valid.eq(1), control.eq(self._decode(m, single))]
        with m.Elif(self.last):
            m.d.sync += self.valid.eq(0)
        ends = self._count(m, single)
        m.d.comb += [
            self.last.eq(self.valid & ends),
            self.control.eq(control),
            self.control.last.eq(ends & ~control.fence),
        ]
        return m

    def _decode(self, m: Module, single: Value) -> Value:
        """Return the control word of the instruction; `single` becomes 1 if it has no micro-ops."""
        opcode = self._field(Opcode.GEMM, "opcode")
        gemm, alu, finish = (opcode == int(o) for o in (Opcode.GEMM, Opcode.ALU, Opcode.FINISH))
        bad_alu = alu & (self._field(Opcode.ALU, "alu_opcode") > max(AluOp))
        loops = (gemm | alu) & ~bad_alu
        for name in ("iter_out", "iter_in"):
            loops &= self._field(Opcode.GEMM, name) != 0
        loops &= self._field(Opcode.GEMM, "uop_bgn") < self._field(Opcode.GEMM, "uop_end")
        decoded = Signal(control_layout())
        m.d.comb += [
            single.eq(~loops),
            self.unknown.eq(bad_alu | (opcode > max(Opcode))),
            decoded.writes.eq(loops),
            decoded.gemm.eq(gemm),
            decoded.finish.eq(finish),
            decoded.fence.eq(self.load),
            *(decoded[name].eq(self._field(Opcode.GEMM, name)) for name in ("reset", "push_prev", "push_next")),
            *(decoded[name].eq(self._field(Opcode.ALU, name)) for name in ("alu_opcode", "use_imm", "imm")),
        ]
        return decoded.as_value()

    def _count(self, m: Module, single: Value) -> Value:
        """Step through the loops; return whether the current micro-op is the last one."""
        uop, first, end = (Signal(len(self.uop_row) + 1) for _ in range(3))
        inner, outer, iterations = Signal(14), Signal(14), Signal(14)
        alone = Signal()
        uop_ends, inner_ends, outer_ends = uop + 1 == end, inner == 1, outer == 1
        with m.If(self.start):
            m.d.sync += [
                alone.eq(single),
                *(signal.eq(self._field(Opcode.GEMM, "uop_bgn")) for signal in (uop, first)),
                end.eq(self._field(Opcode.GEMM, "uop_end")),
                outer.eq(self._field(Opcode.GEMM, "iter_out")),
                *(signal.eq(self._field(Opcode.GEMM, "iter_in")) for signal in (inner, iterations)),
            ]
        with m.Else():
            m.d.sync += uop.eq(Mux(uop_ends, first, uop + 1))
            with m.If(uop_ends):
                m.d.sync += inner.eq(Mux(inner_ends, iterations, inner - 1))
            with m.If(uop_ends & inner_ends):
                m.d.sync += outer.eq(outer - 1)
        m.d.comb += self.uop_row.eq(uop)
        self._offsets(m, uop_ends, inner_ends)
        return alone | (uop_ends & inner_ends & outer_ends)

    def _offsets(self, m: Module, uop_ends: Value, inner_ends: Value) -> None:
        """Add up the factors of the loops."""
        layout = rows_layout(self._geometry)
        row, outer, by_outer, by_inner = Signal(layout), Signal(layout), Signal(layout), Signal(layout)
        is_alu = self._field(Opcode.GEMM, "opcode") == int(Opcode.ALU)
        for name in ("dst", "src", "wgt"):
            with m.If(self.start):
                m.d.sync += [row[name].eq(0), outer[name].eq(0)]
                for step, loop in ((by_outer, "out"), (by_inner, "in")):
                    factor = self._field(Opcode.GEMM, f"{name}_factor_{loop}")
                    if name != "wgt":
                        factor = Mux(is_alu, self._field(Opcode.ALU, f"{name}_factor_{loop}"), factor)
                    m.d.sync += step[name].eq(factor)
            with m.Elif(uop_ends):
                following = (outer[name] + by_outer[name])[: len(row[name])]
                m.d.sync += row[name].eq(Mux(inner_ends, following, row[name] + by_inner[name]))
                with m.If(inner_ends):
                    m.d.sync += outer[name].eq(following)
        m.d.comb += self.offset.eq(row)

    def _field(self, opcode: Opcode, name: str) -> Value:
        return self._geometry.field(opcode, name, self.instruction)
