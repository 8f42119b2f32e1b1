"""How a host sets up the memory controller of a system: registers, the chips' sequence, and the range of delays, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["ControllerSetup", "SetupStep"]


@dataclass(frozen=True)
class SetupStep:
    """One step of the sequence that wakes the chips."""

    what: str
    """In words."""
    address: int
    """Level of the address lines; for mode registers, their value."""
    bank: int
    control: int | None
    """Level of the control lines; None: the step is a command."""
    command: int | None
    """Command on the first phase; None: the step is a level."""
    wait_cycles: int
    """At least so long comes nothing after it."""


@dataclass(frozen=True)
class ControllerSetup:
    """LiteDRAM's controller as it was generated."""

    registers: Mapping[str, tuple[int, int]]
    """Byte offset and words of each register; where there are several words the first is the highest."""
    phases: int
    """Commands of a cycle."""
    read_phase: int
    write_phase: int
    lanes: int
    """Groups of 8 data lines, each with its own delay."""
    phase_bytes: int
    """Bytes that a phase moves."""
    delays: int
    """Taps of a lane's read delay; 0: there is nothing to find out."""
    bitslips: int
    """Shifts of a lane's read data, in bits."""
    steps: tuple[SetupStep, ...]

    def to_json(self) -> dict[str, Any]:
        """The values as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], source: str) -> ControllerSetup:
        """The setup of a JSON object. Raises `ConfigError` naming `source` if it is none."""
        try:
            given = dict(values)
            registers = {str(name): (int(place), int(words)) for name, (place, words) in given.pop("registers").items()}
            steps = tuple(SetupStep(**step) for step in given.pop("steps"))
            return cls(registers=registers, steps=steps, **{str(name): int(value) for name, value in given.items()})
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"{source}: not the setup of a memory controller: {error}") from None
