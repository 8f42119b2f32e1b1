"""Runs of our own core, seen through its registers: the same for a board and for its Verilator simulation."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.devices.device import Counters, RunOptions, RunResult, Tokens, UnitCycles
from vta.devices.engine.halt import halt_text
from vta.devices.static_counters import count_instructions, count_operators
from vta.errors import DeviceError
from vta.hardware.registers import QUEUES, REGISTERS, ControlBit, ErrorBit, InterruptBit
from vta.isa.encoding import decode
from vta.isa.instruction import Unit

__all__ = ["UNITS", "CoreControl", "Registers", "counted_operators"]

UNITS = ("load", "compute", "store", "fetch")
_STATES = ("busy", "token", "memory", "idle")
_COUNTED = (
    *("load_instructions", "compute_instructions", "store_instructions"),
    *("gemm_uops", "reset_uops", "alu_uops"),
    *("uop_bytes", "inp_bytes", "wgt_bytes", "acc_bytes", "out_bytes"),
)
_BASES = ("uop_base", "inp_base", "wgt_base", "acc_base", "out_base")


class Registers(Protocol):
    """A block of 32-bit registers."""

    def read(self, offset: int) -> int:
        """The register at a byte offset."""

    def write(self, offset: int, value: int) -> None:
        """Set the register at a byte offset."""


class CoreControl:
    """The core behind `registers`."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers

    def get(self, name: str) -> int:
        """Read a register by its name."""
        return self._registers.read(REGISTERS[name].offset)

    def set(self, name: str, value: int) -> None:
        """Write a register by its name."""
        self._registers.write(REGISTERS[name].offset, value)

    @property
    def running(self) -> bool:
        """Whether a run is going on."""
        return bool(self.get("control") >> ControlBit.LAUNCH & 1)

    @property
    def done(self) -> bool:
        """Whether the last run is complete and all units rest."""
        return bool(self.get("control") >> ControlBit.DONE & 1)

    def prepare(self, address: int, count: int, tokens: Tokens | None, interrupts: bool = True) -> None:
        """Set up a run of `count` instructions at byte `address`; None leaves the tokens as they are."""
        if tokens is not None:
            for queue in QUEUES:
                self.set(f"tokens_{queue}", getattr(tokens, queue))
        both = 1 << InterruptBit.DONE | 1 << InterruptBit.ERROR
        self.set("errors", (1 << len(ErrorBit)) - 1)
        self.set("interrupt_status", both)
        self.set("interrupt_enable", both if interrupts else 0)
        for name in _BASES:
            self.set(name, 0)
        self.set("instruction_count", count)
        self.set("instruction_base", address)

    def launch(self) -> None:
        """Start the run that was set up."""
        self.set("control", 1 << ControlBit.LAUNCH)

    def tokens(self) -> Tokens:
        """The tokens in the queues."""
        return Tokens(*(self.get(f"tokens_{queue}") for queue in QUEUES))

    def check_errors(self) -> None:
        """Raise `DeviceError` naming the bits that the last run set in the register of errors."""
        errors = self.get("errors")
        if errors:
            names = ", ".join(bit.name.lower() for bit in ErrorBit if errors >> bit & 1)
            raise DeviceError(f"the core reports {names or f'errors = {errors:#x}'}")

    def progress(self) -> tuple[int, ...]:
        """Numbers of which one changes while a unit works."""
        return tuple(self.get(f"{unit}_busy") for unit in UNITS)

    def halted(self, code: NDArray[np.uint8], hw: HardwareConfig, first: int) -> str:
        """Where the units stand in `code`, shape (n, 16), whose first instruction has the index `first`."""
        completed = {unit: self.get(f"{unit.name.lower()}_instructions") for unit in Unit}
        done = ", ".join(f"{unit.name.lower()} {count}" for unit, count in completed.items())
        return f"instructions completed: {done}; {halt_text(decode(code, hw), completed, self.tokens(), first)}"

    def result(
        self, instructions: NDArray[np.void], options: RunOptions, seconds: float, hw: HardwareConfig, preset: str | None
    ) -> RunResult:
        """What the run of `instructions`, shape (n,), did."""
        return RunResult(
            counters=count_instructions(instructions, hw),
            operators=counted_operators(instructions, options, hw),
            tokens=self.tokens(),
            seconds=seconds,
            cycles=self.get("cycles"),
            units={unit: UnitCycles(*(self.get(f"{unit}_{state}") for state in _STATES)) for unit in UNITS},
            read_beats=self.get("read_beats"),
            write_beats=self.get("write_beats"),
            preset=preset,
        )

    def check_counters(self, expected: Counters, result: RunResult) -> None:
        """Compare what the core counted with what the stream has. Raises `DeviceError` naming the counter and both values."""
        for name in _COUNTED:
            value, wanted = self.get(name), getattr(expected, name) % (1 << 32)
            if value != wanted:
                raise DeviceError(f"the core counts {name} = {value}; the stream has {wanted}")
        for unit, states in result.units.items():
            if states.total != result.cycles:
                raise DeviceError(f"the states of the {unit} unit add up to {states.total}, not to the {result.cycles} cycles")


def counted_operators(instructions: NDArray[np.void], options: RunOptions, hw: HardwareConfig) -> tuple[Counters, ...]:
    """The counters of each operator, counted from the instructions of a segment; none if `options` name no operators."""
    if options.operator_index is None:
        return ()
    chosen = options.operator_index[options.first : options.first + len(instructions)]
    return count_operators(instructions, chosen, options.operator_count, hw)
