"""Issues the micro-ops of one GEMM or ALU instruction after the other: the two loops around a micro-op sequence."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.core.micro_op import CONTROL, issue_layout, rows_layout
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.isa import AluOp, Opcode

__all__ = ["Sequencer"]


class Sequencer(Component):
    """Issues the micro-ops of `instructions`, one a cycle, beginning in the cycle after it takes one.

    It takes the next in the cycle of the last micro-op. What has no micro-ops is one empty micro-op; `fence` marks a LOAD that
    moves data. `unknown` is 1 if the opcode or ALU opcode of the instruction is none.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "instructions": In(stream.Signature(INSTRUCTION_BITS)),
                "fence": In(1),
                "unknown": Out(1),
                "issued": Out(stream.Signature(issue_layout(geometry), always_ready=True)),
            }
        )
        self._given = geometry.instruction(self.instructions.payload)

    def elaborate(self, platform: object) -> Module:
        """Build the control word, the loop counters and the offsets."""
        m = Module()
        issued, last = self.issued, Signal()
        control = Signal(CONTROL)
        # Whether there is an instruction decides only whether anything is issued: what is loaded without does not matter.
        loads, single = self.instructions.ready, Signal()
        with m.If(loads):
            m.d.sync += [issued.valid.eq(self.instructions.valid), control.eq(self._decode(m, single))]
        ends = self._count(m, loads, single)
        m.d.comb += [
            last.eq(issued.valid & ends),
            self.instructions.ready.eq(~issued.valid | last),
            issued.payload.control.eq(control),
            issued.payload.control.last.eq(ends & ~control.fence),
        ]
        return m

    def _decode(self, m: Module, single: Value) -> Value:
        """Return the control word of the instruction; `single` becomes 1 if it has no micro-ops."""
        given, alu = self._given.gemm, self._given.alu
        is_gemm, is_alu, is_finish = (given.opcode == int(opcode) for opcode in (Opcode.GEMM, Opcode.ALU, Opcode.FINISH))
        bad_alu = is_alu & (alu.alu_opcode > max(AluOp))
        loops = (is_gemm | is_alu) & ~bad_alu & (given.iter_out != 0) & (given.iter_in != 0) & (given.uop_bgn < given.uop_end)
        decoded = Signal(CONTROL)
        m.d.comb += [
            single.eq(~loops),
            self.unknown.eq(bad_alu | (given.opcode > max(Opcode))),
            decoded.writes.eq(loops),
            decoded.gemm.eq(is_gemm),
            decoded.finish.eq(is_finish),
            decoded.fence.eq(self.fence),
            *(decoded[name].eq(given[name]) for name in ("reset", "push_prev", "push_next")),
            decoded.alu_opcode.eq(Mux(is_gemm, int(AluOp.ADD), alu.alu_opcode)),
            *(decoded[name].eq(alu[name]) for name in ("use_imm", "imm")),
        ]
        return decoded

    def _count(self, m: Module, loads: Value, single: Value) -> Value:
        """Step through the loops; return whether the current micro-op is the last one."""
        given, row = self._given.gemm, self.issued.payload.row
        uop, first, end = (Signal(len(row) + 1) for _ in range(3))
        inner, outer, iterations = Signal(14), Signal(14), Signal(14)
        alone = Signal()
        uop_ends, inner_ends, outer_ends = uop + 1 == end, inner == 1, outer == 1
        with m.If(loads):
            m.d.sync += [
                alone.eq(single),
                *(signal.eq(given.uop_bgn) for signal in (uop, first)),
                end.eq(given.uop_end),
                outer.eq(given.iter_out),
                *(signal.eq(given.iter_in) for signal in (inner, iterations)),
            ]
        with m.Else():
            m.d.sync += uop.eq(Mux(uop_ends, first, uop + 1))
            with m.If(uop_ends):
                m.d.sync += inner.eq(Mux(inner_ends, iterations, inner - 1))
            with m.If(uop_ends & inner_ends):
                m.d.sync += outer.eq(outer - 1)
        m.d.comb += row.eq(uop)
        self._offsets(m, loads, uop_ends, inner_ends)
        return alone | (uop_ends & inner_ends & outer_ends)

    def _offsets(self, m: Module, loads: Value, uop_ends: Value, inner_ends: Value) -> None:
        """Add up the factors of the loops."""
        gemm, alu = self._given.gemm, self._given.alu
        layout = rows_layout(self._geometry)
        row, outer, by_outer, by_inner = Signal(layout), Signal(layout), Signal(layout), Signal(layout)
        is_alu = gemm.opcode == int(Opcode.ALU)
        for name in ("dst", "src", "wgt"):
            with m.If(loads):
                m.d.sync += [row[name].eq(0), outer[name].eq(0)]
                for step, loop in ((by_outer, "out"), (by_inner, "in")):
                    factor = gemm[f"{name}_factor_{loop}"]
                    if name != "wgt":
                        factor = Mux(is_alu, alu[f"{name}_factor_{loop}"], factor)
                    m.d.sync += step[name].eq(factor)
            with m.Elif(uop_ends):
                following = (outer[name] + by_outer[name])[: len(row[name])]
                m.d.sync += row[name].eq(Mux(inner_ends, following, row[name] + by_inner[name]))
                with m.If(inner_ends):
                    m.d.sync += outer[name].eq(following)
        m.d.comb += self.issued.payload.offset.eq(row)
