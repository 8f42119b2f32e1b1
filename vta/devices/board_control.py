"""How a run is started and watched through each register map that boards have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.boards.description import Design
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.core_control import CoreControl, Registers, counted_operators
from vta.devices.device import RunOptions, RunResult, Tokens
from vta.devices.engine.clock import Clock
from vta.devices.static_counters import count_instructions
from vta.errors import DeviceError
from vta.hardware.identification import check_identification
from vta.isa.encoding import decode, encode
from vta.isa.instruction import Opcode, blank_instructions

__all__ = ["BoardControl", "Launch", "make_control"]

_NOBODY = 0xFFFFFFFF
"""What a bus reads where nothing answers."""

_HLS_START, _HLS_START_AGAIN, _HLS_IDLE = 0x01, 0x81, 0x04
"""Bits of a block's control register: start; start, and again whenever it is done; idle."""
_HLS_BASES = {"load": (0x10, 0x18), "compute": (0x20, 0x28), "store": (0x10,)}
_HLS_COUNT, _HLS_ADDRESS, _HLS_DONE = 0x10, 0x18, 0x18
_HLS_LIMIT_SECONDS = 1.0

_VCR_CONTROL, _VCR_CYCLES, _VCR_COUNT, _VCR_ADDRESS = 0x00, 0x04, 0x08, 0x0C
_VCR_BASES = (0x10, 0x14, 0x18, 0x1C, 0x20)
_VCR_LAUNCH, _VCR_DONE = 1, 2

Launch = Callable[[NDArray[np.uint8]], tuple[int, int]]
"""Puts a stream, shape (n, 16), where the accelerator reads it; returns its byte address and n."""


class BoardControl(Protocol):
    """A register map in use."""

    rests: bool
    """Done means that all units rest; otherwise only that FINISH was executed. Tokens can then be read and set, too."""

    def check_hardware(self) -> None:
        """Raise `DeviceError` if the fabric does not hold what is expected, as far as it can tell."""

    def check_idle(self) -> None:
        """Raise `DeviceError` if a run is going on."""

    def start(self, code: NDArray[np.uint8], put: Launch, tokens: Tokens) -> None:
        """Run `code`, shape (n, 16); `tokens` are set first where that is possible."""

    def done(self) -> bool:
        """Whether the run is over."""

    def check_errors(self) -> None:
        """Raise `DeviceError` if the accelerator reports errors of the run."""

    def halted(self, code: NDArray[np.uint8], first: int) -> str:
        """What is known of a run that does not end."""

    def result(
        self, code: NDArray[np.uint8], instructions: NDArray[np.void], options: RunOptions, seconds: float, tokens: Tokens
    ) -> RunResult:
        """What the run of `code` did for `instructions` in it; `tokens` are those left as counted from the stream."""


def make_control(design: Design, hw: HardwareConfig, blocks: Mapping[str, Registers], clock: Clock) -> BoardControl:
    """The control of a design whose `blocks` of registers are given."""
    if design.registers == "core":
        return _Core(blocks["core"], hw, design.bus_bits)
    if design.registers == "vcr":
        return _Vcr(blocks["core"], hw)
    return _Hls(blocks, hw, clock)


def _alive(value: int) -> int:
    if value == _NOBODY:
        raise DeviceError(f"the accelerator does not answer: its registers read as {_NOBODY:#010x}")
    return value


class _Core:
    """The core of this package (docs/hardware.md)."""

    rests = True

    def __init__(self, registers: Registers, hw: HardwareConfig, bus_bits: int) -> None:
        self._core = CoreControl(registers)
        self._hw = hw
        self._bus_bits = bus_bits

    def check_hardware(self) -> None:
        check_identification(self._core.get, self._hw, self._bus_bits)

    def check_idle(self) -> None:
        _alive(self._core.get("control"))
        if self._core.running:
            raise DeviceError("a run that nobody waits for is still going on")

    def start(self, code: NDArray[np.uint8], put: Launch, tokens: Tokens) -> None:
        self._core.prepare(*put(code), tokens, interrupts=False)
        self._core.launch()

    def done(self) -> bool:
        _alive(self._core.get("control"))
        return self._core.done

    def check_errors(self) -> None:
        self._core.check_errors()

    def halted(self, code: NDArray[np.uint8], first: int) -> str:
        return self._core.halted(code, self._hw, first)

    def result(
        self, code: NDArray[np.uint8], instructions: NDArray[np.void], options: RunOptions, seconds: float, tokens: Tokens
    ) -> RunResult:
        result = self._core.result(instructions, options, seconds, self._hw, None)
        self._core.check_counters(count_instructions(decode(code, self._hw), self._hw), result)
        return result


class _Vcr:
    """The published Chisel design: one block of registers with 32-bit addresses."""

    rests = False

    def __init__(self, registers: Registers, hw: HardwareConfig) -> None:
        self._registers = registers
        self._hw = hw

    def check_hardware(self) -> None:
        _alive(self._registers.read(_VCR_CONTROL))

    def check_idle(self) -> None:
        if _alive(self._registers.read(_VCR_CONTROL)) & _VCR_LAUNCH:
            raise DeviceError("a run that nobody waits for is still going on")

    def start(self, code: NDArray[np.uint8], put: Launch, tokens: Tokens) -> None:
        address, count = put(code)
        self._registers.write(_VCR_COUNT, count)
        self._registers.write(_VCR_ADDRESS, address)
        for offset in _VCR_BASES:
            self._registers.write(offset, 0)
        self._registers.write(_VCR_CONTROL, _VCR_LAUNCH)

    def done(self) -> bool:
        return bool(_alive(self._registers.read(_VCR_CONTROL)) & _VCR_DONE)

    def check_errors(self) -> None:
        """It reports none."""

    def halted(self, code: NDArray[np.uint8], first: int) -> str:
        return f"control reads as {self._registers.read(_VCR_CONTROL):#x}"

    def result(
        self, code: NDArray[np.uint8], instructions: NDArray[np.void], options: RunOptions, seconds: float, tokens: Tokens
    ) -> RunResult:
        return RunResult(
            counters=count_instructions(instructions, self._hw),
            operators=counted_operators(instructions, options, self._hw),
            tokens=tokens,
            seconds=seconds,
            cycles=self._registers.read(_VCR_CYCLES),
        )


class _Hls:
    """The published HLS design: four blocks, each with its own control register."""

    rests = False

    def __init__(self, blocks: Mapping[str, Registers], hw: HardwareConfig, clock: Clock) -> None:
        self._blocks = blocks
        self._hw = hw
        self._clock = clock

    def check_hardware(self) -> None:
        for registers in self._blocks.values():
            _alive(registers.read(0))

    def check_idle(self) -> None:
        if not self._fetched():
            raise DeviceError("the fetch unit still has instructions of a run that nobody waits for")

    def start(self, code: NDArray[np.uint8], put: Launch, tokens: Tokens) -> None:
        # Done stays up from the last run until the compute unit executes its first instruction of this one. It is taken
        # down by a stream without FINISH first: a look that comes too early would otherwise take that run's for this one's.
        if self.done():
            self._launch(*put(self._nothing()))
            self._await(lambda: not self.done() and self._fetched(), "taking down done")
        self._launch(*put(code))

    def done(self) -> bool:
        return _alive(self._blocks["compute"].read(_HLS_DONE)) == 1

    def check_errors(self) -> None:
        """It reports none."""

    def halted(self, code: NDArray[np.uint8], first: int) -> str:
        shown = ", ".join(f"{name} {registers.read(0):#x}" for name, registers in self._blocks.items())
        return f"control registers: {shown}; done reads as {self._blocks['compute'].read(_HLS_DONE):#x}"

    def result(
        self, code: NDArray[np.uint8], instructions: NDArray[np.void], options: RunOptions, seconds: float, tokens: Tokens
    ) -> RunResult:
        return RunResult(
            counters=count_instructions(instructions, self._hw),
            operators=counted_operators(instructions, options, self._hw),
            tokens=tokens,
            seconds=seconds,
        )

    def _launch(self, address: int, count: int) -> None:
        self._blocks["fetch"].write(_HLS_COUNT, count)
        self._blocks["fetch"].write(_HLS_ADDRESS, address)
        for name, offsets in _HLS_BASES.items():
            for offset in offsets:
                self._blocks[name].write(offset, 0)
        for name in _HLS_BASES:
            self._blocks[name].write(0, _HLS_START_AGAIN)
        self._blocks["fetch"].write(0, _HLS_START)

    def _fetched(self) -> bool:
        return bool(_alive(self._blocks["fetch"].read(0)) & _HLS_IDLE)

    def _nothing(self) -> NDArray[np.uint8]:
        """A transfer of nothing for the compute unit."""
        row = blank_instructions(1)
        row["opcode"], row["memory_type"] = Opcode.LOAD, MemoryType.UOP
        return encode(row, self._hw)

    def _await(self, condition: Callable[[], bool], doing: str) -> None:
        deadline = self._clock.now() + _HLS_LIMIT_SECONDS
        while not condition():
            if self._clock.now() > deadline:
                raise DeviceError(f"time limit: {doing} was not done after {_HLS_LIMIT_SECONDS:g} s")
            self._clock.sleep(1e-5)
