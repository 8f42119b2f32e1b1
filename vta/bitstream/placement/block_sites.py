"""Sites for the memories and multipliers of a design on an ECP5-85, in netlists that Yosys and nextpnr wrote as JSON.

nextpnr's placer finds good places for all cells at once, and then moves each memory and multiplier to whatever site of its kind
is drawn within a radius, past and over others: wires become half as long again. Here the sites are chosen with the whole
design in view, and nextpnr places the rest around them. Cells move to where their wires are short (a quadratic system in the
bounds of each net, Spindler et al., IEEE TCAD 27 (2008) 1398), tables and registers are pushed apart to what the tiles hold (cell
shifting, Viswanathan and Chu, IEEE TCAD 24 (2005) 722), and memories and multipliers are drawn ever stronger to the sites that an
assignment of least distance gives them (Kuhn, 1955). In the end pairs of them are exchanged while that shortens wires.

The file stands alone but for NumPy: a build's folder has a copy of it. Called as a program, it reads two netlists and writes
another.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SITES", "assign", "main", "place_blocks"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_GROUPS = (4, 13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105, 114)
"""The columns at which groups of memories or multipliers begin (Project Trellis, `tilegrid.json` of LFE5UM5G-85F)."""
SITES = {
    "DP16KD": [(group + 2 * k, row, f"EBR{k}") for row in (22, 46, 70, 82) for group in _GROUPS for k in range(4)],
    "MULT18X18D": [(group + k, row, f"MULT18_{k}") for row in (10, 34, 58) for group in _GROUPS for k in (0, 1, 4, 5)],
}
"""Column, row and name of each site, by the type of its cells."""

_WIDTH, _HEIGHT = 127, 96
_LOGIC_ROWS, _LOGIC_COLUMNS = range(2, 94), range(2, 125)
_TABLES_OF_A_TILE = 8
_FULL = 0.6
"""Share of a tile's tables that is to be used at most."""
_BIN = 4
"""Side of the squares in which tables are counted, in tiles."""
_ROUNDS, _LAST_ROUNDS = 40, 6
_PULL = 0.02
"""By which the pull to where cells are to go grows in each round; nets pull with 1 or so."""
_PINS = 300
"""Nets of more cells, such as clocks and resets, pull at nothing."""
_SHIFTS = 60
_CROWDED = 1.3
_SOFT = 1.5
"""Keeps bounds of bins from meeting, in the formula of the shifts."""
_EXCHANGES = 40
"""Exchanges that are tried for each block."""


def assign(costs: Floats) -> Indices:
    """Return the column of each row, no column twice, such that the sum of `costs` [rows, columns] is least.

    There are as many columns as rows, or more.
    """
    rows, columns = costs.shape
    of_row, of_column = np.zeros(rows + 1), np.zeros(columns + 1)
    row_at, before = np.zeros(columns + 1, np.intp), np.zeros(columns + 1, np.intp)
    for row in range(1, rows + 1):
        row_at[0], column = row, 0
        least, seen = np.full(columns + 1, np.inf), np.zeros(columns + 1, bool)
        while True:
            seen[column] = True
            reduced = costs[row_at[column] - 1] - of_row[row_at[column]] - of_column[1:]
            better = ~seen[1:] & (reduced < least[1:])
            least[1:][better], before[1:][better] = reduced[better], column
            column = int(np.where(seen, np.inf, least)[1:].argmin()) + 1
            step = least[column]
            of_row[row_at[seen]] += step
            of_column[seen] -= step
            least[~seen] -= step
            if row_at[column] == 0:
                break
        while column:
            row_at[column] = row_at[before[column]]
            column = int(before[column])
    chosen = np.zeros(rows, np.intp)
    taken = np.flatnonzero(row_at[1:])
    chosen[row_at[1:][taken] - 1] = taken
    return chosen


class _Design:
    """Cells and nets of a packed netlist."""

    def __init__(self, module: dict[str, Any]) -> None:
        cells = {name: cell for name, cell in module["cells"].items() if cell["type"] != "$scopeinfo"}
        self.names = list(cells)
        self.kinds = np.array([cell["type"] for cell in cells.values()], str)
        given = [re.match(r"X(\d+)/Y(\d+)/", cell["attributes"].get("BEL", "")) for cell in cells.values()]
        self.fixed = np.array([place is not None for place in given], bool)
        self.start = np.array(
            [(float(place[1]), float(place[2])) if place else (_WIDTH / 2, _HEIGHT / 2) for place in given], float
        ).reshape(-1, 2)
        users: dict[int, set[int]] = {}
        for index, cell in enumerate(cells.values()):
            for bits in cell["connections"].values():
                for bit in bits:
                    if isinstance(bit, int):
                        users.setdefault(bit, set()).add(index)
        self.nets = [sorted(net) for net in users.values() if 2 <= len(net) <= _PINS]
        self.pins = np.array([cell for net in self.nets for cell in net], np.intp)
        self.sizes = np.array([len(net) for net in self.nets], np.intp)
        self.net_of_pin = np.repeat(np.arange(len(self.nets)), self.sizes)
        self.first_pins = np.cumsum(self.sizes) - self.sizes
        self.pin_counts = np.bincount(self.pins, minlength=len(self.names)).astype(float)

    def of_kind(self, kind: str) -> Indices:
        """The cells of a type that have no place of their own."""
        return np.flatnonzero((self.kinds == kind) & ~self.fixed)

    def length(self, places: Floats) -> float:
        """Half the perimeters of all nets."""
        sides, first = places[self.pins], self.first_pins
        return float((np.maximum.reduceat(sides, first) - np.minimum.reduceat(sides, first)).sum())


def _pulled(design: _Design, at: Floats, goals: Floats, pulls: Floats, fixed: npt.NDArray[np.bool_]) -> Floats:
    """One coordinate [cells] of all cells after nets and `pulls` to their `goals` had their way; `fixed` cells stay."""
    pins, nets = design.pins, design.net_of_pin
    order = np.lexsort((at[pins], nets))
    low, high = order[design.first_pins], order[design.first_pins + design.sizes - 1]
    inner = np.ones(len(pins), bool)
    inner[low] = inner[high] = False
    low_cells, high_cells, shares = pins[low], pins[high], 1.0 / (design.sizes - 1)
    one = np.concatenate([low_cells, pins[inner], pins[inner]])
    other = np.concatenate([high_cells, low_cells[nets[inner]], high_cells[nets[inner]]])
    weights = np.concatenate([shares, shares[nets[inner]], shares[nets[inner]]]) / np.maximum(np.abs(at[one] - at[other]), 1.0)
    count = len(at)
    own = pulls / np.maximum(np.abs(at - goals), 1.0)
    diagonal = np.bincount(one, weights, count) + np.bincount(other, weights, count) + own

    def times(values: Floats) -> Floats:
        crossed = np.bincount(one, weights * values[other], count) + np.bincount(other, weights * values[one], count)
        return np.where(fixed, 0.0, diagonal * values - crossed)

    # Conjugate gradients, of the cells that move.
    result = at.copy()
    scale = np.where(fixed, 0.0, 1.0 / np.maximum(diagonal, 1e-12))
    rest = np.where(fixed, 0.0, own * goals - times(result))
    step = scale * rest
    size = float(rest @ step)
    for _ in range(80):
        if size < 1e-9:
            break
        image = times(step)
        length = size / max(float(step @ image), 1e-30)
        result += length * step
        rest -= length * image
        scaled = scale * rest
        following = float(rest @ scaled)
        step = scaled + (following / size) * step
        size = following
    return result


def _solved(design: _Design, places: Floats, goals: Floats, pulls: Floats, fixed: npt.NDArray[np.bool_]) -> Floats:
    sides = [_pulled(design, places[:, axis], goals[:, axis], pulls, fixed) for axis in range(2)]
    return np.where(fixed[:, None], places, np.clip(np.stack(sides, 1), 1, (_WIDTH - 2, _HEIGHT - 2)))


def _capacities() -> Floats:
    """Tables that each bin may hold."""
    result = np.zeros((-(-_WIDTH // _BIN), -(-_HEIGHT // _BIN)))
    blocks = {row for sites in SITES.values() for _, row, _ in sites}
    for row in _LOGIC_ROWS:
        for column in _LOGIC_COLUMNS:
            result[column // _BIN, row // _BIN] += 0 if row in blocks else _FULL * _TABLES_OF_A_TILE
    return np.maximum(result, 4.0)


def _pushed_apart(places: Floats, capacities: Floats) -> Floats:
    """`places` of tables, or of registers, after crowded bins grew at the cost of their neighbours."""
    result, bins = places.copy(), capacities.shape
    for _ in range(_SHIFTS):
        for axis in range(2):
            inside = np.clip((result / _BIN).astype(np.intp), 0, np.array(bins) - 1)
            counts = np.bincount(inside[:, 0] * bins[1] + inside[:, 1], minlength=capacities.size).reshape(bins)
            use = counts / capacities
            crowded = use.max()
            use = use if axis == 0 else use.T
            bounds = np.repeat(np.arange(len(use) + 1.0)[:, None] * _BIN, use.shape[1], axis=1)
            left, right = use[:-1], use[1:]
            moved = (bounds[:-2] * (right + _SOFT) + bounds[2:] * (left + _SOFT)) / (left + right + 2 * _SOFT)
            bounds[1:-1] = np.where(np.maximum(left, right) > 1.0, moved, bounds[1:-1])
            along, across = inside[:, axis], inside[:, 1 - axis]
            start, end = bounds[along, across], bounds[along + 1, across]
            result[:, axis] = start + (end - start) * (result[:, axis] / _BIN - along)
        result = np.clip(result, 1, (_WIDTH - 2, _HEIGHT - 2))
        if crowded < _CROWDED:
            break
    return result


class _Placer:
    """Places of all cells, [cells, 2]: column and row."""

    def __init__(self, design: _Design, seed: int) -> None:
        self._design = design
        self._random = np.random.default_rng(seed)
        self._capacities = _capacities()
        self._logic = [design.of_kind(kind) for kind in ("TRELLIS_COMB", "TRELLIS_FF")]
        self.blocks = {kind: design.of_kind(kind) for kind in SITES}
        self._sites = {kind: np.array([site[:2] for site in sites], float) for kind, sites in SITES.items()}
        self._fixed = design.fixed.copy()
        self.places = design.start + np.where(design.fixed[:, None], 0.0, self._random.normal(size=design.start.shape))

    def place(self) -> None:
        """Find a site for each block."""
        design = self._design
        for _ in range(3):
            self.places = _solved(design, self.places, self.places, np.zeros(len(self.places)), self._fixed)
        for number in range(1, _ROUNDS + 1):
            goals, pulls = self._goals(_PULL * number)
            for kind, cells in self.blocks.items():
                distances = np.abs(self.places[cells][:, None] - self._sites[kind]).sum(2)
                goals[cells] = self._sites[kind][assign(distances)]
                pulls[cells] = _PULL * number * design.pin_counts[cells]
            self.places = goals if number == _ROUNDS else _solved(design, self.places, goals, pulls, self._fixed)
        self._exchange()
        for blocks in self.blocks.values():
            self._fixed[blocks] = True
        for number in range(_ROUNDS - _LAST_ROUNDS, _ROUNDS):
            goals, pulls = self._goals(_PULL * number)
            self.places = goals if number == _ROUNDS - 1 else _solved(design, self.places, goals, pulls, self._fixed)
        self._exchange()

    def _goals(self, pull: float) -> tuple[Floats, Floats]:
        """Where cells are to go, and how strongly: tables and registers apart, others nowhere."""
        goals, pulls = self.places.copy(), np.zeros(len(self.places))
        for cells in self._logic:
            goals[cells], pulls[cells] = _pushed_apart(self.places[cells], self._capacities), pull
        return goals, pulls

    def _exchange(self) -> None:
        """Move blocks to free sites, or exchange two, where that shortens wires."""
        nets = self._design.nets
        of_cell: dict[int, set[int]] = {int(cell): set() for cells in self.blocks.values() for cell in cells}
        for net, users in enumerate(nets):
            for cell in users:
                if cell in of_cell:
                    of_cell[cell].add(net)
        xs, ys = self.places[:, 0].tolist(), self.places[:, 1].tolist()

        def length(touched: set[int]) -> float:
            total = 0.0
            for net in touched:
                columns, rows = [xs[cell] for cell in nets[net]], [ys[cell] for cell in nets[net]]
                total += max(columns) - min(columns) + max(rows) - min(rows)
            return total

        for kind, cells in self.blocks.items():
            holder = {(xs[cell], ys[cell]): int(cell) for cell in cells}
            for cell, number in zip(
                self._random.choice(cells, _EXCHANGES * len(cells)) if len(cells) else (),
                self._random.integers(len(SITES[kind]), size=_EXCHANGES * len(cells)),
                strict=True,
            ):
                mine, site = int(cell), (float(SITES[kind][number][0]), float(SITES[kind][number][1]))
                other, old = holder.get(site), (xs[mine], ys[mine])
                if other == mine:
                    continue
                touched = of_cell[mine] | (of_cell[other] if other is not None else set())
                before = length(touched)
                xs[mine], ys[mine] = site
                if other is not None:
                    xs[other], ys[other] = old
                if length(touched) < before:
                    holder[site] = mine
                    del holder[old]
                    if other is not None:
                        holder[old] = other
                    continue
                xs[mine], ys[mine] = old
                if other is not None:
                    xs[other], ys[other] = site
        self.places = np.stack([np.array(xs), np.array(ys)], 1)


def place_blocks(packed: dict[str, Any], seed: int = 1) -> dict[str, str]:
    """Return the site of each memory and multiplier of `packed`, a module as nextpnr writes it after packing, as it names sites.

    Cells with a place of their own stay there. The result is empty for what has more blocks than there are sites.
    """
    design = _Design(packed)
    placer = _Placer(design, seed)
    if not design.nets or any(len(cells) > len(SITES[kind]) for kind, cells in placer.blocks.items()):
        return {}
    placer.place()
    result = {}
    for kind, cells in placer.blocks.items():
        names = {site[:2]: site[2] for site in SITES[kind]}
        for cell in cells:
            column, row = (int(value) for value in placer.places[cell])
            result[design.names[cell]] = f"X{column}/Y{row}/{names[column, row]}"
    return result


def main(arguments: list[str]) -> None:
    """Choose sites for the module TOP: arguments SOURCE TOP PACKED TARGET; PACKED is SOURCE after nextpnr packed it."""
    source, top, packed, target = arguments
    (module,) = json.loads(Path(packed).read_text(encoding="utf-8"))["modules"].values()
    sites = place_blocks(module)
    netlist = json.loads(Path(source).read_text(encoding="utf-8"))
    for name, site in sites.items():
        netlist["modules"][top]["cells"][name]["attributes"]["BEL"] = site
    Path(target).write_text(json.dumps(netlist), encoding="utf-8")
    print(f"sites chosen for memories and multipliers: {len(sites)}")


if __name__ == "__main__":
    main(sys.argv[1:])
