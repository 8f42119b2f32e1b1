"""The compute unit: micro-ops through seven stages, and the loads of its own memories."""

from __future__ import annotations

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.core.acc_loader import ACC_LOADED, AccLoader, widened
from vta.hardware.core.alu import AluLane
from vta.hardware.core.gemm import GemmCore
from vta.hardware.core.micro_op import control_layout, rows_layout
from vta.hardware.core.sequencer import Sequencer
from vta.hardware.core.unit import UnitPort
from vta.hardware.geometry import Geometry
from vta.hardware.memories.banks import BankedMemory, RowRead
from vta.isa import Opcode

__all__ = ["ComputeUnit"]

_STAGES = 7


class ComputeUnit(Elaboratable):
    """Executes GEMM, ALU, FINISH and the LOADs of micro-ops and accumulators, in order.

    Reads rows through `inp` and `wgt`; in a cycle with `out_write`, the output row `out_row` is `out_data`. Tokens: `pop_prev`
    and `push_prev` are those of load, `pop_next` and `push_next` those of store. `finished` is 1 as FINISH completes.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        hw = geometry.hw
        self.port = UnitPort()
        self.prev_ready, self.next_ready = Signal(), Signal()
        self.pop_prev, self.pop_next, self.push_prev, self.push_next = (
            Signal(name=name) for name in ("pop_prev", "pop_next", "push_prev", "push_next")
        )
        self.finished = Signal()
        self.inp = RowRead(geometry.elem_bits(MemoryType.INP), geometry.row_bits(MemoryType.INP))
        self.wgt = RowRead(geometry.elem_bits(MemoryType.WGT), geometry.row_bits(MemoryType.WGT))
        self.out_write = Signal()
        self.out_row = Signal(geometry.row_bits(MemoryType.OUT))
        self.out_data = Signal(geometry.elem_bits(MemoryType.OUT))
        self.loader = AccLoader(geometry)
        self.sequencer = Sequencer(geometry)
        self.acc_written = Signal()
        self.bad_opcode, self.bad_memory = Signal(), Signal()
        self._controls = [Signal(control_layout(), name=f"control_{stage}") for stage in range(_STAGES)]
        self._rows = [Signal(rows_layout(geometry), name=f"rows_{stage}") for stage in range(_STAGES)]
        acc_bits, acc_rows = geometry.elem_bits(MemoryType.ACC), geometry.row_bits(MemoryType.ACC)
        self._uop_read = RowRead(32, geometry.row_bits(MemoryType.UOP))
        self._dst_read, self._src_read = RowRead(acc_bits, acc_rows), RowRead(acc_bits, acc_rows)
        self._uops = BankedMemory(32, geometry.row_bits(MemoryType.UOP), geometry.lanes(MemoryType.UOP), [self._uop_read])
        banks = geometry.lanes(MemoryType.ACC_8BIT)
        self._acc = BankedMemory(acc_bits, acc_rows, banks, [self._dst_read, self._src_read], forwards=True)
        self._lanes = hw.batch * hw.block

    def elaborate(self, platform: object) -> Module:
        """Build acceptance, the pipeline, its result, and the writes of the loader."""
        m = Module()
        m.submodules.sequencer = self.sequencer
        m.submodules.loader = self.loader
        m.submodules.uop_memory = self._uops
        m.submodules.acc_memory = self._acc
        self._accept(m)
        self._pipeline(m)
        result = self._result(m)
        self._write(m, result)
        self._report(m)
        return m

    def _accept(self, m: Module) -> None:
        """Take the head instruction when there is nothing to issue."""
        port, sequencer, loader = self.port, self.sequencer, self.loader
        is_load = self._field("opcode") == int(Opcode.LOAD)
        loading, is_open, tokens = Signal(), Signal(), Signal()
        pops = [self._field(name) for name in ("pop_prev", "pop_next")]
        m.d.comb += [
            is_open.eq(((~sequencer.valid | sequencer.last) & ~loading) | loader.writer.complete),
            tokens.eq((self.prev_ready | ~pops[0]) & (self.next_ready | ~pops[1])),
            port.accept.eq(is_open & port.valid & tokens),
            self.pop_prev.eq(port.accept & pops[0]),
            self.pop_next.eq(port.accept & pops[1]),
            sequencer.start.eq(port.accept),
            sequencer.instruction.eq(port.instruction),
            sequencer.load.eq(is_load & loader.moves),
            loader.instruction.eq(port.instruction),
            loader.start.eq(port.accept & sequencer.load),
            self.bad_opcode.eq(port.accept & sequencer.unknown),
            self.bad_memory.eq(port.accept & is_load & ~loader.known & (self._load_size() != 0)),
            port.state.busy.eq((sequencer.valid & ~sequencer.control.fence) | loader.writer.worked),
            port.state.memory.eq(loading),
            port.state.token.eq(is_open & port.valid & ~tokens),
        ]
        with m.If(loader.start):
            m.d.sync += loading.eq(1)
        with m.Elif(loader.writer.complete):
            m.d.sync += loading.eq(0)

    def _pipeline(self, m: Module) -> None:
        """Move micro-ops from stage to stage; the memories are read in S0 (micro-op), S2 (input, weight) and S5 (accumulator)."""
        sequencer = self.sequencer
        m.d.comb += [
            self._controls[0].eq(Mux(sequencer.valid, sequencer.control.as_value(), 0)),
            self._rows[0].eq(sequencer.offset),
            self._uop_read.row.eq(sequencer.uop_row),
            self.inp.row.eq(self._rows[2].src),
            self.wgt.row.eq(self._rows[2].wgt),
            self._dst_read.row.eq(self._rows[5].dst),
            self._src_read.row.eq(self._rows[5].src),
            self.loader.pipeline_empty.eq(self._controls[5].fence),
        ]
        for stage in range(1, _STAGES):
            m.d.sync += self._controls[stage].eq(self._controls[stage - 1])
            if stage != 2:
                m.d.sync += self._rows[stage].eq(self._rows[stage - 1])
        for name in ("dst", "src", "wgt"):
            row = self._rows[1][name] + self._geometry.uop_field(name, self._uop_read.data)
            m.d.sync += self._rows[2][name].eq(row)

    def _result(self, m: Module) -> Value:
        """Return the accumulator row that the micro-op in S6 writes."""
        bits = self._geometry.hw.acc_bits
        control = self._controls[6]
        m.submodules.gemm = gemm = GemmCore(self._geometry)
        multiplies = [c.writes & c.gemm & ~c.reset for c in self._controls]
        m.d.comb += [gemm.inp.eq(self.inp.data), gemm.wgt.eq(self.wgt.data), gemm.enable.eq(Cat(*multiplies[3:6]))]
        results = []
        for index in range(self._lanes):
            left = self._dst_read.data.word_select(index, bits)
            lane, result = AluLane(bits), Signal(bits, name=f"result_{index}")
            m.submodules[f"alu_{index}"] = lane
            m.d.comb += [
                lane.opcode.eq(control.alu_opcode),
                lane.left.eq(left),
                lane.right.eq(
                    Mux(control.use_imm, control.imm.as_signed(), self._src_read.data.word_select(index, bits).as_signed())
                ),
                result.eq(Mux(control.gemm, Mux(control.reset, 0, left + gemm.sums[index]), lane.result)),
            ]
            results.append(result)
        return Cat(*results)

    def _write(self, m: Module, result: Value) -> None:
        """Write the accumulator and the output from S6, or the memories from the loader: never both in one cycle."""
        hw, control, writer = self._geometry.hw, self._controls[6], self.loader.writer
        row = self._rows[6].dst
        m.d.comb += [
            self.out_write.eq(control.writes & ~(control.gemm & control.reset)),
            self.out_row.eq(row),
            self.out_data.eq(Cat(result.word_select(lane, hw.acc_bits)[:8] for lane in range(self._lanes))),
            self.acc_written.eq(control.writes | (writer.write & (writer.kind != ACC_LOADED.index(MemoryType.UOP)))),
        ]
        m.d.comb += self._acc.write.row(control.writes, row, result)
        place = (writer.row, writer.first_lane, writer.count)
        with m.If(writer.write):
            for kind, memory in enumerate(ACC_LOADED):
                lanes = writer.lanes(memory)
                if memory is MemoryType.ACC_8BIT:
                    lanes = [widened(lane, hw.acc_bits) for lane in lanes]
                port = self._uops.write if memory is MemoryType.UOP else self._acc.write
                with m.If(writer.kind == kind):
                    m.d.comb += port.rows(place[0], lanes, place[1], place[2])

    def _report(self, m: Module) -> None:
        control, writer = self._controls[6], self.loader.writer
        completed = control.last | writer.complete
        m.d.comb += [
            self.push_prev.eq((control.last & control.push_prev) | (writer.complete & writer.push_prev)),
            self.push_next.eq((control.last & control.push_next) | (writer.complete & writer.push_next)),
            self.finished.eq(control.last & control.finish),
            self.port.completed.eq(completed),
            self.port.drained.eq(~self.port.valid & ~self.sequencer.valid & ~writer.active & ~self._in_pipeline()),
        ]

    def _in_pipeline(self) -> Value:
        return Cat(control.last for control in self._controls).any()

    def _load_size(self) -> Value:
        return self._geometry.field(Opcode.LOAD, "x_size", self.port.instruction)

    def _field(self, name: str) -> Value:
        return self._geometry.field(Opcode.GEMM, name, self.port.instruction)
