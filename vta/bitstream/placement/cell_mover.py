"""Moves tables and registers of a placed design to free places, where critical wires are shorter."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from .path_timing import Floats, Indices, Timing, wire_delay
from .placed_design import Design

__all__ = ["Connections", "Mover", "connections_of"]

Connections = dict[int, list[tuple[int, float, float]]]
"""Of each cell, wires of some weight: the cell at the other end, the longest path but for the wire, and the longest of all."""

_WIDTH, _HEIGHT = 127, 96
_COLUMNS, _ROWS = range(2, 125), tuple(row for row in range(2, 94) if row % 12 != 10)
"""Of tiles with logic."""
_PINS = 24
"""Nets of more readers count with their critical connections only, and not with their length."""
_HEEDED, _ARCS = 0.5, 40
"""Connections less critical than that are not heeded, nor are more of one cell."""
_LENGTH = 2.0
"""Picoseconds of critical wires that a tile more of any net must save."""
_GAIN = 5.0
"""Picoseconds that a move must save."""
_RADIUS = 8
_AROUND = np.array(
    [(dx, dy) for dx in range(-_RADIUS, _RADIUS + 1) for dy in range(-_RADIUS, _RADIUS + 1) if abs(dx) + abs(dy) <= _RADIUS]
)
_TILES = {(column, row) for column in _COLUMNS for row in _ROWS}


_NEAREST = sorted(((int(dx), int(dy)) for dx, dy in _AROUND), key=lambda step: abs(step[0]) + abs(step[1]))
_WEAK = 0.01
"""What a connection that is not critical weighs; one on a longest path weighs 1."""
_HOLD = 1e-3
"""What holds a cell where it is."""
_CRITICAL = 0.8
"""How critical the connections of cells are that move."""
_HEAVY = 16.0
"""The power of how critical a connection is, by which it is weighed."""


def connections_of(timing: Timing, critical: Floats, longest: Floats) -> tuple[Connections, set[int]]:
    """The wires of some weight, and the cells with critical ones."""
    result: Connections = {}
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
    """Places [groups, 2] where the weighed lengths of all connections, those of `here`, are least.

    `there` is the other group, or -1 where `fixed` is the other place.
    """
    places = start.copy()
    for _ in range(6):
        for axis in range(2):
            places[:, axis] = _pulled(places[:, axis], here, there, fixed[:, axis], weights)
    return np.clip(places, 2, (_WIDTH - 3, _HEIGHT - 3))


def _pulled(places: Floats, here: Indices, there: Indices, fixed: Floats, weights: Floats) -> Floats:
    """One coordinate of the groups where the squares of their connections are least, in relation to their lengths now."""
    count, inner = len(places), there >= 0
    ends = np.where(inner, places[np.maximum(there, 0)], fixed)
    pulls: Floats = np.asarray(weights / np.maximum(np.abs(places[here] - ends), 1.0), float)
    one, other, pull = here[inner], there[inner], pulls[inner]
    diagonal = np.bincount(here, pulls, count) + np.bincount(other, pull, count) + _HOLD
    sums = np.bincount(here[~inner], pulls[~inner] * fixed[~inner], count) + _HOLD * places

    def times(values: Floats) -> Floats:
        crossed = np.bincount(one, pull * values[other], count) + np.bincount(other, pull * values[one], count)
        return np.asarray(diagonal * values - crossed)

    return _solved(times, np.asarray(diagonal, float), np.asarray(sums, float), places)


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
        """The cells that move together: a table, a register, both, or what is in slices whose tables are joined."""
        design, joined = self._design, self._joined()
        held: set[tuple[int, int, int]] = set()
        for group in set(joined.values()):
            slices = dict.fromkeys((design.x[cell], design.y[cell], design.slot[cell] // 2) for cell in group)
            held |= slices.keys()
            if len({place[:2] for place in slices}) == 1 and not slices.keys() & self._shut:
                places = [(x, y, 2 * number + half) for x, y, number in sorted(slices) for half in range(2)]
                cells = [at.get(place) for at in (self._tables, self._registers) for place in places]
                yield tuple(cell for cell in cells if cell is not None)
        fixed = self._shut | held
        for (x, y, slot), cell in self._tables.items():
            if (x, y, slot // 2) in fixed:
                continue
            register = self._registers.get((x, y, slot))
            yield (cell, register) if register is not None and "DI" in design.ports[register] else (cell,)
        for (x, y, slot), cell in self._registers.items():
            if "DI" not in design.ports[cell] and (x, y) not in self._memories and (x, y, slot // 2) not in held:
                yield (cell,)

    def _joined(self) -> dict[int, tuple[int, ...]]:
        """Of each table that is joined with others, for a choice between them: all of these."""
        design = self._design
        groups: dict[int, tuple[int, ...]] = {}
        for cell in self._tables.values():
            for port in ("F1", "FXA", "FXB"):
                if port in design.ports[cell]:
                    other = design.driver[design.ports[cell][port]][0]
                    group = tuple(dict.fromkeys((*groups.get(cell, (cell,)), *groups.get(other, (other,)))))
                    groups |= dict.fromkeys(group, group)
        return groups

    def add(self, copies: tuple[int, ...], readers: set[int]) -> None:
        """Take copies of cells, whose `readers` have other nets than before."""
        design = self._design
        for cell in copies:
            at = self._registers if design.kinds[cell] == "TRELLIS_FF" else self._tables
            at[design.x[cell], design.y[cell], design.slot[cell]] = cell
        for cell in (*copies, *readers):
            if design.kinds[cell] == "TRELLIS_FF":
                self._set_keys(cell)

    def improve(self, timing: Timing, critical: Floats, longest: Floats) -> int:
        """Move about half of the critical cells; returns how many moved.

        `longest` are the longest paths with which `critical` compares each connection, in picoseconds.
        """
        arcs, chosen = connections_of(timing, critical, longest)
        groups = [self._group[cell] for cell in sorted(chosen) if cell in self._group and self._random.random() < 0.5]
        self._random.shuffle(groups)
        return sum(self._move(group, arcs) for group in dict.fromkeys(groups))

    def gather(self, timing: Timing, critical: Floats, longest: Floats, *, share: float) -> None:
        """Move all critical cells at once, for `share` of the way to where their wires would be shortest together."""
        design = self._design
        arcs, chosen = connections_of(timing, critical, longest)
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
                    weights.append(((rest + wire) / scale) ** _HEAVY)
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

    def _move(self, group: tuple[int, ...], connections: Connections) -> bool:
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
        found = self.best_place(group, here, arcs, list(self._boxes(group)))
        if found is None:
            return False
        self._put(group, found)
        return True

    def best_place(
        self,
        group: tuple[int, ...],
        here: tuple[int, int],
        arcs: list[tuple[int, int, float, float]],
        boxes: list[tuple[int, int, int, int]],
        gain: float = 0.0,
    ) -> tuple[int, int, int] | None:
        """The free place where the group's connections cost least, if that is so much less than `here`."""
        ends = np.array(sorted(arcs, key=lambda arc: arc[2] / arc[3], reverse=True)[:_ARCS], float)
        bounds = np.array(boxes, float).reshape(-1, 4)
        centre = self._centre(here, ends)
        half = ((centre[0] + here[0]) // 2, (centre[1] + here[1]) // 2)
        tried = np.concatenate([[here], _AROUND + centre, _AROUND + half])
        dx, dy = (np.abs(tried[:, axis, None] - ends[:, axis]) for axis in range(2))
        through = ends[:, 2] + wire_delay(dx, dy)
        costs = (ends[:, 3] / _HEAVY * (through / ends[:, 3]) ** _HEAVY).sum(1)
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
    def _centre(here: tuple[int, int], ends: Floats) -> tuple[int, int]:
        """Where the wires of a cell would be shortest if they were as critical as now."""
        wires = wire_delay(np.abs(ends[:, 0] - here[0]), np.abs(ends[:, 1] - here[1]))
        weights = ((ends[:, 2] + wires) / ends[:, 3]) ** (_HEAVY - 1)
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
        if any("OFX" in design.ports[cell] for cell in group):
            step = 8 if min(slots) // 4 != max(slots) // 4 else 4 if min(slots) // 2 != max(slots) // 2 else 2
        else:
            step = 1
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
        # A register that does not come with its table takes the input M, which the choice among tables needs.
        return table is None or "OFX" not in self._design.ports[table]

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
