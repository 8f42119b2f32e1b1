"""The words for what the native part of the verifier finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.findings import Finding, FindingKind, Queue
from vta.isa.instruction import Opcode, Unit
from vta.isa.program import Symbol
from vta.support.dataclass import dataclass

__all__ = ["NativeFinding", "explain"]


@dataclass(frozen=True)
class NativeFinding:
    """A `vta_verify_finding`, member by member."""

    kind: int
    unit: int
    instruction: int
    memory: int
    queue: int
    first: int
    count: int
    other: int
    detail: int


def explain(record: NativeFinding, instructions: NDArray[np.void], hw: HardwareConfig, symbols: Sequence[Symbol]) -> Finding:
    """Turn a native finding into a `Finding`; `symbols` name DRAM addresses where there are any."""
    return _Explainer(record, instructions, hw, symbols).finding()


class _Explainer:
    def __init__(
        self, record: NativeFinding, instructions: NDArray[np.void], hw: HardwareConfig, symbols: Sequence[Symbol]
    ) -> None:
        self.record = record
        self.instructions = instructions
        self.hw = hw
        self.symbols = symbols
        self.memory = None if record.memory < 0 else MemoryType(record.memory)
        self.queue = None if record.queue < 0 else Queue(record.queue)

    def finding(self) -> Finding:
        record = self.record
        kind, words = _KINDS[record.kind]
        text = words(self)
        if record.instruction >= 0:
            opcode = Opcode(int(self.instructions["opcode"][record.instruction])).name
            text = f"instruction {record.instruction} ({opcode}, {self.unit(record.unit)} unit): {text}"
        return Finding(
            kind,
            text,
            instruction=_known(record.instruction),
            unit=Unit(record.unit),
            memory=self.memory,
            queue=self.queue,
            first=_known(record.first),
            count=_known(record.count),
            other=_known(record.other),
        )

    def unit(self, value: int) -> str:
        return Unit(value).name.lower()

    def rows(self) -> str:
        assert self.memory is not None
        more = f" and {self.record.count - 1} more" if self.record.count > 1 else ""
        return f"{self.memory.name} row {self.record.first}{more}"

    def bytes(self) -> str:
        return f"{self.record.count} bytes of DRAM from {self.address(self.record.first)}"

    def address(self, value: int) -> str:
        for symbol in self.symbols:
            if symbol.offset <= value < symbol.offset + symbol.nbytes:
                return f"{value:#x} ({symbol.name}+{value - symbol.offset:#x})"
        return f"{value:#x}"

    def partner(self) -> str:
        other = self.record.other
        return f"instruction {other} ({Opcode(int(self.instructions['opcode'][other])).name})"

    def deadlock(self) -> str:
        if self.queue is None:
            limit = self.record.detail
            return f"never fetched: fetch stops at instruction {self.record.other}, whose unit has {limit} waiting"
        waits = f"waits for ever for token {self.record.count} of queue {self.queue}"
        if self.record.other < 0:
            return f"{waits}, which nothing pushes"
        return f"{waits}, which {self.partner()} would push"

    def overflow(self) -> str:
        return f"up to {self.record.count} tokens in queue {self.queue}; it counts {self.record.detail}"

    def leftover(self) -> str:
        plural = "s" if self.record.count > 1 else ""
        return f"{self.record.count} token{plural} left over in queue {self.queue}: nothing consumes what is pushed here"

    def unfinished(self) -> str:
        return f"no token orders it before FINISH (instruction {self.record.other})"

    def sram_bounds(self) -> str:
        assert self.memory is not None
        depth = self.hw.uop_depth if self.memory is MemoryType.UOP else self.hw.depth(self.memory)
        record = self.record
        last = record.first + record.count - 1
        uop = "" if record.detail < 0 else f" (micro-op {record.detail})"
        return f"{self.memory.name} rows {record.first} to {last}{uop}; allowed: 0 to {depth - 1}"

    def dram_bounds(self) -> str:
        where = "no symbol" if self.symbols else "no memory given"
        return f"{self.bytes()}: {where} covers them"

    def read_only(self) -> str:
        return f"stores {self.bytes()}, which is read-only"

    def uninitialized_sram(self) -> str:
        if self.memory is MemoryType.OUT and self.record.other >= 0:
            return f"reads {self.rows()}, undefined since the reset of {self.partner()}"
        return f"reads {self.rows()}, which nothing has written"

    def uninitialized_dram(self) -> str:
        return f"reads {self.bytes()}, which nothing has stored"

    def unknown_uops(self) -> str:
        return f"loads {self.record.count} micro-ops from {self.address(self.record.first)}, whose contents are not known"

    def sram_race(self) -> str:
        return f"no token orders its use of {self.rows()} against {self.partner()}"

    def dram_race(self) -> str:
        return f"no token orders its use of {self.bytes()} against {self.partner()}"

    def unwritten(self) -> str:
        return f"{self.bytes()} belong to an output and are never stored"

    def weight_index(self) -> str:
        return f"micro-op {self.record.first} has a weight index; in an ALU instruction it must be 0"

    def immediate_source(self) -> str:
        return f"target {self.hw.target} reads src in immediate mode, and micro-op {self.record.first} has src other than dst"

    def register_shift(self) -> str:
        can = self.hw.capabilities
        lowest = can.shift_min if can.register_shift_left else 0
        limits = f"target {self.hw.target} allows {lowest} to {can.shift_max}"
        return f"{self.rows()} shifts by {self.record.detail}; {limits}"

    def repeated_dst(self) -> str:
        limit = self.hw.capabilities.uop_dst_distance
        return f"micro-op {self.record.first} repeats the dst of {self._earlier()}; target {self.hw.target} needs {limit} apart"

    def read_after_write(self) -> str:
        return f"micro-op {self.record.first} reads what {self._earlier()} has not yet written"

    def written_twice(self) -> str:
        return "REQUANTIZE with wide results writes a row twice"

    def parameter_written(self) -> str:
        return f"REQUANTIZE writes {self.rows()}, which holds its parameters"

    def _earlier(self) -> str:
        return "the one before" if self.record.detail == 1 else f"the one {self.record.detail} before"


def _known(value: int) -> int | None:
    return None if value < 0 else int(value)


_KINDS: tuple[tuple[FindingKind, Callable[[_Explainer], str]], ...] = (
    (FindingKind.DEADLOCK, _Explainer.deadlock),
    (FindingKind.TOKEN_OVERFLOW, _Explainer.overflow),
    (FindingKind.LEFTOVER_TOKEN, _Explainer.leftover),
    (FindingKind.UNFINISHED, _Explainer.unfinished),
    (FindingKind.SRAM_BOUNDS, _Explainer.sram_bounds),
    (FindingKind.DRAM_BOUNDS, _Explainer.dram_bounds),
    (FindingKind.READ_ONLY_STORE, _Explainer.read_only),
    (FindingKind.UNINITIALIZED_SRAM, _Explainer.uninitialized_sram),
    (FindingKind.UNINITIALIZED_DRAM, _Explainer.uninitialized_dram),
    (FindingKind.UNKNOWN_UOPS, _Explainer.unknown_uops),
    (FindingKind.SRAM_RACE, _Explainer.sram_race),
    (FindingKind.DRAM_RACE, _Explainer.dram_race),
    (FindingKind.UNWRITTEN_OUTPUT, _Explainer.unwritten),
    (FindingKind.FIELD, _Explainer.weight_index),
    (FindingKind.CAPABILITY, _Explainer.immediate_source),
    (FindingKind.CAPABILITY, _Explainer.register_shift),
    (FindingKind.HAZARD, _Explainer.repeated_dst),
    (FindingKind.HAZARD, _Explainer.read_after_write),
    (FindingKind.HAZARD, _Explainer.written_twice),
    (FindingKind.HAZARD, _Explainer.parameter_written),
)
"""In the order of the kinds in native/verify_report.h."""
