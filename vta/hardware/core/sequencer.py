"""Issues the micro-ops of one GEMM or ALU instruction after the other: the two loops around a micro-op sequence."""

from __future__ import annotations

from functools import reduce
from operator import and_

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.core.micro_op import PARAMETERS, control_layout, issue_layout, rows_layout
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry, log2
from vta.isa import AluOp, Opcode
from vta.isa.encoding import instruction_fields
from vta.isa.instruction import REQUANTIZE_KEEP, REQUANTIZE_TABLE, REQUANTIZE_WIDE

__all__ = ["Sequencer"]

_WIDE_DRAIN, _NARROW_DRAIN = 6, 1
"""Empty slots at the end of a REQUANTIZE; products that requantize have those of a narrow one."""


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
        self._requantizes = bool(geometry.hw.requantize_unit)
        self._control = Signal(control_layout(geometry), name="control")
        self._held: Value = Const(0)
        if self._requantizes:
            # Slots of a REQUANTIZE that are left: for parameters before the rows, and empty ones after all.
            self._before, self._after = Signal(range(len(PARAMETERS) + 1)), Signal(range(_WIDE_DRAIN + 1))
            self._held = (self._before != 0) | (self._after != 0)
            # Whether the REQUANTIZE reads parameters alone, and whether those that were read last look results up.
            self._keeps, self._looks_up = Signal(), Signal()
            self._finishing = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build the control word, the loop counters and the offsets."""
        m = Module()
        issued, last = self.issued, Signal()
        control = self._control
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
        if self._requantizes:
            m.d.comb += [
                issued.payload.control.writes.eq(control.writes & ~self._held),
                issued.payload.control.requantize.eq(control.requantize & (~control.gemm | self._finishing)),
                issued.payload.control.table.eq(control.table & (~control.gemm | self._finishing)),
            ]
            for name, left in zip(PARAMETERS, range(len(PARAMETERS), 0, -1), strict=True):
                m.d.comb += issued.payload.control[name].eq(self._before == left)
        return m

    def _decode(self, m: Module, single: Value) -> Value:
        """Return the control word of the instruction; `single` becomes 1 if it has no micro-ops."""
        given, alu = self._given.gemm, self._given.alu
        is_gemm, is_alu, is_finish = (given.opcode == int(opcode) for opcode in (Opcode.GEMM, Opcode.ALU, Opcode.FINISH))
        is_depthwise = given.opcode == int(Opcode.DEPTHWISE)
        if self._geometry.hw.depthwise_unit:
            is_gemm = is_gemm | is_depthwise
        bad_alu = is_alu & (alu.alu_opcode > (AluOp.REQUANTIZE if self._requantizes else AluOp.MUL))
        loops = reduce(and_, self._loops_run(), (is_gemm | is_alu) & ~bad_alu)
        decoded = Signal.like(self._control, name="decoded")
        m.d.comb += [
            single.eq(~loops),
            self.unknown.eq(bad_alu | (given.opcode > max(instruction_fields(self._geometry.hw)))),
            decoded.writes.eq(loops),
            decoded.gemm.eq(is_gemm),
            decoded.finish.eq(is_finish),
            decoded.fence.eq(self.fence),
            *(decoded[name].eq(given[name]) for name in ("reset", "push_prev", "push_next")),
            decoded.alu_opcode.eq(Mux(is_gemm, int(AluOp.ADD), alu.alu_opcode)),
            *(decoded[name].eq(alu[name]) for name in ("use_imm", "imm")),
        ]
        if self._geometry.hw.depthwise_unit:
            m.d.comb += [decoded.depthwise.eq(is_depthwise), decoded.reset.eq(given.reset & ~is_depthwise)]
        if self._requantizes:
            requantize, wide = self._starts_requantize(), alu.imm[log2(REQUANTIZE_WIDE)]
            looks_up, finishes = ~wide & alu.imm[log2(REQUANTIZE_TABLE)], is_gemm & ~given.reset & given.imm & loops
            m.d.comb += [
                decoded.requantize.eq(requantize | finishes),
                decoded.wide.eq(requantize & wide),
                decoded.table.eq(Mux(finishes, self._looks_up, requantize & looks_up)),
            ]
            with m.If(self.instructions.ready & self.instructions.valid & requantize):
                m.d.sync += self._looks_up.eq(looks_up)
            with m.If(self.instructions.ready):
                m.d.sync += self._keeps.eq(requantize & alu.imm[log2(REQUANTIZE_KEEP)])
        return decoded

    def _loops_run(self) -> tuple[Value, ...]:
        """Return what must hold for a micro-op to be issued."""
        given = self._given.gemm
        return given.iter_out != 0, given.iter_in != 0, given.uop_bgn < given.uop_end

    def _starts_requantize(self) -> Value:
        alu = self._given.alu
        is_requantize = (alu.opcode == int(Opcode.ALU)) & (alu.alu_opcode == int(AluOp.REQUANTIZE))
        return reduce(and_, self._loops_run(), is_requantize)

    def _count(self, m: Module, loads: Value, single: Value) -> Value:
        """Step through the loops; return whether the current micro-op is the last one."""
        given, row = self._given.gemm, self.issued.payload.row
        uop, first, end = (Signal(len(row) + 1) for _ in range(3))
        inner, outer, iterations = Signal(14), Signal(14), Signal(14)
        # Whether a count is at its end is worked out as it is counted: acceptance, and much behind it, hangs on the last one.
        alone, uop_ends, uop_alone, inner_ends, inner_alone, outer_ends = (Signal() for _ in range(6))
        with m.If(loads):
            m.d.sync += [
                alone.eq(single),
                *(signal.eq(given.uop_bgn) for signal in (uop, first)),
                end.eq(given.uop_end),
                outer.eq(given.iter_out),
                *(signal.eq(given.iter_in) for signal in (inner, iterations)),
                *(signal.eq(given.uop_bgn + 1 == given.uop_end) for signal in (uop_ends, uop_alone)),
                *(signal.eq(given.iter_in == 1) for signal in (inner_ends, inner_alone)),
                outer_ends.eq(given.iter_out == 1),
            ]
        with m.Elif(~self._held) if self._requantizes else m.Else():
            m.d.sync += [uop.eq(Mux(uop_ends, first, uop + 1)), uop_ends.eq(Mux(uop_ends, uop_alone, uop + 2 == end))]
            with m.If(uop_ends):
                m.d.sync += [
                    inner.eq(Mux(inner_ends, iterations, inner - 1)),
                    inner_ends.eq(Mux(inner_ends, inner_alone, inner == 2)),
                ]
            with m.If(uop_ends & inner_ends):
                m.d.sync += [outer.eq(outer - 1), outer_ends.eq(outer == 2)]
        m.d.comb += row.eq(uop)
        self._offsets(m, loads, uop_ends, inner_ends)
        if not self._requantizes:
            return alone | (uop_ends & inner_ends & outer_ends)
        m.d.comb += self._finishing.eq(uop_ends)
        self._extra_slots(m, loads, uop_ends & inner_ends, outer_ends)
        kept = self._keeps & (self._before == 1)
        return alone | kept | Mux(self._control.requantize, self._after == 1, uop_ends & inner_ends & outer_ends)

    def _extra_slots(self, m: Module, loads: Value, rows_end: Value, outer_ends: Value) -> None:
        """Count the slots of a REQUANTIZE that have no row."""
        with m.If(loads):
            m.d.sync += [self._before.eq(Mux(self._starts_requantize(), len(PARAMETERS), 0)), self._after.eq(0)]
        with m.Elif(self._before != 0):
            m.d.sync += self._before.eq(self._before - 1)
        with m.Elif(self._after != 0):
            m.d.sync += self._after.eq(self._after - 1)
        with m.Elif(self._control.requantize & rows_end):
            with m.If(outer_ends):
                m.d.sync += self._after.eq(Mux(self._control.wide, _WIDE_DRAIN, _NARROW_DRAIN))
            with m.Elif(~self._control.gemm):
                m.d.sync += self._before.eq(len(PARAMETERS))

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
            with m.Elif(uop_ends & ~self._held if self._requantizes else uop_ends):
                following = (outer[name] + by_outer[name])[: len(row[name])]
                m.d.sync += row[name].eq(Mux(inner_ends, following, row[name] + by_inner[name]))
                with m.If(inner_ends):
                    m.d.sync += outer[name].eq(following)
            if self._requantizes and name == "src":
                with m.Elif(self._before != 0):
                    m.d.sync += row.src.eq(row.src + by_inner.src)
        m.d.comb += self.issued.payload.offset.eq(row)
