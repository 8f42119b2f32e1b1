"""Dependency tokens for random programs: what order needs, then more of them, then another order of fetch.

Unlike code generation this knows no roles: any unit may read or write any memory.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.isa.instruction import INSTRUCTION_DTYPE, Opcode, Unit
from vta.support.dataclass import dataclass

__all__ = ["Access", "Planner", "Space", "add_spare_tokens", "carrier", "shuffle_units"]

_NAMES = INSTRUCTION_DTYPE.names or ()


class Space(IntEnum):
    """A memory that several units share."""

    INP = 0
    WGT = 1
    OUT = 2
    DRAM = 3


class Access(NamedTuple):
    """Cells of a memory that an instruction reads or writes: SRAM rows, or 4-byte words of the DRAM image."""

    space: Space
    writes: bool
    cells: NDArray[np.int64]


def carrier(unit: Unit) -> dict[str, int]:
    """The fields of an instruction of `unit` that does nothing."""
    if unit is Unit.STORE:
        return {"opcode": Opcode.STORE, "memory_type": 4}
    return {"opcode": Opcode.LOAD, "memory_type": 2 if unit is Unit.LOAD else 0}


@dataclass
class Planner:
    """Collects instructions in program order and places the tokens that order their accesses.

    `cells` is the size of each space. With `serial` each instruction waits for the one before it.
    """

    cells: dict[Space, int]
    serial: bool = False
    rows: list[dict[str, int]] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    waits: list[tuple[int, int]] = field(default_factory=list)
    """Positions (before, after) of each pair of instructions that share a token."""

    def __post_init__(self) -> None:
        self._last = {
            (space, writes, unit): np.full(size, -1, dtype=np.int64)
            for space, size in self.cells.items()
            for writes in (False, True)
            for unit in Unit
        }
        self._known = {unit: dict.fromkeys(Unit, -1) for unit in Unit}
        self._clocks: list[dict[Unit, int]] = []

    def place(self, row: dict[str, int], unit: Unit, accesses: tuple[Access, ...] = ()) -> None:
        """Append an instruction that waits for what it depends on."""
        needs = self._needs(unit, accesses)
        if self.serial and self.units and self.units[-1] is not unit:
            needs[self.units[-1]] = len(self.units) - 1
        self._append(row, unit, needs)
        for access in accesses:
            self._last[access.space, access.writes, unit][access.cells] = len(self.rows) - 1

    def finish(self) -> None:
        """Append FINISH, after everything else is complete."""
        needs = {unit: self._known[unit][unit] for unit in (Unit.LOAD, Unit.STORE)}
        if any(needs[unit] > self._known[Unit.COMPUTE][unit] for unit in needs):
            self._append(carrier(Unit.COMPUTE), Unit.COMPUTE, needs)
        self._append({"opcode": Opcode.FINISH}, Unit.COMPUTE, {})

    def _needs(self, unit: Unit, accesses: tuple[Access, ...]) -> dict[Unit, int]:
        needs: dict[Unit, int] = {}
        for access in accesses:
            for other in Unit:
                if other is unit or not access.cells.size:
                    continue
                latest = int(self._last[access.space, True, other][access.cells].max())
                if access.writes:
                    latest = max(latest, int(self._last[access.space, False, other][access.cells].max()))
                needs[other] = max(needs.get(other, -1), latest)
        return needs

    def _append(self, row: dict[str, int], unit: Unit, needs: dict[Unit, int]) -> None:
        far = {Unit.LOAD: Unit.STORE, Unit.STORE: Unit.LOAD}.get(unit)
        if far is not None and needs.get(far, -1) > self._known[unit][far]:
            wanted = needs.pop(far)
            if self._known[Unit.COMPUTE][far] < wanted:
                self._append(carrier(Unit.COMPUTE), Unit.COMPUTE, {far: wanted})
            needs[Unit.COMPUTE] = self._known[Unit.COMPUTE][Unit.COMPUTE]
        position = len(self.rows)
        self.rows.append(dict(row))
        self.units.append(unit)
        for other, wanted in needs.items():
            if other is not far and wanted > self._known[unit][other]:
                self._wait(wanted, position)
        self._known[unit][unit] = position
        self._clocks.append(dict(self._known[unit]))

    def _wait(self, before: int, after: int) -> None:
        push, pop = flags_between(self.units[before], self.units[after])
        self.rows[before][push] = self.rows[after][pop] = 1
        self.waits.append((before, after))
        mine = self._known[self.units[after]]
        for unit, position in self._clocks[before].items():
            mine[unit] = max(mine[unit], position)


def flags_between(before: Unit, after: Unit) -> tuple[str, str]:
    """The flag that pushes from `before` to `after`, neighbours, and the flag that pops there."""
    return ("push_next", "pop_prev") if after > before else ("push_prev", "pop_next")


def add_spare_tokens(planner: Planner, rng: Random, tries: int, reach: int) -> None:
    """Add tokens that order nothing new: a push by one instruction, a pop by one up to `reach` later.

    Queues are first in, first out, so a pair must not enclose a pair of the same queue.
    """
    last = len(planner.rows) - 1  # FINISH carries no flags
    for _ in range(tries if last > 1 else 0):
        before = rng.randrange(last - 1)
        after = min(last - 1, before + rng.randint(1, reach))
        pair = planner.units[before], planner.units[after]
        if abs(pair[0] - pair[1]) != 1:
            continue
        push, pop = flags_between(*pair)
        taken = planner.rows[before].get(push) or planner.rows[after].get(pop)
        enclosing = any(
            before < first and second < after and (planner.units[first], planner.units[second]) == pair
            for first, second in planner.waits
        )
        if not taken and not enclosing:
            planner.rows[before][push] = planner.rows[after][pop] = 1
            planner.waits.append((before, after))


def shuffle_units(planner: Planner, rng: Random) -> list[dict[str, int]]:
    """The instructions in another order of fetch, each unit's own order kept; FINISH stays last.

    The queues of the units must have room for all of their instructions.
    """
    queues = {unit: [row for row, owner in zip(planner.rows, planner.units, strict=True) if owner is unit] for unit in Unit}
    finish = queues[Unit.COMPUTE].pop()
    lots = [unit for unit, rows in queues.items() for _ in rows]
    rng.shuffle(lots)
    position = dict.fromkeys(Unit, 0)
    ordered = []
    for unit in lots:
        ordered.append(queues[unit][position[unit]])
        position[unit] += 1
    return [*ordered, finish]
