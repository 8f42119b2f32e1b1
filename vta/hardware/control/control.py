"""The control unit: registers, launch, end of run, errors and the interrupt."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from vta.hardware.control.counters import Counts
from vta.hardware.control.interfaces import Bases
from vta.hardware.control.tokens import TokenRegister
from vta.hardware.ports.axil import AxiLite, AxiLiteSlave
from vta.hardware.registers import QUEUES, REGISTERS, ControlBit, ErrorBit, InterruptBit

__all__ = ["ControlUnit"]

_REPORTED = StructLayout({bit.name.lower(): 1 for bit in ErrorBit if bit is not ErrorBit.MISSING_FINISH})
"""The errors that other modules report."""


class ControlUnit(Component):
    """Starts a run with `start`, in its first cycle; `counting` from then until `finished`; `clear` is 1 in the cycle before.

    The run is done when the units are `drained`; that FINISH has not completed then is an error. `errors` are those that
    other modules report as they happen. The registers `counts` and `tokens` are theirs; `constants` are always the same.
    """

    def __init__(self, *, token_limit: int, constants: Mapping[str, int]) -> None:
        self._constants = dict(constants)
        self._slave = AxiLiteSlave()
        super().__init__(
            {
                "bus": In(AxiLite()),
                "interrupt": Out(1),
                "clear": Out(1),
                "start": Out(1),
                "counting": Out(1),
                "finished": In(1),
                "drained": In(1),
                "errors": In(_REPORTED),
                "instruction_count": Out(32),
                "bases": Out(Bases()),
                "counts": In(Counts()),
                "tokens": Out(Signature({queue: Out(TokenRegister(token_limit)) for queue in QUEUES})),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the run state and the registers."""
        m = Module()
        m.submodules.slave = self._slave
        connect(m, flipped(self.bus), self._slave.bus)
        running, finish_seen, done = Signal(), Signal(), Signal()
        error_bits, enable, status = Signal(len(ErrorBit)), Signal(len(InterruptBit)), Signal(len(InterruptBit))
        ends = running & self.drained
        errors = self.errors.as_value() | Mux(ends & ~finish_seen, 1 << ErrorBit.MISSING_FINISH, 0)
        m.d.comb += [
            self.clear.eq(self._writes("control") & self._slave.write_data[ControlBit.LAUNCH] & ~running),
            self.interrupt.eq((status & enable).any()),
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
        held = {"instruction_count": self.instruction_count, "interrupt_enable": enable}
        held |= {f"{name}_base": getattr(self.bases, name) for name in self.bases.signature.members}
        own = {"control": Cat(running, done), "errors": error_bits, "interrupt_status": status}
        self._hold(m, held)
        self._set_tokens(m, running)
        self._read(m, {**own, **held, **self._of_others()})
        return m

    def _hold(self, m: Module, registers: Mapping[str, Signal]) -> None:
        """Let the host write plain registers."""
        slave = self._slave
        for name, register in registers.items():
            with m.If(self._writes(name)):
                m.d.sync += register.eq((register & ~slave.write_mask) | (slave.write_data & slave.write_mask))

    def _set_tokens(self, m: Module, running: Value) -> None:
        """Let the host set tokens between runs."""
        for queue in QUEUES:
            register = getattr(self.tokens, queue)
            m.d.comb += [
                register.set.eq(self._writes(f"tokens_{queue}") & ~running),
                register.value.eq(self._slave.write_data),
            ]

    def _of_others(self) -> dict[str, Value]:
        """The registers that are not held here, by name."""
        tokens = {f"tokens_{queue}": getattr(self.tokens, queue).count for queue in QUEUES}
        counts = {name: getattr(self.counts, name) for name in self.counts.signature.members}
        return {**tokens, **counts, **{name: Const(value, 32) for name, value in self._constants.items()}}

    def _read(self, m: Module, values: Mapping[str, Value]) -> None:
        """Answer reads; what is not in the map reads as 0."""
        with m.Switch(self._slave.read_index):
            for name, value in values.items():
                with m.Case(REGISTERS[name].offset // 4):
                    m.d.comb += self._slave.read_data.eq(value)

    def _writes(self, name: str) -> Value:
        return self._slave.write & (self._slave.write_index == REGISTERS[name].offset // 4)

    def _cleared(self, name: str) -> Value:
        slave = self._slave
        return slave.write_data & slave.write_mask & self._writes(name).replicate(32)
