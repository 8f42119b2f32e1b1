"""The compute unit: micro-ops through its stages, and the loads of its own memories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases, Moved, UnitStatus
from vta.hardware.control.tokens import GIVEN_TOKENS, TAKEN_TOKENS
from vta.hardware.core.acc_loader import AccLoader, acc_loaded, widened
from vta.hardware.core.accumulator import Accumulator
from vta.hardware.core.alu import AluLane
from vta.hardware.core.gemm import GemmCore
from vta.hardware.core.micro_op import control_layout, rows_layout
from vta.hardware.core.requantizer import RequantizingLane
from vta.hardware.core.sequencer import Sequencer
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.hardware.memories.banks import write_row
from vta.hardware.memories.buffers import buffer_of, row_read_of, window_read_of, writes_of
from vta.hardware.ports.read_port import ReadClient
from vta.hardware.transfers.writer import elements_of, write_load
from vta.isa import Opcode

__all__ = ["ComputeUnit"]

_LAST_STAGE, _LAST_STAGE_THAT_REQUANTIZES = 6, 12
"""In which an instruction completes, by the timing contract. Results are written in the two after it, which shows nowhere."""
_READS, _EXECUTES = 5, 7
"""The stages that have the rows of the accumulator which they want, and the operands."""
_ENTRY_OF_ZERO = 128
_EVENTS = ("acc_writes", "gemm_uops", "reset_uops", "alu_uops")


class ComputeUnit(Component):
    """Executes GEMM, ALU, FINISH and the LOADs of micro-ops and accumulators, in order.

    Reads the memories `inp` and `wgt`, and writes `out`. Tokens come `from_load` and `from_store`, and go `to_load` and
    `to_store`. `finished` is 1 as FINISH completes, `bad_opcode` and `bad_memory` as it accepts what it does not know.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._loaded = acc_loaded(geometry)
        self._loader = AccLoader(geometry)
        self._sequencer = Sequencer(geometry)
        self._uops = buffer_of(geometry, MemoryType.UOP, rows=1)
        self._acc = Accumulator(geometry)
        self._requantizes = bool(geometry.hw.requantize_unit)
        self._lanes: list[AluLane | RequantizingLane] = []
        self._last_stage = _LAST_STAGE_THAT_REQUANTIZES if self._requantizes else _LAST_STAGE
        self._loaded_beside = {MemoryType.UOP: self._uops}
        if geometry.hw.table_unit:
            self._loaded_beside[MemoryType.TABLE] = buffer_of(
                geometry, MemoryType.TABLE, rows=geometry.hw.batch * geometry.hw.block
            )
        self._controls = [Signal(control_layout(geometry), name=f"control_{stage}") for stage in range(self._last_stage + 2)]
        self._rows = [Signal(rows_layout(geometry), name=f"rows_{stage}") for stage in range(self._last_stage + 2)]
        super().__init__(
            {
                "instructions": In(stream.Signature(INSTRUCTION_BITS)),
                "from_load": In(TAKEN_TOKENS),
                "from_store": In(TAKEN_TOKENS),
                "to_load": Out(GIVEN_TOKENS),
                "to_store": Out(GIVEN_TOKENS),
                "bases": In(Bases()),
                "reads": Out(ReadClient(geometry)),
                "inp": Out((window_read_of if geometry.hw.depthwise_unit else row_read_of)(geometry, MemoryType.INP)),
                "wgt": Out(row_read_of(geometry, MemoryType.WGT)),
                "out": Out(writes_of(geometry, MemoryType.OUT)),
                "finished": Out(1),
                "bad_opcode": Out(1),
                "bad_memory": Out(1),
                "moved": Out(Moved(self._loaded)),
                "events": Out(Signature({name: Out(1) for name in _EVENTS})),
                "status": Out(UnitStatus()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build acceptance, the pipeline, its result, and the writes of the loader."""
        m = Module()
        m.submodules.sequencer = self._sequencer
        m.submodules.loader = self._loader
        m.submodules.uop_memory = self._uops
        m.submodules.accumulator = self._acc
        if self._geometry.hw.table_unit:
            m.submodules.table_memory = self._loaded_beside[MemoryType.TABLE]
        connect(m, flipped(self.bases), self._loader.bases)
        connect(m, flipped(self.reads), self._loader.reads)
        connect(m, self._loader.progress.moved, flipped(self.moved))
        self._accept(m)
        self._pipeline(m)
        self._write(m, self._result(m))
        self._complete(m)
        self._report(m)
        return m

    def _accept(self, m: Module) -> None:
        """Take the head instruction when there is nothing to issue."""
        given, sequencer, loader, state = self.instructions, self._sequencer, self._loader, self.status.state
        instruction = self._geometry.instruction(given.payload).load
        is_load = instruction.opcode == int(Opcode.LOAD)
        accept, loading, free, tokens = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~loading | loader.progress.complete),
            tokens.eq((self.from_load.valid | ~instruction.pop_prev) & (self.from_store.valid | ~instruction.pop_next)),
            accept.eq(sequencer.instructions.valid & sequencer.instructions.ready),
            given.ready.eq(accept),
            self.from_load.ready.eq(accept & instruction.pop_prev),
            self.from_store.ready.eq(accept & instruction.pop_next),
            sequencer.instructions.valid.eq(given.valid & tokens & free),
            sequencer.instructions.payload.eq(given.payload),
            sequencer.fence.eq(is_load & loader.moves),
            loader.instruction.eq(given.payload),
            loader.start.eq(accept & sequencer.fence),
            self.bad_opcode.eq(accept & sequencer.unknown),
            self.bad_memory.eq(accept & is_load & ~loader.known & (instruction.x_size != 0)),
            state.busy.eq((sequencer.issued.valid & ~sequencer.issued.payload.control.fence) | loader.progress.worked),
            state.memory.eq(loading),
            state.token.eq(sequencer.instructions.ready & free & given.valid & ~tokens),
        ]
        with m.If(loader.start):
            m.d.sync += loading.eq(1)
        with m.Elif(loader.progress.complete):
            m.d.sync += loading.eq(0)

    def _pipeline(self, m: Module) -> None:
        """Move micro-ops from stage to stage; the memories are read in S0 (micro-op), S2 (input, weight) and S5 (accumulator)."""
        issued, (uop,) = self._sequencer.issued, self._uops.rows
        m.d.comb += [
            self._controls[0].eq(Mux(issued.valid, issued.payload.control.as_value(), 0)),
            self._rows[0].eq(issued.payload.offset),
            uop.row.eq(issued.payload.row),
            self.inp.row.eq(self._rows[2].src),
            self.wgt.row.eq(self._rows[2].wgt),
            self._acc.dst.eq(self._rows[_READS].dst),
            self._acc.src.eq(self._src_row()),
            self._loader.pipeline_empty.eq(self._controls[self._last_stage - 1].fence),
        ]
        for stage in range(1, len(self._controls)):
            m.d.sync += self._controls[stage].eq(self._controls[stage - 1])
            if stage != 2:
                m.d.sync += self._rows[stage].eq(self._rows[stage - 1])
        fields = self._geometry.element(MemoryType.UOP, uop.data)
        for name in ("dst", "src", "wgt"):
            m.d.sync += self._rows[2][name].eq(self._rows[1][name] + fields[name])

    def _result(self, m: Module) -> Value:
        """Return the accumulator row that the micro-op in S7 writes."""
        control, hw = self._controls[_EXECUTES], self._geometry.hw
        self._replace_right(m)
        left, right = (self._geometry.element(MemoryType.ACC, operand) for operand in (self._acc.left, self._acc.right))
        results = []
        for index in range(hw.batch * hw.block):
            m.submodules[f"alu_{index}"] = lane = self._lane()
            result = Signal(hw.acc_bits, name=f"result_{index}")
            cleared = control.gemm & control.reset
            if isinstance(lane, RequantizingLane):
                m.d.comb += self._requantize(lane)
                cleared = cleared | control.requantize
            m.d.comb += [
                *(lane.opcode.eq(control.alu_opcode), lane.cleared.eq(cleared), result.eq(lane.result)),
                *(lane.left.eq(left[index]), lane.right.eq(right[index])),
            ]
            self._lanes.append(lane)
            results.append(result)
        return Cat(*results)

    def _replace_right(self, m: Module) -> None:
        """Compute in S3 to S6 what GEMM adds, and let it, or an immediate, be the right operand in S7."""
        control = self._controls[_EXECUTES - 1]
        m.submodules.gemm = gemm = GemmCore(self._geometry)
        multiplies = [c.writes & c.gemm & ~c.reset for c in self._controls]
        if self._geometry.hw.depthwise_unit:
            m.d.comb += [self.inp.enable.eq(1), gemm.depthwise.eq(self._controls[4].depthwise)]
            m.d.comb += [tap.eq(lane) for tap, lane in zip(gemm.taps, self.inp.lanes, strict=False)]
        inp = self.inp.lanes[0] if self._geometry.hw.depthwise_unit else self.inp.data
        m.d.comb += [gemm.inp.eq(inp), gemm.wgt.eq(self.wgt.data), gemm.enable.eq(Cat(*multiplies[3:6]))]
        imm: Value = control.imm
        replaces: Value = control.gemm | control.use_imm
        if self._requantizes:
            # What is requantized is a sum: that of a row alone has a zero on the right.
            imm = Mux(control.requantize, 0, control.imm)
            alone = control.writes & ~control.wide if self._wide_right else control.writes
            replaces = control.gemm | Mux(control.requantize, alone, control.use_imm)
        operands = [Mux(control.gemm, total, imm) for total in gemm.sums]
        m.d.comb += [
            self._acc.replaces.eq(replaces),
            self._acc.other.eq(widened(operands, self._geometry.hw.acc_bits)),
        ]

    @property
    def _wide_right(self) -> bool:
        """Whether the row of a wide result is the right operand: a coded memory reads for the left one what it writes.

        Wide results are written late, while rows that follow are read.
        """
        return self._requantizes and self._geometry.fabric.accumulator_banks > 0

    def _src_row(self) -> Value:
        """Return the row that the second read of the accumulator wants."""
        control, rows = self._controls[_READS], self._rows[_READS]
        return Mux(control.wide & control.writes, rows.dst, rows.src) if self._wide_right else rows.src

    def _lane(self) -> AluLane | RequantizingLane:
        if self._requantizes:
            return RequantizingLane(dsp48=self._geometry.fabric.dsp48)
        return AluLane(bits=self._geometry.hw.acc_bits, split=self._geometry.fabric.split_products)

    def _requantize(self, lane: RequantizingLane) -> list[Any]:
        """Return the statements that feed what `lane` requantizes with."""
        now, following, before_last = (self._controls[stage] for stage in (_EXECUTES, _EXECUTES + 1, -2))
        return [
            lane.scales.eq(following.requantize & following.writes),
            lane.requantize.eq(now.requantize & now.writes),
            lane.wide_scale.eq(now.wide),
            lane.is_bias.eq(now.bias),
            lane.is_multiplier.eq(now.multiplier),
            lane.is_scale.eq(now.scale),
            lane.right_alone.eq(now.wide & now.writes if self._wide_right else 0),
            lane.requantizes.eq(before_last.requantize),
            lane.keeps_wide.eq(before_last.wide & before_last.writes),
        ]

    def _write(self, m: Module, result: Value) -> None:
        """Write the accumulator and the output from the last stage, and what the loader has: never both in one cycle."""
        hw, last, loads = self._geometry.hw, self._controls[-1], self._loader.writes
        before_last = self._rows[-2].dst
        m.d.comb += [
            self._acc.writes.eq(self._writes_acc()),
            self._acc.row.eq(Mux(self._late_write(), before_last, self._rows[_EXECUTES - 1].dst)),
            self._acc.result.eq(result),
        ]
        connect(m, loads, self._acc.load)
        for kind, memory in enumerate(self._loaded):
            if memory in self._loaded_beside:
                elements = elements_of(self._geometry, memory, loads.window)
                write_load(m, load=loads, kind=kind, elements=elements, to=self._loaded_beside[memory].writes)
        narrowed = Cat(result.word_select(lane, hw.acc_bits)[:8] for lane in range(hw.batch * hw.block))
        written, row, data = Signal(), Signal.like(before_last), Signal.like(narrowed)
        m.d.sync += [
            written.eq(last.writes & ~(last.gemm & last.reset)),
            row.eq(self._rows[-1].dst),
            data.eq(self._out_row(m, narrowed) if self._requantizes else narrowed),
        ]
        m.d.comb += write_row(self.out, enable=written, row=row, data=data)

    def _late_write(self) -> Value:
        """Whether the last stage is to write the accumulator in the next cycle: a wide row of REQUANTIZE."""
        before_last = self._controls[-2]
        return before_last.writes & before_last.wide if self._requantizes else Const(0)

    def _writes_acc(self) -> Value:
        """Whether a micro-op is to write the accumulator in the next cycle."""
        control = self._controls[_EXECUTES - 1]
        return (control.writes & ~control.wide) | self._late_write() if self._requantizes else control.writes

    def _out_row(self, m: Module, narrowed: Value) -> Value:
        """Return the output row of the micro-op in the last stage, of which S7 has the low bits of its result as `narrowed`."""
        lanes = [lane for lane in self._lanes if isinstance(lane, RequantizingLane)]
        row = narrowed
        for stage in range(_EXECUTES + 1, len(self._controls)):
            if stage == len(self._controls) - 1:
                m.d.comb += Cat(lane.passed for lane in lanes).eq(row)
                row = Cat(lane.narrow for lane in lanes)
            following = Signal(len(narrowed), name=f"narrow_{stage}")
            m.d.sync += following.eq(row)
            row = following
        return self._looked_up(m, lanes, row) if self._geometry.hw.table_unit else row

    def _looked_up(self, m: Module, lanes: Sequence[RequantizingLane], row: Value) -> Value:
        """Return the output `row` of the last stage, or what the table has for what the lanes had in the stage before."""
        last, entries = self._controls[-1], []
        for lane, read in zip(lanes, self._loaded_beside[MemoryType.TABLE].rows, strict=True):
            place, part = lane.narrow ^ _ENTRY_OF_ZERO, Signal(2)
            m.d.comb += read.row.eq(place[len(part) :])
            m.d.sync += part.eq(place)
            entries.append(read.data.word_select(part, 8))
        return Mux(last.table, Cat(entries), row)

    def _complete(self, m: Module) -> None:
        """Give the tokens of what completes, in the pipeline or in the loader."""
        last, load = self._controls[self._last_stage], self._loader.progress
        in_pipeline = Cat(control.last for control in self._controls).any()
        m.d.comb += [
            self.to_load.valid.eq((last.last & last.push_prev) | (load.complete & load.push_prev)),
            self.to_store.valid.eq((last.last & last.push_next) | (load.complete & load.push_next)),
            self.finished.eq(last.last & last.finish),
            self.status.completed.eq(last.last | load.complete),
            self.status.drained.eq(~self.instructions.valid & ~self._sequencer.issued.valid & ~load.active & ~in_pipeline),
        ]

    def _report(self, m: Module) -> None:
        """Say what is to be counted."""
        events, issued, load = self.events, self._sequencer.issued, self._loader.writes
        beside = [load.kind != kind for kind, memory in enumerate(self._loaded) if memory in self._loaded_beside]
        control = issued.payload.control
        writes = issued.valid & control.writes
        m.d.comb += [
            events.acc_writes.eq(self._writes_acc() | (load.valid & reduce(and_, beside))),
            events.gemm_uops.eq(writes & control.gemm & ~control.reset),
            events.reset_uops.eq(writes & control.gemm & control.reset),
            events.alu_uops.eq(writes & ~control.gemm),
        ]
