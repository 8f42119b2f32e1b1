"""Moves the cells of long paths closer together in a design that nextpnr placed on an ECP5-85, and wrote as JSON.

nextpnr's placer weighs how critical a connection is by at most six, and not at all from a cell with five readers or more, so that
control ends up wherever its many readers are: paths go to and fro over half of the FPGA. Here the delay of every path is
estimated from the places of its cells, and tables and registers on the longest move to free places where the sum of the delays
of their connections, weighed by a high power of how critical each is (Marquardt, Betz and Rose, FPGA 2000), is least. That is
done again and again with the delays that come of it.

The file stands alone but for NumPy: a build's folder has a copy of it. Called as a program, it reads a placed netlist and writes
another, without the empty tables that kept cells apart.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Design", "Mover", "Timing", "main", "move_critical_cells"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_EMPTY_TABLE = "$blocked$"
"""What the names of tables begin with that only keep others out."""
_WIDTH, _HEIGHT = 127, 96
_COLUMNS, _ROWS = range(2, 125), tuple(row for row in range(2, 94) if row % 12 != 10)
"""Of tiles with logic."""
_PLACE = re.compile(r"X(\d+)/Y(\d+)/(?:SLICE([A-D])\.(K|FF)([01])|(.*))$")

_NEAR, _FAR, _FIXED = 108.0, 54.0, 324.0
"""Picoseconds of a wire: for each of the first five tiles in either direction, for each tile beyond, and for any wire."""
_CLOCK_TO_Q = {"TRELLIS_FF": 309.0, "DP16KD": 1419.0, "MULT18X18D": 2521.0, "IOLOGIC": 500.0, "DQSBUFM": 200.0}
_SETUP = {"LSR": 225.0, "CE": 0.0, "DI": 0.0, "M": 0.0}
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
_WRITE_PORTS = {"A0": "WADO3", "B0": "WADO1", "C0": "WADO2", "D0": "WADO0", "A1": "WDO1", "B1": "WDO3", "C1": "WDO0", "D1": "WDO2"}
_PRODUCT = 2538.0
_DIRECT = ("DI", "F1", "FXA", "FXB", "FCI")
"""Inputs that take no wire: they are joined to a table beside them."""
_CLOCKS = ("CLK", "CLKA", "CLKB", "CLK0", "SCLK", "WCK")
"""Delays and times of speed grade 8 of an ECP5-5G, in picoseconds (Project Trellis's database of cells, as nextpnr reports them)."""


class Design:
    """Cells, nets and places of a placed netlist."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.cells = {
            name: cell for name, cell in module["cells"].items() if not name.startswith(_EMPTY_TABLE) and cell["type"] != "$scopeinfo"
        }
        self.names = list(self.cells)
        self.kinds = [cell["type"] for cell in self.cells.values()]
        self.ports: list[dict[str, int]] = []
        """Of each cell: its connected ports, and the number of the net of each."""
        self.driver: list[tuple[int, str]] = []
        """Of each net: cell and port; the cell is -1 where there is none."""
        self.readers: list[list[tuple[int, str]]] = []
        self.x, self.y, self.slot = ([-1] * len(self.cells) for _ in range(3))
        """Column, row, and number of the table or register in its tile."""
        self._module = module
        self.bits: list[int] = []
        """Of each net: its number in the netlist."""
        numbers: dict[int, int] = {}
        for index, cell in enumerate(self.cells.values()):
            ports = {}
            for port, bits in cell["connections"].items():
                if bits and isinstance(bits[0], int):
                    net = numbers.setdefault(bits[0], len(numbers))
                    if net == len(self.driver):
                        self.bits.append(bits[0])
                        self.driver.append((-1, ""))
                        self.readers.append([])
                    ports[port] = net
                    if cell["port_directions"][port] == "output":
                        self.driver[net] = (index, port)
                    else:
                        self.readers[net].append((index, port))
            self.ports.append(ports)
            place = _PLACE.match(cell["attributes"].get("NEXTPNR_BEL", ""))
            if place:
                self.x[index], self.y[index] = int(place[1]), int(place[2])
                if place[3]:
                    self.slot[index] = 2 * "ABCD".index(place[3]) + int(place[5])

    def copy(self, cell: int, readers: set[int], place: tuple[int, int, int]) -> int:
        """Add a copy of a table or a register at `place`, which the cells `readers` read from now on; returns its number."""
        name, bit, copied = f"{self.names[cell]}$copy${len(self.names)}", max(self.bits) + 1, len(self.names)
        output = "Q" if self.kinds[cell] == "TRELLIS_FF" else "F"
        old, new = self.ports[cell][output], len(self.bits)
        made: dict[str, Any] = json.loads(json.dumps(self.cells[self.names[cell]]))
        ports = {port: net for port, net in self.ports[cell].items() if port != "DI"} | {output: new}
        if "DI" in self.ports[cell]:
            ports["M"] = self.ports[cell]["DI"]
            made["port_directions"] = {port: made["port_directions"].get(port, "input") for port in ports}
            made["parameters"]["SD"] = "0 "
        self.bits.append(bit)
        made["connections"] = {port: [self.bits[net]] for port, net in ports.items()}
        made["port_directions"] = {port: made["port_directions"][port] for port in ports}
        self._module["netnames"][name] = {"hide_name": 0, "bits": [bit], "attributes": {}}
        self.cells[name] = made
        self.names.append(name)
        self.kinds.append(self.kinds[cell])
        self.ports.append(ports)
        for values, value in zip((self.x, self.y, self.slot), place, strict=True):
            values.append(value)
        self.driver.append((copied, output))
        self.readers.append([reader for reader in self.readers[old] if reader[0] in readers])
        self.readers[old] = [reader for reader in self.readers[old] if reader[0] not in readers]
        for reader, port in self.readers[new]:
            self.ports[reader][port] = new
            self.cells[self.names[reader]]["connections"][port] = [bit]
        for port, net in ports.items():
            if port != output:
                self.readers[net].append((copied, port))
        return copied

    def clock_of(self, cell: int) -> int:
        """The net of a cell's clock, or -1."""
        return next((self.ports[cell][port] for port in _CLOCKS if port in self.ports[cell]), -1)

    def parameter(self, cell: int, name: str) -> str:
        """One of a cell's parameters, without the space that nextpnr writes behind words that look like numbers."""
        return str(self.cells[self.names[cell]]["parameters"].get(name, "")).strip()


def _arcs(design: Design, cell: int) -> Iterator[tuple[str, str | None, float]]:
    """Of each input: its port, the output to which it goes, and the delay; None where a path ends, and its setup time."""
    kind, ports = design.kinds[cell], design.ports[cell]
    if kind == "TRELLIS_COMB":
        for (port, output), delay in _TABLE_DELAYS.items():
            if port in ports and output in ports:
                yield port, output, delay
        for port in ports:
            if port in ("WD", "WRE") or port.startswith("WAD"):
                yield port, None, 208.0 if port == "WRE" else 0.0
    elif kind == "TRELLIS_RAMW":
        for port, output in _WRITE_PORTS.items():
            if port in ports and output in ports:
                yield port, output, 0.0
    elif kind == "TRELLIS_FF":
        for port in ports.keys() & _SETUP.keys():
            yield port, None, _SETUP[port]
    elif kind == "MULT18X18D" and not _has_registers(design, cell):
        outputs = [port for port in ports if re.fullmatch(r"P\d+", port)]
        for port in ports:
            if re.fullmatch(r"[AB]\d+", port):
                yield from ((port, output, _PRODUCT) for output in outputs)
    elif kind in _BLOCK_SETUP:
        for port in ports:
            if port not in _CLOCKS and design.driver[ports[port]][0] != cell:
                yield port, None, _BLOCK_SETUP[kind]


def _has_registers(design: Design, cell: int) -> bool:
    return "REG_INPUTA_CLK" in design.cells[design.names[cell]]["parameters"]


class Timing:
    """Estimates how long paths are, from the places of their cells: in picoseconds, for each clock by itself."""

    def __init__(self, design: Design) -> None:
        self._design = design
        source, cell, target, delay, direct = ([] for _ in range(5))
        for index in range(len(design.names)):
            for port, output, time in _arcs(design, index):
                source.append(design.ports[index][port])
                cell.append(index)
                target.append(design.ports[index][output] if output else -1)
                delay.append(time)
                direct.append(port in _DIRECT)
        driver = np.array([place[0] for place in design.driver], np.intp)
        keep = driver[np.array(source, np.intp)] >= 0
        self.source, self.cell, self.target = (np.array(values, np.intp)[keep] for values in (source, cell, target))
        self.from_cell = driver[self.source]
        self._delay, self.wired = np.array(delay, float)[keep], ~np.array(direct, bool)[keep]
        nets = len(driver)
        clocks = np.array([design.clock_of(index) for index in range(len(design.names))], np.intp)
        starts = [_starts(design, index, port) for index, port in design.driver]
        self._start = np.array(starts, float)
        ends = self.target < 0
        self._order = _levels(self.source[~ends], self.target[~ends], nets)
        self._inner = np.flatnonzero(~ends)
        level = self._order[self.target[self._inner]]
        sort = np.argsort(level, kind="stable")
        self._inner = self._inner[sort]
        bounds = np.searchsorted(level[sort], np.arange(1, level.max(initial=0) + 2))
        self._forward = []
        for first, last in zip(bounds, bounds[1:], strict=False):
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


def _starts(design: Design, cell: int, port: str) -> float:
    """When a net's value is there after the clock; infinitely early if no path begins with it."""
    kind = design.kinds[cell] if cell >= 0 else ""
    if kind == "MULT18X18D" and not _has_registers(design, cell):
        return -np.inf
    return _CLOCK_TO_Q.get(kind, -np.inf)


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


_PINS = 24
"""Nets of more readers count with their critical connections only, and not with their length."""
_HEEDED, _ARCS = 0.5, 40
"""Connections less critical than that are not heeded, nor are more of one cell."""
_LENGTH = 2.0
"""Picoseconds of critical wires that a tile more of any net must save."""
_GAIN, _COPY_GAIN = 5.0, 150.0
"""Picoseconds that a move must save."""
_RADIUS = 8
_AROUND = np.array(
    [
        (dx, dy)
        for dx in range(-_RADIUS, _RADIUS + 1)
        for dy in range(-_RADIUS, _RADIUS + 1)
        if abs(dx) + abs(dy) <= _RADIUS
    ]
)
_TILES = {(column, row) for column in _COLUMNS for row in _ROWS}


_NEAREST = sorted(((int(dx), int(dy)) for dx, dy in _AROUND), key=lambda step: abs(step[0]) + abs(step[1]))
_WEAK = 0.01
"""What a connection that is not critical weighs; one on a longest path weighs 1."""
_MOST, _SPAN, _FEWEST, _SPLIT = 48, 60, 12, 0.7
"""Readers and tiles of a region, at most; readers of one that is not split; and how critical a net is that is split."""
_CRITICAL, _URGENT = 0.8, 0.92
"""How critical the connections of cells are that move, and that are copied."""


def _connections(
    timing: Timing, critical: Floats, longest: Floats
) -> tuple[dict[int, list[tuple[int, float, float]]], set[int]]:
    """Of each cell, the wires of some weight: the cell at the other end, the longest path without the wire, and the longest.

    And the cells with critical ones.
    """
    result: dict[int, list[tuple[int, float, float]]] = {}
    chosen: set[int] = set()
    rests = timing.without_wires(critical, longest)
    for edge in np.flatnonzero((critical >= _HEEDED) & timing.wired):
        one, other = int(timing.from_cell[edge]), int(timing.cell[edge])
        if one != other:
            rest, scale = float(rests[edge]), float(longest[edge])
            result.setdefault(one, []).append((other, rest, scale))
            result.setdefault(other, []).append((one, rest, scale))
            if critical[edge] >= _CRITICAL:
                chosen |= {one, other}
    return result, chosen


def _shortest(start: Floats, here: Indices, there: Indices, fixed: Floats, weights: Floats) -> Floats:
    """Places [groups, 2] where the weighed lengths of the connections are least: `there` is a group, or -1 and `fixed` the place."""
    places, count = start.copy(), len(start)
    inner = there >= 0
    for _ in range(6):
        for axis in range(2):
            ends = np.where(inner, places[np.maximum(there, 0), axis], fixed[:, axis])
            pulls = weights / np.maximum(np.abs(places[here, axis] - ends), 1.0)
            diagonal = np.bincount(here, pulls, count) + np.bincount(there[inner], pulls[inner], count) + 1e-3
            sums = np.bincount(here[~inner], pulls[~inner] * fixed[~inner, axis], count) + 1e-3 * places[:, axis]
            one, other, pull = here[inner], there[inner], pulls[inner]

            def times(values: Floats) -> Floats:
                crossed = np.bincount(one, pull * values[other], count) + np.bincount(other, pull * values[one], count)
                return np.asarray(diagonal * values - crossed)

            places[:, axis] = _solved(times, diagonal, sums, places[:, axis])
    return np.clip(places, 2, (_WIDTH - 3, _HEIGHT - 3))


def _solved(times: Callable[[Floats], Floats], diagonal: Floats, sums: Floats, start: Floats) -> Floats:
    """The values whose product with a matrix, as `times` works it out, is `sums`: by conjugate gradients."""
    values = start.copy()
    rest = sums - times(values)
    step = rest / diagonal
    size = float(rest @ step)
    for _ in range(200):
        if size < 1e-9:
            break
        image = times(step)
        length = size / max(float(step @ image), 1e-30)
        values += length * step
        rest -= length * image
        scaled = rest / diagonal
        following = float(rest @ scaled)
        step = scaled + (following / size) * step
        size = following
    return values


class Mover:
    """Moves cells to free places of tables and registers."""

    def __init__(self, design: Design, seed: int) -> None:
        self._design = design
        self._random = random.Random(seed)
        self._tables: dict[tuple[int, int, int], int] = {}
        self._registers: dict[tuple[int, int, int], int] = {}
        self._shut: set[tuple[int, int, int]] = set()
        """Slices (column, row, number) with carries or memories."""
        self._memories: set[tuple[int, int]] = set()
        """Tiles with memories of tables: their registers stay as they are."""
        self._tile_key: dict[int, tuple[object, ...]] = {}
        self._slice_key: dict[int, tuple[object, ...]] = {}
        for cell, kind in enumerate(design.kinds):
            place = (design.x[cell], design.y[cell], design.slot[cell])
            if kind == "TRELLIS_FF":
                self._registers[place] = cell
                self._set_keys(cell)
            elif kind == "TRELLIS_COMB":
                self._tables[place] = cell
                mode = design.parameter(cell, "MODE")
                if mode not in ("", "LOGIC"):
                    self._shut.add((place[0], place[1], place[2] // 2))
                    if mode != "CCU2":
                        self._memories.add(place[:2])
        self._nets = [
            sorted({net for net in ports.values() if len(design.readers[net]) <= _PINS and design.driver[net][0] >= 0})
            for ports in design.ports
        ]
        self._users = [
            [design.driver[net][0], *(cell for cell, _ in design.readers[net])] if design.driver[net][0] >= 0 else []
            for net in range(len(design.driver))
        ]
        self._group = {cell: group for group in self._groups() for cell in group}

    def _set_keys(self, cell: int) -> None:
        design, ports = self._design, self._design.ports[cell]
        self._tile_key[cell] = (
            ports.get("CLK"),
            ports.get("LSR"),
            *(design.parameter(cell, name) for name in ("CLKMUX", "LSRMUX", "SRMODE")),
        )
        self._slice_key[cell] = (ports.get("CE"), design.parameter(cell, "CEMUX"), design.parameter(cell, "GSR"))

    def _groups(self) -> Iterator[tuple[int, ...]]:
        """The cells that move together: a table, a register, both, or what is in a slice whose tables are joined."""
        design = self._design
        for (x, y, slot), _ in self._tables.items():
            if slot % 2 or (x, y, slot // 2) in self._shut:
                continue
            pair = self._slice(x, y, slot)
            if not self._is_joined(pair):
                continue
            wider = self._is_wider(pair)
            other = self._slice(x, y, slot ^ 2)
            if wider == 1 and slot % 4 == 0 and self._is_wider(other) == 1 and (x, y, (slot ^ 2) // 2) not in self._shut:
                pair += other
            elif wider:
                continue
            yield tuple(found for found in pair if found is not None)
        for (x, y, slot), cell in self._tables.items():
            pair = [self._tables.get((x, y, slot - slot % 2 + half)) for half in range(2)]
            if (x, y, slot // 2) in self._shut or self._is_joined(pair):
                continue
            register = self._registers.get((x, y, slot))
            yield (cell, register) if register is not None and "DI" in design.ports[register] else (cell,)
        for cell in self._registers.values():
            if "DI" not in design.ports[cell]:
                x, y, slot = design.x[cell], design.y[cell], design.slot[cell]
                pair = [self._tables.get((x, y, slot - slot % 2 + half)) for half in range(2)]
                if (x, y) not in self._memories and not self._is_joined(pair):
                    yield (cell,)

    def _is_joined(self, pair: Iterable[int | None]) -> bool:
        return any(cell is not None and ("OFX" in self._design.ports[cell]) for cell in pair)

    def _slice(self, x: int, y: int, slot: int) -> list[int | None]:
        places = [(x, y, slot + half) for half in range(2)]
        return [*(self._tables.get(place) for place in places), *(self._registers.get(place) for place in places)]

    def _is_wider(self, cells: Iterable[int | None]) -> int:
        """How many of the tables of a slice are joined with those of another: 1 if these two slices are all."""
        design, joined = self._design, 0
        for cell in cells:
            if cell is None:
                continue
            ports = design.ports[cell]
            if "FXA" in ports or "FXB" in ports:
                joined += 1
            if "OFX" in ports:
                readers = [reader for reader, port in design.readers[ports["OFX"]] if port in ("FXA", "FXB")]
                near = all(
                    (design.x[reader], design.y[reader], design.slot[reader] // 4) == (design.x[cell], design.y[cell], design.slot[cell] // 4)
                    for reader in readers
                )
                joined += (1 if near else 9) if readers else 0
        return min(joined, 1) if joined < 3 else joined

    def improve(self, timing: Timing, critical: Floats, longest: Floats, *, power: float) -> int:
        """Move about half of the critical cells; returns how many moved.

        `longest` are the longest paths with which `critical` compares each connection, in picoseconds.
        """
        arcs, chosen = _connections(timing, critical, longest)
        groups = [self._group[cell] for cell in sorted(chosen) if cell in self._group and self._random.random() < 0.5]
        self._random.shuffle(groups)
        return sum(self._move(group, arcs, power) for group in dict.fromkeys(groups))

    def gather(self, timing: Timing, critical: Floats, longest: Floats, *, power: float, share: float) -> None:
        """Move all critical cells at once, for `share` of the way to where their wires would be shortest together."""
        design = self._design
        arcs, chosen = _connections(timing, critical, longest)
        groups = list(dict.fromkeys(self._group[cell] for cell in sorted(chosen) if cell in self._group))
        number = {cell: index for index, group in enumerate(groups) for cell in group}
        here, there, fixed, weights, urgent = [], [], [], [], np.zeros(len(groups))
        for index, group in enumerate(groups):
            for cell in group:
                for other, rest, scale in arcs.get(cell, ()):
                    wire = wire_delay(abs(design.x[cell] - design.x[other]), abs(design.y[cell] - design.y[other]))
                    here.append(index)
                    there.append(number.get(other, -1))
                    fixed.append((design.x[other], design.y[other]))
                    weights.append(((rest + wire) / scale) ** power)
                    urgent[index] = max(urgent[index], (rest + wire) / scale)
                for net in self._nets[cell]:
                    for other in self._users[net]:
                        here.append(index)
                        there.append(number.get(other, -1))
                        fixed.append((design.x[other], design.y[other]))
                        weights.append(_WEAK / len(self._users[net]))
        start = np.array([(design.x[group[0]], design.y[group[0]]) for group in groups], float)
        goals = start + share * (
            _shortest(start, np.array(here), np.array(there), np.array(fixed, float), np.array(weights)) - start
        )
        for index in np.argsort(-urgent, kind="stable"):
            goal = np.rint(goals[index]).astype(int)
            for dx, dy in _NEAREST:
                tile = (int(goal[0] + dx), int(goal[1] + dy))
                slot = self._free(groups[index], tile) if tile in _TILES else None
                if slot is not None:
                    self._put(groups[index], (*tile, slot))
                    break

    def split(self, timing: Timing, critical: Floats, longest: Floats, *, power: float) -> int:
        """Give each region of readers of a net with many a copy of its driver; returns how many were made.

        The router shares the wires of a net as far as it goes, and takes detours of half the FPGA for it.
        """
        design, made = self._design, 0
        arcs, _ = _connections(timing, critical, longest)
        worst = np.zeros(len(design.driver))
        np.maximum.at(worst, timing.source, critical)
        for net in np.flatnonzero(worst >= _SPLIT):
            cell, output = design.driver[net]
            if cell < 0 or not self._is_copied(cell, output) or len(design.readers[net]) <= _MOST:
                continue
            readers = sorted({reader for reader, port in design.readers[net] if design.x[reader] >= 0})
            direct = {reader for reader, port in design.readers[net] if port == "DI"}
            here = (design.x[cell], design.y[cell])
            regions = self._regions(readers)
            regions.sort(key=lambda region: sum(abs(design.x[one] - here[0]) + abs(design.y[one] - here[1]) for one in region) / len(region))
            inputs = self._inputs(cell, output)
            for region in regions[1:]:
                there = set(region) - direct
                ends = [
                    (design.x[other], design.y[other], rest, scale)
                    for other, rest, scale in arcs.get(cell, ())
                    if other in there or other in inputs
                ]
                middle = tuple(int(np.median([values[one] for one in region])) for values in (design.x, design.y))
                if not there or not ends:
                    continue
                found = self._best((cell,), (middle[0], middle[1]), ends, [], power, gain=-1e9)
                if found is not None:
                    self._copy(cell, there, found)
                    made += 1
        return made

    def _regions(self, readers: list[int]) -> list[list[int]]:
        design = self._design
        columns, rows = [design.x[cell] for cell in readers], [design.y[cell] for cell in readers]
        wide, high = max(columns) - min(columns), max(rows) - min(rows)
        if len(readers) <= _MOST and wide + high <= _SPAN or len(readers) < _FEWEST:
            return [readers]
        along = design.x if wide >= high else design.y
        order = sorted(readers, key=lambda cell: along[cell])
        middle = len(order) // 2
        return [*self._regions(order[:middle]), *self._regions(order[middle:])]

    def _is_copied(self, cell: int, output: str) -> bool:
        design, kind = self._design, self._design.kinds[cell]
        if kind == "TRELLIS_FF":
            return True
        ports = design.ports[cell]
        plain = kind == "TRELLIS_COMB" and "OFX" not in ports and design.parameter(cell, "MODE") in ("", "LOGIC")
        plain = plain and any(port in ports for port in "ABCD")
        return plain and not any(port in ("F1", "FXA", "FXB") for _, port in design.readers[ports[output]])

    def _inputs(self, cell: int, output: str) -> set[int]:
        """The cells from which a table's inputs, or a register's, come."""
        design = self._design
        return {design.driver[net][0] for port, net in design.ports[cell].items() if port not in (output, "CLK", "LSR", "CE")}

    def _copy(self, cell: int, readers: set[int], place: tuple[int, int, int]) -> int:
        copied = self._design.copy(cell, readers, place)
        is_register = self._design.kinds[cell] == "TRELLIS_FF"
        (self._registers if is_register else self._tables)[place] = copied
        if is_register:
            self._set_keys(copied)
        return copied

    def copy_drivers(self, timing: Timing, critical: Floats, longest: Floats, *, power: float) -> int:
        """Add copies of cells for their critical readers where others keep these from being near; returns how many."""
        design = self._design
        arcs, _ = _connections(timing, critical, longest)
        urgent: dict[int, set[int]] = {}
        for edge in np.flatnonzero((critical >= _URGENT) & timing.wired):
            urgent.setdefault(int(timing.from_cell[edge]), set()).add(int(timing.cell[edge]))
        made, near = 0, set[int]()
        for cell in sorted(urgent):
            if cell in near:
                continue
            readers = urgent[cell]
            output = {"TRELLIS_FF": "Q", "TRELLIS_COMB": "F"}.get(design.kinds[cell], "")
            if output not in design.ports[cell] or not self._is_copied(cell, output):
                continue
            others = design.readers[design.ports[cell][output]]
            if any(port == "DI" and reader in readers for reader, port in others) or len(others) <= len(readers):
                continue
            inputs = self._inputs(cell, output)
            ends = [
                (design.x[other], design.y[other], rest, scale)
                for other, rest, scale in arcs.get(cell, ())
                if other in readers or other in inputs
            ]
            here = (design.x[cell], design.y[cell])
            found = self._best((cell,), here, ends, [], power, gain=_COPY_GAIN)
            if found is not None:
                copied = self._copy(cell, readers, found)
                made += 1
                near |= inputs | readers | {cell, copied}
        return made

    def _move(self, group: tuple[int, ...], connections: dict[int, list[tuple[int, float, float]]], power: float) -> bool:
        design = self._design
        x, y = design.x, design.y
        arcs = [
            (x[other], y[other], rest, scale)
            for cell in group
            for other, rest, scale in connections.get(cell, ())
            if other not in group
        ]
        if not arcs:
            return False
        here = (x[group[0]], y[group[0]])
        found = self._best(group, here, arcs, list(self._boxes(group)), power)
        if found is None:
            return False
        self._put(group, found)
        return True

    def _best(
        self,
        group: tuple[int, ...],
        here: tuple[int, int],
        arcs: list[tuple[int, int, float, float]],
        boxes: list[tuple[int, int, int, int]],
        power: float,
        gain: float = 0.0,
    ) -> tuple[int, int, int] | None:
        """The free place where the group's connections cost least, if that is so much less than `here`."""
        ends = np.array(sorted(arcs, key=lambda arc: arc[2] / arc[3], reverse=True)[:_ARCS], float)
        bounds = np.array(boxes, float).reshape(-1, 4)
        centre = self._centre(here, ends, power)
        half = ((centre[0] + here[0]) // 2, (centre[1] + here[1]) // 2)
        tried = np.concatenate([[here], _AROUND + centre, _AROUND + half])
        dx, dy = (np.abs(tried[:, axis, None] - ends[:, axis]) for axis in range(2))
        through = ends[:, 2] + wire_delay(dx, dy)
        costs = (ends[:, 3] / power * (through / ends[:, 3]) ** power).sum(1)
        outside = (np.maximum(bounds[:, 2 * axis] - tried[:, axis, None], 0) for axis in range(2))
        beyond = (np.maximum(tried[:, axis, None] - bounds[:, 2 * axis + 1], 0) for axis in range(2))
        costs += _LENGTH * sum(part.sum(1) for parts in (outside, beyond) for part in parts)
        for index in np.argsort(costs, kind="stable"):
            if costs[index] > costs[0] - (gain or _GAIN):
                return None
            tile = (int(tried[index, 0]), int(tried[index, 1]))
            slot = self._free(group, tile) if tile in _TILES else None
            if slot is not None:
                return (*tile, slot)
        return None

    @staticmethod
    def _centre(here: tuple[int, int], ends: Floats, power: float) -> tuple[int, int]:
        """Where the wires of a cell would be shortest if they were as critical as now."""
        wires = wire_delay(np.abs(ends[:, 0] - here[0]), np.abs(ends[:, 1] - here[1]))
        weights = ((ends[:, 2] + wires) / ends[:, 3]) ** (power - 1)
        return _median(ends[:, 0], weights), _median(ends[:, 1], weights)

    def _boxes(self, group: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
        """Of each net of the group: the bounds of its other cells."""
        x, y = self._design.x, self._design.y
        for net in {net for cell in group for net in self._nets[cell]}:
            others = [cell for cell in self._users[net] if cell not in group]
            if others:
                columns, rows = [x[cell] for cell in others], [y[cell] for cell in others]
                yield min(columns), max(columns), min(rows), max(rows)

    def _free(self, group: tuple[int, ...], tile: tuple[int, int]) -> int | None:
        """A slot of `tile` to which the group can go: that of its first cell."""
        design = self._design
        registers = [cell for cell in group if design.kinds[cell] == "TRELLIS_FF"]
        if registers and not self._takes(tile, registers, group):
            return None
        first, slots = design.slot[group[0]], [design.slot[cell] for cell in group]
        step = 4 if min(slots) // 2 != max(slots) // 2 else 2 if any("OFX" in design.ports[cell] for cell in group) else 1
        for slot in range(first % step, 8, step):
            if all(self._fits(cell, (*tile, slot + design.slot[cell] - first), step > 1) for cell in group):
                return slot
        return None

    def _takes(self, tile: tuple[int, int], registers: list[int], group: tuple[int, ...]) -> bool:
        """Whether a tile's registers have the clock and the reset of others."""
        if tile in self._memories:
            return False
        for slot in range(8):
            there = self._registers.get((*tile, slot))
            if there is not None and there not in group and self._tile_key[there] != self._tile_key[registers[0]]:
                return False
        return all(self._tile_key[cell] == self._tile_key[registers[0]] for cell in registers)

    def _fits(self, cell: int, place: tuple[int, int, int], whole: bool) -> bool:
        x, y, slot = place
        half = (x, y, slot ^ 1)
        if (x, y, slot // 2) in self._shut and self._design.kinds[cell] == "TRELLIS_COMB":
            return False
        if whole and (half in self._tables or half in self._registers or place in self._tables or place in self._registers):
            return False
        if self._design.kinds[cell] == "TRELLIS_COMB":
            return place not in self._tables
        if place in self._registers:
            return False
        other = self._registers.get(half)
        if other is not None and self._slice_key[other] != self._slice_key[cell]:
            return False
        table = self._tables.get(place)
        return table is None or "M" not in self._design.ports[cell] or "OFX" not in self._design.ports[table]

    def _put(self, group: tuple[int, ...], place: tuple[int, int, int]) -> None:
        design = self._design
        first = design.slot[group[0]]
        for cell in group:
            at = self._registers if design.kinds[cell] == "TRELLIS_FF" else self._tables
            del at[design.x[cell], design.y[cell], design.slot[cell]]
        for cell in group:
            at = self._registers if design.kinds[cell] == "TRELLIS_FF" else self._tables
            design.x[cell], design.y[cell], design.slot[cell] = place[0], place[1], place[2] + design.slot[cell] - first
            at[design.x[cell], design.y[cell], design.slot[cell]] = cell


def _median(values: Floats, weights: Floats) -> int:
    """The value that has half of the weights on either side."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return int(values[order[np.searchsorted(total, total[-1] / 2)]])


_ROUNDS, _MOVES = 12, 6
_POWER = 16.0


def move_critical_cells(module: dict[str, Any], seed: int = 1) -> list[float]:
    """Give cells of `module`, as nextpnr writes a placed design, other places; returns the longest path before and after, in ps.

    The empty tables are no longer in it.
    """
    design = Design(module)
    timing, mover = Timing(design), Mover(design, seed)
    critical, scale, longest = timing.analyse()
    first = sum(longest.values())

    def improve() -> float:
        nonlocal critical, scale, longest
        for _ in range(_MOVES):
            moved = mover.improve(timing, critical, scale, power=_POWER)
            critical, scale, longest = timing.analyse()
        print(moved, {k: round(v) for k, v in longest.items()}, int((critical > 0.9).sum()), flush=True)
        return sum(longest.values())

    best = improve()
    print("split", mover.split(timing, critical, scale, power=_POWER))
    timing, mover = Timing(design), Mover(design, seed)
    critical, scale, longest = timing.analyse()
    print(longest)
    best = improve()
    for number in range(1, _ROUNDS):
        made = mover.copy_drivers(timing, critical, scale, power=_POWER)
        timing, mover = Timing(design), Mover(design, seed + number)
        critical, scale, longest = timing.analyse()
        print("copies", made, longest)
        best = improve()
        places = (design.x.copy(), design.y.copy(), design.slot.copy())
        mover.gather(timing, critical, scale, power=_POWER, share=0.5)
        critical, scale, longest = timing.analyse()
        print("gather", longest)
        if improve() < best:
            best = sum(longest.values())
        else:
            design.x, design.y, design.slot = places
            mover = Mover(design, seed + number)
            critical, scale, longest = timing.analyse()
    places = (design.x, design.y, design.slot)
    module["cells"] = design.cells
    for name, x, y, slot in zip(design.names, *places, strict=True):
        if slot >= 0:
            letter = "FF" if design.cells[name]["type"] == "TRELLIS_FF" else "K"
            design.cells[name]["attributes"]["NEXTPNR_BEL"] = f"X{x}/Y{y}/SLICE{'ABCD'[slot // 2]}.{letter}{slot % 2}"
    return [first, best]


def main(arguments: list[str]) -> None:
    """Move cells of the placed netlist SOURCE: arguments SOURCE TARGET."""
    source, target = arguments
    netlist = json.loads(Path(source).read_text(encoding="utf-8"))
    (module,) = netlist["modules"].values()
    before, after = move_critical_cells(module)
    Path(target).write_text(json.dumps(netlist), encoding="utf-8")
    print(f"longest paths, estimated, of all clocks: {before / 1000:.2f} ns before, {after / 1000:.2f} ns after")


if __name__ == "__main__":
    main(sys.argv[1:])
