"""The control unit: registers, launch, end of run, errors and the interrupt."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value

from vta.hardware.geometry import ADDRESS_BITS
from vta.hardware.ports.axil import AxiLiteSlave
from vta.hardware.registers import REGISTERS, Access, ControlBit, ErrorBit, InterruptBit

__all__ = ["BASES", "ControlUnit"]

BASES = ("instruction_base", "uop_base", "inp_base", "wgt_base", "acc_base", "out_base")


class ControlUnit(Elaboratable):
    """Starts a run with `start`, in its first cycle; `counting` from then until `finished`; `clear` is 1 in the cycle before.

    The run is done when the units are `drained`; that FINISH has not completed then is an error. `errors` are bits of `ErrorBit`
    that other modules report as they happen.
    `readings` are the values of the registers that other modules hold; `written` tells which of them the host writes.
    """

    def __init__(self, readings: Mapping[str, Value]) -> None:
        self._readings = dict(readings)
        self.slave = AxiLiteSlave()
        self.interrupt = Signal()
        self.clear = Signal()
        self.start = Signal()
        self.counting = Signal()
        self.finished = Signal()
        self.drained = Signal()
        self.errors = Signal(len(ErrorBit))
        self.instruction_count = Signal(32)
        self.bases = {name: Signal(ADDRESS_BITS, name=name) for name in BASES}
        self.written = {name: Signal(name=f"write_{name}") for name in self._readings if REGISTERS[name].access is Access.WRITE}
        self.write_data = Signal(32)

    def elaborate(self, platform: object) -> Module:
        """Build the run state and the registers."""
        m = Module()
        m.submodules.slave = self.slave
        running, finish_seen, done = Signal(), Signal(), Signal()
        error_bits, enable, status = Signal(len(ErrorBit)), Signal(len(InterruptBit)), Signal(len(InterruptBit))
        ends = running & self.drained
        errors = self.errors | Mux(ends & ~finish_seen, 1 << ErrorBit.MISSING_FINISH, 0)
        m.d.comb += [
            self.clear.eq(self._writes("control") & self.slave.write_data[ControlBit.LAUNCH] & ~running),
            self.interrupt.eq((status & enable).any()),
            self.write_data.eq(self.slave.write_data),
        ]
        m.d.sync += self.start.eq(self.clear)
        with m.If(self.clear):
            m.d.sync += [running.eq(1), self.counting.eq(1), finish_seen.eq(0), done.eq(0)]
        with m.Else():
            with m.If(self.finished):
                m.d.sync += [self.counting.eq(0), finish_seen.eq(1)]
            with m.If(ends):
                m.d.sync += [running.eq(0), self.counting.eq(0), done.eq(1)]
        m.d.sync += [
            error_bits.eq((error_bits & ~self._cleared("errors")) | errors),
            status.eq((status & ~self._cleared("interrupt_status")) | Cat(ends, errors.any())),
        ]
        self._hold(m, {"instruction_count": self.instruction_count, "interrupt_enable": enable, **self.bases})
        own = {
            "control": Cat(running, done),
            "instruction_count": self.instruction_count,
            "errors": error_bits,
            "interrupt_enable": enable,
            "interrupt_status": status,
            **self.bases,
        }
        self._read(m, {**own, **self._readings})
        for name, strobe in self.written.items():
            m.d.comb += strobe.eq(self._writes(name) & ~running)
        return m

    def _hold(self, m: Module, registers: Mapping[str, Signal]) -> None:
        """Let the host write plain registers."""
        slave = self.slave
        for name, register in registers.items():
            with m.If(self._writes(name)):
                m.d.sync += register.eq((register & ~slave.write_mask) | (slave.write_data & slave.write_mask))

    def _read(self, m: Module, values: Mapping[str, Value]) -> None:
        """Answer reads; what is not in the map reads as 0."""
        with m.Switch(self.slave.read_index):
            for name, value in values.items():
                with m.Case(REGISTERS[name].offset // 4):
                    m.d.comb += self.slave.read_data.eq(value)

    def _writes(self, name: str) -> Value:
        return self.slave.write & (self.slave.write_index == REGISTERS[name].offset // 4)

    def _cleared(self, name: str) -> Value:
        slave = self.slave
        return slave.write_data & slave.write_mask & self._writes(name).replicate(32)
