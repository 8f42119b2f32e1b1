"""The registers of the three designs, over an accelerator that takes its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.boards.description import Design
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunResult, Tokens
from vta.hardware.identification import identification
from vta.hardware.registers import QUEUES, REGISTERS, UNITS, Access, ControlBit, ErrorBit, InterruptBit
from vta.testing.boards.accelerator import Accelerator, Outcome
from vta.testing.boards.memory import BoardMemory
from vta.testing.boards.trouble import MisuseError, SimulatedClock, Trouble

__all__ = ["RegisterBlock", "make_blocks"]

_CYCLES_PER_INSTRUCTION = 20
_START_SECONDS = 3e-6
"""From a launch until the first instruction is executed: the first burst of fetch."""
_LATE_SECONDS = 2e-4
"""From FINISH until a store behind it has landed; a store may wait long for its bus."""
_HLS_BASES = {"load": (0x10, 0x18), "compute": (0x20, 0x28), "store": (0x10,)}


class RegisterBlock(Protocol):
    """One block of 32-bit registers."""

    def read(self, offset: int) -> int:
        """Answer a read."""

    def write(self, offset: int, value: int) -> None:
        """Take a write."""


def make_blocks(
    design: Design, hw: HardwareConfig, memory: BoardMemory, offset: int, clock: SimulatedClock, trouble: Trouble
) -> dict[str, RegisterBlock]:
    """The blocks of registers of `design` built for `hw`; the accelerator sees memory at `offset` above its physical address."""
    accelerator = Accelerator(hw, memory, offset, design.bus_bits)
    launcher = _Launcher(accelerator, memory, clock, trouble, design.clock_mhz * 1e6)
    if design.registers == "core":
        return {"core": _Core(hw, design.bus_bits, launcher, trouble)}
    if design.registers == "vcr":
        return {"core": _Vcr(launcher)}
    hls = _Hls(launcher)
    return {name: _HlsBlock(hls, name) for name in ("fetch", "load", "compute", "store")}


class _Launcher:
    """Runs that end after a while, and touch memory only then."""

    def __init__(
        self, accelerator: Accelerator, memory: BoardMemory, clock: SimulatedClock, trouble: Trouble, hertz: float
    ) -> None:
        self._accelerator = accelerator
        self._memory = memory
        self._clock = clock
        self._trouble = trouble
        self._hertz = hertz
        self._started = self._due = 0.0
        self._execute: Callable[[], Outcome] | None = None
        self._late: tuple[float, Sequence[tuple[int, NDArray[np.uint8]]]] | None = None
        self.outcome: Outcome | None = None
        """Of the last run; None while one goes on, and before the first."""

    @property
    def running(self) -> bool:
        """Whether a run goes on."""
        self._look()
        return self._execute is not None

    @property
    def has_begun(self) -> bool:
        """Whether the first instruction of the present run was executed."""
        return self._clock.now() >= self._started + _START_SECONDS

    def launch(self, address: int, count: int, tokens: Tokens | None = None) -> None:
        """Start a run."""
        if self.running:
            raise MisuseError("a run was started while another goes on")
        if address % 16 or count < 1:
            raise MisuseError(f"a run of {count} instructions at {address:#x}")
        self.outcome = None
        self._started = self._clock.now()
        cycles = count * _CYCLES_PER_INSTRUCTION
        self._due = self._started + _START_SECONDS + self._trouble.slow * cycles / self._hertz
        self._execute = lambda: self._accelerator.run(address, count, tokens)

    def settle(self) -> None:
        """Have all stores land."""
        for start, data in () if self._late is None else self._late[1]:
            self._memory.dram[start : start + data.size] = data
        self._late = None

    def _look(self) -> None:
        """What has happened by now."""
        if self._late is not None and self._clock.now() >= self._late[0]:
            self.settle()
        if self._execute is None or self._trouble.hang or self._clock.now() < self._due:
            return
        # Stores are executed in order, however late.
        self.settle()
        outcome = self._execute()
        if outcome.result is None:
            self._due = float("inf")
            return
        self._execute, self.outcome = None, outcome
        if outcome.late:
            self._late = (self._clock.now() + _LATE_SECONDS, outcome.late)


class _Core:
    """The core of this package: `vta/hardware/control/control.py` as a table."""

    def __init__(self, hw: HardwareConfig, bus_bits: int, launcher: _Launcher, trouble: Trouble) -> None:
        self._launcher = launcher
        self._trouble = trouble
        self._names = {register.offset: register for register in REGISTERS.values()}
        self._values = dict.fromkeys(REGISTERS, 0) | identification(hw, bus_bits)
        self._written: set[str] = set()
        self._running = False

    def read(self, offset: int) -> int:
        """See `RegisterBlock.read`."""
        self._look()
        register = self._names.get(offset)
        return 0 if register is None else self._values[register.name]

    def write(self, offset: int, value: int) -> None:
        """See `RegisterBlock.write`."""
        self._look()
        register = self._names.get(offset)
        if register is None or register.access is Access.READ:
            raise MisuseError(f"a write to offset {offset:#x}, where nothing can be written")
        name = register.name
        if name == "control":
            if value >> ControlBit.LAUNCH & 1:
                self._launch()
        elif register.access is Access.CLEAR:
            self._values[name] &= ~value
        elif self._running:
            raise MisuseError(f"{name} was written during a run")
        else:
            self._written.add(name)
            self._values[name] = value

    def _launch(self) -> None:
        for name in ("instruction_count", "instruction_base"):
            if name not in self._written:
                raise MisuseError(f"a run was started before {name} was written")
        if any(self._values[f"{name}_base"] for name in ("uop", "inp", "wgt", "acc", "out")):
            raise MisuseError("base addresses other than 0; programs hold whole addresses")
        tokens = Tokens(*(self._values[f"tokens_{queue}"] for queue in QUEUES))
        self._launcher.launch(self._values["instruction_base"], self._values["instruction_count"], tokens)
        self._values["control"] = 1 << ControlBit.LAUNCH
        self._running = True

    def _look(self) -> None:
        if not self._running or self._launcher.running or self._launcher.outcome is None:
            return
        self._launcher.settle()
        outcome = self._launcher.outcome
        assert outcome.result is not None, "a run that ended has a result"
        self._running = False
        self._values["control"] = 1 << ControlBit.DONE
        self._values["errors"] |= self._trouble.errors | (0 if outcome.finished else 1 << ErrorBit.MISSING_FINISH)
        self._values["interrupt_status"] |= 1 << InterruptBit.DONE | bool(self._values["errors"]) << InterruptBit.ERROR
        self._values |= _counted(outcome.result)
        if self._trouble.wrong_counter:
            self._values[self._trouble.wrong_counter] += 1


def _counted(result: RunResult) -> dict[str, int]:
    """The registers that a run leaves."""
    counters = result.counters
    values = {
        "cycles": result.cycles or 0,
        "acc_writes": counters.gemm_uops + counters.reset_uops + counters.alu_uops,
        "read_beats": result.read_beats,
        "write_beats": result.write_beats,
    }
    names = ("load_instructions", "compute_instructions", "store_instructions", "gemm_uops", "reset_uops", "alu_uops")
    values |= {name: getattr(counters, name) for name in names}
    for name, moved in counters.dram_bytes.items():
        values |= {f"{name}_bytes": moved, f"{name}_bytes_high": moved >> 32}
    values |= {f"tokens_{queue}": getattr(result.tokens, queue) for queue in QUEUES}
    for unit in UNITS:
        states = result.units[unit]
        values |= {f"{unit}_{state}": getattr(states, state) for state in ("busy", "token", "memory", "idle")}
    return {name: value & 0xFFFFFFFF for name, value in values.items()}


class _Vcr:
    """The published Chisel design's registers (VCR). Done comes with FINISH, whatever the store unit still does."""

    _WRITABLE = (0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C, 0x20)

    def __init__(self, launcher: _Launcher) -> None:
        self._launcher = launcher
        self._values: dict[int, int] = {}
        self._control = 0

    def read(self, offset: int) -> int:
        """See `RegisterBlock.read`."""
        self._look()
        return self._control if offset == 0 else self._values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """See `RegisterBlock.write`."""
        self._look()
        if offset == 0:
            if value & 1:
                self._launch()
            return
        if offset not in self._WRITABLE:
            raise MisuseError(f"a write to offset {offset:#x}, where nothing can be written")
        self._values[offset] = value

    def _launch(self) -> None:
        missing = [f"{offset:#x}" for offset in self._WRITABLE if offset not in self._values]
        if missing:
            raise MisuseError(f"a run was started before {', '.join(missing)} were written")
        if any(self._values[offset] for offset in self._WRITABLE[2:]):
            raise MisuseError("base addresses other than 0; programs hold whole addresses")
        self._launcher.launch(self._values[0x0C], self._values[0x08])
        self._control = 1

    def _look(self) -> None:
        running, outcome = self._launcher.running, self._launcher.outcome
        if self._control == 1 and not running and outcome is not None and outcome.result is not None and outcome.finished:
            self._control = 2
            self._values[0x04] = (outcome.result.cycles or 0) & 0xFFFFFFFF


class _Hls:
    """The published HLS design: fetch runs once, the others again and again; done stays up into the next run."""

    def __init__(self, launcher: _Launcher) -> None:
        self._launcher = launcher
        self._values: dict[tuple[str, int], int] = {}
        self._started: set[str] = set()
        self._done = 0
        self._fetching = False

    def read(self, name: str, offset: int) -> int:
        """A register of a block."""
        self._look()
        if offset == 0:
            busy = self._fetching if name == "fetch" else name in self._started
            return (0x01 if busy else 0x04) | (0x80 if name in self._started else 0)
        if (name, offset) == ("compute", 0x18):
            return self._done
        return self._values.get((name, offset), 0)

    def write(self, name: str, offset: int, value: int) -> None:
        """Set a register of a block."""
        self._look()
        if offset == 0:
            self._start(name, value)
            return
        known = {"fetch": (0x10, 0x18), **_HLS_BASES, "compute": (0x10, *_HLS_BASES["compute"])}
        if offset not in known[name]:
            raise MisuseError(f"a write to offset {offset:#x} of {name}, where nothing can be written")
        if name == "fetch" and self._fetching:
            raise MisuseError("fetch was told another stream while it fetches one")
        self._values[name, offset] = value

    def _start(self, name: str, value: int) -> None:
        missing = [f"{offset:#x}" for offset in _HLS_BASES.get(name, (0x10, 0x18)) if (name, offset) not in self._values]
        if missing:
            raise MisuseError(f"{name} was started before {', '.join(missing)} were written")
        if name != "fetch":
            if value != 0x81:
                raise MisuseError(f"{name} was started with {value:#x}: it does one instruction, and no more")
            if any(self._values[name, offset] for offset in _HLS_BASES[name]):
                raise MisuseError("base addresses other than 0; programs hold whole addresses")
            self._started.add(name)
            return
        if value != 0x01:
            raise MisuseError(f"fetch was started with {value:#x}")
        if self._started != set(_HLS_BASES):
            raise MisuseError("fetch was started before the units that take its instructions")
        self._launcher.launch(self._values["fetch", 0x18], self._values["fetch", 0x10])
        self._fetching = True

    def _look(self) -> None:
        running, outcome = self._launcher.running, self._launcher.outcome
        if self._fetching and self._launcher.has_begun:
            self._done = 0
        if self._fetching and not running and outcome is not None:
            self._fetching = False
            self._done = int(outcome.finished)


class _HlsBlock:
    def __init__(self, hls: _Hls, name: str) -> None:
        self._hls = hls
        self._name = name

    def read(self, offset: int) -> int:
        return self._hls.read(self._name, offset)

    def write(self, offset: int, value: int) -> None:
        self._hls.write(self._name, offset, value)
