"""Places dependency tokens: orders accesses of different units to the same rows, and nothing more.

Each unit runs in program order. Where an instruction needs the effect of an earlier one on another unit, and no token already
implies it, the earlier one pushes a token and the later one pops it. Load and store are not neighbours, so what
they owe each other goes through a compute instruction. Every token is matched, and every wait is for an instruction
earlier in the program, so no interleaving deadlocks or leaves a token over.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Access, Space, Stream
from vta.errors import CompileError
from vta.isa.instruction import INSTRUCTION_DTYPE, Opcode, Unit
from vta.targets import MemoryType

__all__ = ["Plan", "place_tokens"]

_NAMES = INSTRUCTION_DTYPE.names or ()
_POP = {"prev": _NAMES.index("pop_prev"), "next": _NAMES.index("pop_next")}
_PUSH = {"prev": _NAMES.index("push_prev"), "next": _NAMES.index("push_next")}
_OPCODE = _NAMES.index("opcode")


@dataclass
class Plan:
    """The stream with tokens: `source[i]` is the stream index of instruction i, or -1 for one that only carries tokens."""

    rows: list[list[int]] = field(default_factory=list)
    source: list[int] = field(default_factory=list)


def place_tokens(stream: Stream, arena_rows: int, serial: bool = False) -> Plan:
    """Return the instructions of `stream` with tokens placed, closed by FINISH.

    `arena_rows` is the size of the arena in output elements. With `serial` every instruction waits for the one before it.
    """
    planner = _Planner(stream, arena_rows, serial)
    for index in range(len(stream.rows)):
        planner.place(index)
    planner.finish()
    return planner.plan


class _Planner:
    def __init__(self, stream: Stream, arena_rows: int, serial: bool) -> None:
        self.plan = Plan()
        self._stream = stream
        self._serial = serial
        self._previous: Unit | None = None
        hw = stream.hw
        self._rows = {
            Space.INP: hw.depth(MemoryType.INP),
            Space.WGT: hw.depth(MemoryType.WGT),
            Space.OUT: hw.depth(MemoryType.OUT),
            Space.DRAM: arena_rows,
        }
        # For each unit that reads or writes a memory, the position of the last instruction that did so to each row, or -1.
        self._last: dict[Space, dict[tuple[Unit, bool], NDArray[np.int64]]] = {space: {} for space in Space}
        self._known = [[-1, -1, -1] for _ in Unit]
        self._clocks: list[tuple[int, int, int]] = []
        self._compute: list[int] = []

    def place(self, index: int) -> None:
        """Append instruction `index` of the stream with the tokens it needs."""
        unit = self._stream.units[index]
        accesses = self._stream.accesses[index]
        needs = self._before(unit) if self._serial else self._needs(unit, accesses)
        self._relay(unit, needs)
        position = self._append(list(self._stream.rows[index]), index)
        self._wait(position, unit, needs)
        self._close(position, unit)
        for access in accesses:
            self._record(position, unit, access)
        self._previous = unit

    def _before(self, unit: Unit) -> dict[Unit, int]:
        """The instruction before the next one, if it is of another unit."""
        if self._previous is None or self._previous == unit:
            return {}
        position = self._known[self._previous][self._previous]
        return {self._previous: position} if position > self._known[unit][self._previous] else {}

    def finish(self) -> None:
        """Append FINISH, after everything is done."""
        known = self._known[Unit.COMPUTE]
        last = {unit: self._known[unit][unit] for unit in (Unit.LOAD, Unit.STORE)}
        needs = {unit: position for unit, position in last.items() if position > known[unit]}
        if needs:
            self._carrier(needs)
        row = [0] * len(_NAMES)
        row[_OPCODE] = Opcode.FINISH
        self._close(self._append(row, -1), Unit.COMPUTE)

    def _needs(self, unit: Unit, accesses: tuple[Access, ...]) -> dict[Unit, int]:
        """Last position of each other unit that must be complete before these accesses."""
        needs: dict[Unit, int] = {}
        for access in accesses:
            for (other, writes), table in self._last[access.space].items():
                if other != unit and (writes or access.writes):
                    latest = int(_view(table, access).max())
                    if latest > self._known[unit][other]:
                        needs[other] = max(needs.get(other, -1), latest)
        return needs

    def _relay(self, unit: Unit, needs: dict[Unit, int]) -> None:
        """Replace a need between load and store by a need of the compute instruction that implies it."""
        far = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(unit)
        if far is None or far not in needs:
            return
        wanted = needs.pop(far)
        near = needs.get(Unit.COMPUTE, -1)
        if near >= 0 and self._clocks[near][far] >= wanted:
            return
        found = bisect_left(self._compute, wanted, key=lambda position: self._clocks[position][far])
        via = self._compute[found] if found < len(self._compute) else self._carrier({far: wanted})
        needs[Unit.COMPUTE] = max(near, via)

    def _carrier(self, needs: dict[Unit, int]) -> int:
        """Append a compute instruction that does nothing but wait for `needs`; returns its position."""
        row = [0] * len(_NAMES)
        row[_OPCODE] = Opcode.LOAD
        position = self._append(row, -1)
        self._wait(position, Unit.COMPUTE, needs)
        self._close(position, Unit.COMPUTE)
        return position

    def _append(self, row: list[int], source: int) -> int:
        self.plan.rows.append(row)
        self.plan.source.append(source)
        return len(self.plan.rows) - 1

    def _wait(self, position: int, unit: Unit, needs: dict[Unit, int]) -> None:
        for other, wanted in sorted(needs.items(), key=lambda item: -item[1]):
            if self._known[unit][other] >= wanted:
                continue
            towards = "next" if unit > other else "prev"
            back = "prev" if unit > other else "next"
            self.plan.rows[wanted][_PUSH[towards]] = 1
            self.plan.rows[position][_POP[back]] = 1
            self._known[unit] = [max(a, b) for a, b in zip(self._known[unit], self._clocks[wanted], strict=True)]

    def _close(self, position: int, unit: Unit) -> None:
        self._known[unit][unit] = position
        load, compute, store = self._known[unit]
        self._clocks.append((load, compute, store))
        if unit == Unit.COMPUTE:
            self._compute.append(position)

    def _record(self, position: int, unit: Unit, access: Access) -> None:
        tables = self._last[access.space]
        key = (unit, access.writes)
        if key not in tables:
            tables[key] = np.full(self._rows[access.space], -1)
        _view(tables[key], access)[...] = position


def _view(table: NDArray[np.int64], access: Access) -> NDArray[np.int64]:
    """The part of `table`, one entry per row of a memory, that an access covers."""
    start, length, runs, stride = access.start, access.length, access.runs, access.stride
    if start < 0 or start + stride * (runs - 1) + length > len(table):
        raise CompileError(f"an access to rows {start} and on leaves a memory of {len(table)} rows: {access}")
    if runs == 1 or stride == length:
        return table[start : start + length * runs]
    size = table.itemsize
    return np.ndarray((runs, length), table.dtype, table, start * size, (stride * size, size))
