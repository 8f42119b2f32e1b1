"""Makes a failing program small: one that is still legal and still fails, with as little in it as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from vta.isa import Opcode, Program, Unit, blank_instructions, units_of
from vta.isa.instruction import FLAGS
from vta.isa.verify import verify
from vta.testing.fuzz.tokens import carrier, flags_between

__all__ = ["shrink"]

_NEIGHBORS = ((Unit.LOAD, Unit.COMPUTE), (Unit.COMPUTE, Unit.LOAD), (Unit.COMPUTE, Unit.STORE), (Unit.STORE, Unit.COMPUTE))
_SIZES = ("y_size", "x_size", "iter_out", "iter_in")
_ZEROED = (
    *("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1", "x_stride", "sram_base", "dram_base", "reset", "imm"),
    *("dst_factor_out", "dst_factor_in", "src_factor_out", "src_factor_in", "wgt_factor_out", "wgt_factor_in"),
)


def shrink(program: Program, fails: Callable[[Program], bool], limit_seconds: float = 60.0) -> Program:
    """Return the smallest program found in `limit_seconds` that verifies and for which `fails` holds, as for `program`."""
    search = _Search(program, fails, monotonic() + limit_seconds)
    while search.round():
        pass
    return search.best


class _Search:
    def __init__(self, program: Program, fails: Callable[[Program], bool], deadline: float) -> None:
        self.best = program
        self._fails = fails
        self._deadline = deadline

    def round(self) -> bool:
        """Try every kind of step once; returns whether one helped and time is left."""
        before = self.best
        for step in (self._blank, self._untie, self._drop, self._reduce, self._clear):
            step()
        return self.best is not before and monotonic() < self._deadline

    def _try(self, instructions: NDArray[np.void], image: NDArray[np.uint8] | None = None) -> bool:
        """Keep this program if it is legal and fails."""
        if monotonic() > self._deadline:
            return False
        candidate = replace(
            self.best,
            instructions=instructions,
            image=self.best.image if image is None else image,
            operators=(),
            operator_index=np.zeros(0, np.int32),
            tile_index=np.zeros(0, np.int32),
        )
        if verify(candidate) or not self._fails(candidate):
            return False
        self.best = candidate
        return True

    def _blank(self) -> None:
        """Put instructions that do nothing in the place of others, many at once first; tokens stay."""
        for start, stop in self._pieces():
            rows = self.best.instructions.copy()
            kept = [i for i in range(start, min(stop, len(rows) - 1)) if not _is_carrier(rows[i])]
            units = units_of(rows)
            for index in kept:
                flags = [int(rows[index][name]) for name in FLAGS]
                rows[index] = blank_instructions(1)[0]
                for name, value in (*carrier(Unit(int(units[index]))).items(), *zip(FLAGS, flags, strict=True)):
                    rows[index][name] = value
            if kept:
                self._try(rows)

    def _untie(self) -> None:
        """Remove tokens: a push and the pop that takes it."""
        for pair in _NEIGHBORS:
            push, pop = flags_between(*pair)
            place = 0
            while place < len(self._flagged(pair[0], push)):
                rows = self.best.instructions.copy()
                pushes, pops = self._flagged(pair[0], push), self._flagged(pair[1], pop)
                if place >= min(len(pushes), len(pops)):
                    break
                rows[push][pushes[place]] = rows[pop][pops[place]] = 0
                place += 0 if self._try(rows) else 1

    def _flagged(self, unit: Unit, flag: str) -> list[int]:
        rows = self.best.instructions
        found: list[int] = np.flatnonzero((units_of(rows) == unit) & (rows[flag] != 0)).tolist()
        return found

    def _drop(self) -> None:
        """Remove instructions that carry no tokens."""
        for start, stop in self._pieces():
            rows = self.best.instructions
            free = np.array([not any(row[name] for name in FLAGS) for row in rows])
            chosen = np.zeros(len(rows), dtype=bool)
            chosen[start : min(stop, len(rows) - 1)] = True
            if (free & chosen).any():
                self._try(rows[~(free & chosen)])

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of instructions, from the whole program down to one by one, last first."""
        size = len(self.best.instructions)
        while size:
            for start in range((len(self.best.instructions) - 1) // size * size, -1, -size):
                yield start, start + size
            size //= 2

    def _reduce(self) -> None:
        """Make sizes and fields of single instructions smaller."""
        for index in range(len(self.best.instructions) - 1):
            for name in (*_SIZES, "uop_end"):
                self._lower(index, name)
            for name in _ZEROED:
                self._set(index, name, 0)

    def _lower(self, index: int, name: str) -> None:
        least = int(self.best.instructions["uop_bgn"][index]) + 1 if name == "uop_end" else 1
        value = int(self.best.instructions[name][index])
        for smaller in (least, (value + least) // 2, value - 1):
            if least <= smaller < int(self.best.instructions[name][index]) and self._set(index, name, smaller):
                return

    def _set(self, index: int, name: str, value: int) -> bool:
        if self.best.instructions[name][index] == value:
            return False
        rows = self.best.instructions.copy()
        rows[name][index] = value
        return self._try(rows)

    def _clear(self) -> None:
        """Zero parts of the initial contents, large ones first."""
        size = len(self.best.image)
        while size >= 64:
            for start in range(0, len(self.best.image), size):
                if self.best.image[start : start + size].any():
                    image = self.best.image.copy()
                    image[start : start + size] = 0
                    self._try(self.best.instructions, image)
            size //= 4


def _is_carrier(row: np.void) -> bool:
    return bool(row["opcode"] in (Opcode.LOAD, Opcode.STORE) and row["x_size"] == 0)
