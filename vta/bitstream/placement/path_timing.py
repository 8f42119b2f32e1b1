"""Estimates how long the paths of a placed design are, from the places of its cells.

Delays are those of speed grade 8 of an ECP5-5G, in picoseconds, as nextpnr reports them of Project Trellis's database. Tables,
registers, carries and wires of other grades are slower by one factor, and counted as on that one; memories and multipliers are
slower by factors of their own. So picoseconds of a slow grade are these times the first factor (`GRADES`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .placed_design import CLOCKS, DIRECT, Design

__all__ = ["FASTEST", "GRADES", "Floats", "Grade", "Indices", "Timing", "wire_delay"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_NEAR, _FAR, _FIXED = 108.0, 54.0, 324.0
"""Picoseconds of a wire: for each of the first five tiles in either direction, for each tile beyond, and for any wire."""
_CLOCK_TO_Q = {"TRELLIS_FF": 309.0, "DP16KD": 1419.0, "MULT18X18D": 2521.0, "IOLOGIC": 500.0, "DQSBUFM": 200.0}
_WRITTEN = ("WD", "WRE", "WAD0", "WAD1", "WAD2", "WAD3")
_SETUP = {"LSR": 225.0, **dict.fromkeys(_WRITTEN, 0.0), "WRE": 208.0}
_BLOCK_SETUP = {"DP16KD": 85.0, "MULT18X18D": 173.0, "IOLOGIC": 100.0, "DQSBUFM": 500.0}
_TABLE_DELAYS = {
    **{(port, "F"): 141.0 for port in "ABCD"},
    **{(port, "OFX"): 239.0 for port in "ABCD"},
    **{(port, "FCO"): 278.0 for port in "ABCD"},
    ("FCI", "F"): 257.0,
    ("FCI", "FCO"): 43.0,
    ("M", "OFX"): 151.0,
    ("F1", "OFX"): 98.0,
    ("FXA", "OFX"): 141.0,
    ("FXB", "OFX"): 141.0,
}
_WRITE_PORTS = {
    "A0": "WADO3",
    "B0": "WADO1",
    "C0": "WADO2",
    "D0": "WADO0",
    "A1": "WDO1",
    "B1": "WDO3",
    "C1": "WDO0",
    "D1": "WDO2",
}
_PRODUCT = 2538.0


class Grade(NamedTuple):
    """How slow a speed grade is in relation to the fastest: its tables and wires, its memories, and its multipliers."""

    slower: float
    memories: float
    multipliers: float


FASTEST = "5G-8"
GRADES = {
    FASTEST: Grade(1.0, 1.0, 1.0),
    "8": Grade(1.28, 3.0, 1.21),
    "7": Grade(1.49, 3.56, 1.37),
    "6": Grade(1.7, 4.11, 1.53),
}
"""Of the FPGAs of the family: the first is the only one of an ECP5-5G."""


def _arcs(design: Design, cell: int, grade: Grade) -> Iterator[tuple[str, str | None, float]]:
    """Of each input: its port, the output to which it goes, and the delay; None where a path ends, and its setup time."""
    kind, ports = design.kinds[cell], design.ports[cell]
    if kind == "TRELLIS_COMB":
        yield from _through(_TABLE_DELAYS, ports)
        yield from ((port, None, _SETUP[port]) for port in ports if port in _WRITTEN)
    elif kind == "TRELLIS_RAMW":
        yield from _through(dict.fromkeys(_WRITE_PORTS.items(), 0.0), ports)
    elif kind == "MULT18X18D" and not _has_registers(design, cell):
        factors, product = ([port for port in ports if re.fullmatch(rf"[{letters}]\d+", port)] for letters in ("AB", "P"))
        yield from ((port, output, _PRODUCT * grade.multipliers / grade.slower) for port in factors for output in product)
    elif kind == "TRELLIS_FF" or kind in _BLOCK_SETUP:
        inputs = [port for port in ports if port not in CLOCKS and design.driver[ports[port]][0] != cell]
        yield from ((port, None, _BLOCK_SETUP.get(kind, _SETUP.get(port, 0.0))) for port in inputs)


def _through(delays: dict[tuple[str, str], float], ports: dict[str, int]) -> Iterator[tuple[str, str | None, float]]:
    return ((port, output, delay) for (port, output), delay in delays.items() if port in ports and output in ports)


def _has_registers(design: Design, cell: int) -> bool:
    return design.parameter(cell, "REG_INPUTA_CLK") not in ("", "NONE")


class Timing:
    """Estimates how long paths are, from the places of their cells: in picoseconds of the fastest grade, each clock by itself."""

    def __init__(self, design: Design, grade: Grade = GRADES[FASTEST]) -> None:
        self._design = design
        source, cell, target, delay, direct = ([] for _ in range(5))
        for index in range(len(design.names)):
            for port, output, time in _arcs(design, index, grade):
                source.append(design.ports[index][port])
                cell.append(index)
                target.append(design.ports[index][output] if output else -1)
                delay.append(time)
                direct.append(port in DIRECT)
        driver = np.array([place[0] for place in design.driver], np.intp)
        keep = driver[np.array(source, np.intp)] >= 0
        self.source, self.cell, self.target = (np.array(values, np.intp)[keep] for values in (source, cell, target))
        self.from_cell = driver[self.source]
        self._delay, self.wired = np.array(delay, float)[keep], ~np.array(direct, bool)[keep]
        nets = len(driver)
        clocks = np.array([design.clock_of(index) for index in range(len(design.names))], np.intp)
        starts = [_starts(design, index, port, grade) for index, port in design.driver]
        self._start = np.array(starts, float)
        ends = self.target < 0
        self._order = _levels(self.source[~ends], self.target[~ends], nets)
        self._inner = np.flatnonzero(~ends)
        level = self._order[self.target[self._inner]]
        sort = np.argsort(level, kind="stable")
        self._inner = self._inner[sort]
        bounds = np.searchsorted(level[sort], np.arange(1, level.max(initial=0) + 2))
        self._forward = []
        for first, last in pairwise(bounds):
            edges = self._inner[first:last]
            self._forward.append((edges, self.target[edges]))
        self._ends = np.flatnonzero(ends)
        self._end_clock = clocks[self.cell[self._ends]]
        self._net_clock = np.where(driver >= 0, clocks[np.maximum(driver, 0)], -1)
        self.clocks = [int(clock) for clock in np.unique(self._end_clock) if clock >= 0]

    def analyse(self) -> tuple[Floats, Floats, dict[int, float]]:
        """How critical each connection is, 1 on a longest path; the longest path of its clock, in ps; and those of all clocks."""
        wires = self._wires()
        delay = self._delay + np.where(self.wired, wires, 0.0)
        critical, scale, longest = np.zeros(len(delay)), np.ones(len(delay)), {}
        for clock in self.clocks:
            arrival = np.where(self._net_clock == clock, self._start, -np.inf)
            for edges, targets in self._forward:
                np.maximum.at(arrival, targets, arrival[self.source[edges]] + delay[edges])
            rest = np.full(len(arrival), -np.inf)
            ends = self._ends[self._end_clock == clock]
            np.maximum.at(rest, self.source[ends], delay[ends])
            for edges, targets in reversed(self._forward):
                np.maximum.at(rest, self.source[edges], rest[targets] + delay[edges])
            through = np.full(len(delay), -np.inf)
            through[ends] = arrival[self.source[ends]] + delay[ends]
            through[self._inner] = arrival[self.source[self._inner]] + delay[self._inner] + rest[self.target[self._inner]]
            longest[clock] = max(float(through.max(initial=0.0)), 1.0)
            more = through / longest[clock] > critical
            critical[more], scale[more] = through[more] / longest[clock], longest[clock]
        return critical, scale, longest

    def without_wires(self, critical: Floats, longest: Floats) -> Floats:
        """Picoseconds of the longest path through each connection, but for the wire of the connection itself."""
        return critical * longest - self._wires()

    def _wires(self) -> Floats:
        x, y = np.array(self._design.x, float), np.array(self._design.y, float)
        return np.asarray(wire_delay(np.abs(x[self.from_cell] - x[self.cell]), np.abs(y[self.from_cell] - y[self.cell])))


def wire_delay(columns: Any, rows: Any) -> Any:
    """Picoseconds of a wire over so many columns and rows, as nextpnr estimates them."""
    return _FIXED + sum(_FAR * length + (_NEAR - _FAR) * np.minimum(length, 5) for length in (columns, rows))


def _starts(design: Design, cell: int, port: str, grade: Grade) -> float:
    """When a net's value is there after the clock; infinitely early if no path begins with it."""
    kind = design.kinds[cell] if cell >= 0 else ""
    if kind == "MULT18X18D" and not _has_registers(design, cell):
        return -np.inf
    others = {"DP16KD": grade.memories / grade.slower, "MULT18X18D": grade.multipliers / grade.slower}
    return _CLOCK_TO_Q.get(kind, -np.inf) * others.get(kind, 1.0)


def _levels(source: Indices, target: Indices, nets: int) -> Indices:
    """The greatest number of tables between a net and where its paths begin; nets of loops have 0."""
    waits = np.bincount(target, minlength=nets)
    order = np.argsort(source, kind="stable")
    bounds = np.searchsorted(source[order], np.arange(nets + 1))
    targets = target[order].tolist()
    levels, left = [0] * nets, waits.tolist()
    ready = np.flatnonzero(waits == 0).tolist()
    while ready:
        net = ready.pop()
        for position in range(bounds[net], bounds[net + 1]):
            following = targets[position]
            levels[following] = max(levels[following], levels[net] + 1)
            left[following] -= 1
            if not left[following]:
                ready.append(following)
    return np.array([0 if wait else level for level, wait in zip(levels, left, strict=True)], np.intp)
