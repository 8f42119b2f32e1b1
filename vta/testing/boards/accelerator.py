"""What lies behind the registers of a stand-in: the simulators, on the board's own memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions, RunResult, Tokens
from vta.errors import DeviceError, EncodingError
from vta.isa.encoding import decode, encode
from vta.isa.instruction import INSTRUCTION_BYTES, Opcode, Unit, units_of
from vta.isa.rules import capability_findings, field_findings, header_findings
from vta.isa.transfers import first_transfer_outside
from vta.support.dataclass import dataclass
from vta.testing.boards.memory import BoardMemory
from vta.testing.boards.trouble import MisuseError

__all__ = ["Accelerator", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    result: RunResult | None
    """None if it did not end."""
    fault: str
    """Why it did not end."""
    finished: bool
    """It executed FINISH."""
    late: tuple[tuple[int, NDArray[np.uint8]], ...]
    """Places in memory and what is stored there after FINISH was executed."""


class Accelerator:
    """The accelerator of `hw` on `memory`, which it sees at addresses `offset` above the physical ones.

    SRAM and tokens last from one run to the next.
    """

    def __init__(self, hw: HardwareConfig, memory: BoardMemory, offset: int, bus_bits: int) -> None:
        self.hw = hw
        self._memory = memory
        self._start = memory.start + offset
        self._engine = CycleDevice(hw, TimingParameters(bus_bits=bus_bits), dram=memory.dram)

    def run(self, address: int, count: int, tokens: Tokens | None = None) -> Outcome:
        """Run the `count` instructions at byte `address`; `tokens` replace those that are there."""
        given = self._instructions(address, count)
        self._check(given)
        stream = encode(self._rebased(given), self.hw)
        before = self._memory.dram.copy() if self._stores(given) else self._memory.dram
        finished = bool(np.any(given["opcode"] == Opcode.FINISH))
        try:
            result = self._engine.run(stream, RunOptions(keep_state=True, tokens=tokens, checks=False, limit_seconds=60.0))
        except DeviceError as error:
            return Outcome(None, str(error), False, ())
        finally:
            self._memory.evict()
        return Outcome(result, "", finished, tuple(self._take_back(given, result, before)))

    def _instructions(self, address: int, count: int) -> NDArray[np.void]:
        start = address - self._start
        end = start + count * INSTRUCTION_BYTES
        if not 0 <= start < end <= self._memory.dram.size:
            raise MisuseError(f"a stream of {count} instructions at {address:#x} is not in memory")
        try:
            return decode(self._memory.dram[start:end].reshape(count, INSTRUCTION_BYTES), self.hw)
        except EncodingError as error:
            raise MisuseError(f"what lies at {address:#x} is no stream ({error}): was it flushed from the cache?") from None

    def _check(self, instructions: NDArray[np.void]) -> None:
        findings = [
            *field_findings(instructions, self.hw),
            *header_findings(instructions),
            *capability_findings(instructions, self.hw),
        ]
        if findings:
            raise MisuseError(f"the accelerator was given what it cannot do: {findings[0]}")
        outside = first_transfer_outside(instructions, self.hw, [(self._start, self._start + self._memory.dram.size)])
        if outside is not None:
            raise MisuseError(
                f"instruction {outside.instruction} transfers from or to {outside.start:#x}, where there is no memory"
            )

    def _rebased(self, instructions: NDArray[np.void]) -> NDArray[np.void]:
        """The same with addresses that count from the start of the memory."""
        moved = instructions.copy()
        chosen = self._transfers(instructions)
        sizes = np.ones(8, dtype=np.int64)
        for memory in MemoryType:
            sizes[memory] = self.hw.elem_bytes(memory)
        moved["dram_base"][chosen] -= self._start // sizes[moved["memory_type"][chosen]]
        return moved

    @staticmethod
    def _transfers(instructions: NDArray[np.void]) -> NDArray[np.bool_]:
        opcode = instructions["opcode"]
        moves: NDArray[np.bool_] = ((opcode == Opcode.LOAD) | (opcode == Opcode.STORE)) & (instructions["x_size"] > 0)
        return moves

    def _stores(self, instructions: NDArray[np.void]) -> bool:
        return bool(np.any((units_of(instructions) == Unit.STORE) & self._transfers(instructions)))

    def _take_back(
        self, instructions: NDArray[np.void], result: RunResult, before: NDArray[np.uint8]
    ) -> Sequence[tuple[int, NDArray[np.uint8]]]:
        """Undo the stores that end after FINISH, and return what they are to write."""
        assert result.times is not None, "the engine times every instruction"
        completed = result.times.completed
        finish = np.flatnonzero(instructions["opcode"] == Opcode.FINISH)
        if not len(finish):
            return ()
        # The engine does not time what FINISH does not wait for.
        unfinished = (completed < 0) | (completed > completed[finish[0]])
        late = unfinished & (units_of(instructions) == Unit.STORE) & self._transfers(instructions)
        size = self.hw.elem_bytes(MemoryType.OUT)
        found = []
        for row in instructions[late]:
            for y in range(int(row["y_size"])):
                start = int(row["dram_base"] + y * row["x_stride"]) * size - self._start
                end = start + int(row["x_size"]) * size
                found.append((start, self._memory.dram[start:end].copy()))
        for start, data in found:
            self._memory.dram[start : start + data.size] = before[start : start + data.size]
        return found
