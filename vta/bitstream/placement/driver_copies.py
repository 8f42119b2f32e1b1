"""Gives readers of a cell a copy of it that is nearer to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .cell_mover import Connections, Mover, connections_of
from .path_timing import Floats, Timing
from .placed_design import Design

__all__ = ["Copier"]

_MOST, _SPAN, _FEWEST, _SPLIT = 48, 60, 12, 0.7
"""Readers and tiles of a region, at most; readers of one that is not split; and how critical a net is that is split."""
_URGENT, _GAIN = 0.92, 150.0
"""How critical connections are for which there are copies, and picoseconds that one must save."""
_SHARED = ("CLK", "LSR", "CE")
"""Inputs that a register shares with others of its tile."""


class Copier:
    """Adds copies of tables and registers at free places, which `mover` knows."""

    def __init__(self, design: Design, mover: Mover) -> None:
        self._design = design
        self._mover = mover

    def split(self, timing: Timing, critical: Floats, longest: Floats) -> int:
        """Give each region of readers of a net with many a copy of its driver; returns how many were made.

        The router shares the wires of a net as far as it goes, and takes detours of half the FPGA for it.
        """
        design, made = self._design, 0
        connections, _ = connections_of(timing, critical, longest)
        worst = np.zeros(len(design.driver))
        np.maximum.at(worst, timing.source, critical)
        for net in np.flatnonzero(worst >= _SPLIT):
            cell, output = design.driver[net]
            if len(design.readers[net]) <= _MOST or not self._is_plain(cell, output):
                continue
            readers = sorted(self._free_readers(int(net)))
            regions = list(self._regions(readers)) if readers else []
            for region in sorted(regions, key=lambda region: self._distance(cell, region))[1:]:
                columns, rows = ([values[one] for one in region] for values in (design.x, design.y))
                middle = (int(np.median(columns)), int(np.median(rows)))
                made += self._try(cell, output, set(region), middle, connections, gain=-1e12)
        return made

    def copy_drivers(self, timing: Timing, critical: Floats, longest: Floats) -> int:
        """Add copies of cells for their critical readers where others keep these from being near; returns how many."""
        design, made = self._design, 0
        connections, _ = connections_of(timing, critical, longest)
        urgent: dict[int, set[int]] = {}
        for edge in np.flatnonzero((critical >= _URGENT) & timing.wired):
            urgent.setdefault(int(timing.source[edge]), set()).add(int(timing.cell[edge]))
        near: set[int] = set()
        for net in sorted(urgent):
            cell, output = design.driver[net]
            if cell in near or not self._is_plain(cell, output):
                continue
            readers = self._with_neighbours(net, urgent[net] & self._free_readers(net))
            if not readers or all(reader in readers for reader, _ in design.readers[net]):
                continue
            if self._try(cell, output, readers, (design.x[cell], design.y[cell]), connections, gain=_GAIN):
                made += 1
                near |= self._inputs(cell, output) | readers | {cell}
        return made

    def _try(
        self, cell: int, output: str, readers: set[int], here: tuple[int, int], connections: Connections, *, gain: float
    ) -> bool:
        """Add a copy for `readers` if that saves so many picoseconds in comparison with one `here`."""
        design, inputs, group = self._design, self._inputs(cell, output), self._group(cell, output)
        ends = [
            (design.x[other], design.y[other], rest, scale)
            for part in group
            for other, rest, scale in connections.get(part, ())
            if other in readers or other in inputs
        ]
        found = self._mover.best_place(group, here, ends, [], gain=gain) if ends else None
        if found is None:
            return False
        self._mover.add(design.copy(group, readers, found), readers)
        return True

    def _is_plain(self, cell: int, output: str) -> bool:
        """Whether a copy can be made of a net's driver."""
        design = self._design
        if cell < 0 or design.kinds[cell] not in ("TRELLIS_FF", "TRELLIS_COMB"):
            return False
        if output == "Q":
            return True
        ports = design.ports[cell]
        wider = any(port in ("FXA", "FXB", "F1") for _, port in design.readers[ports[output]]) or "FXA" in ports or "FXB" in ports
        if wider or design.parameter(cell, "MODE") not in ("", "LOGIC"):
            return False
        if output == "OFX":
            return "F1" in ports and "OFX" not in design.ports[design.driver[ports["F1"]][0]]
        return output == "F" and "OFX" not in ports and any(port in ports for port in "ABCD")

    def _group(self, cell: int, output: str) -> tuple[int, ...]:
        """The cells of which a copy is made: with a choice, the other table, too."""
        if output != "OFX":
            return (cell,)
        return cell, self._design.driver[self._design.ports[cell]["F1"]][0]

    def _inputs(self, cell: int, output: str) -> set[int]:
        """The cells from which the inputs of a table, a register or a choice come."""
        ports, driver = self._design.ports, self._design.driver
        group = self._group(cell, output)
        nets = {net for part in group for port, net in ports[part].items() if port not in _SHARED}
        return {driver[net][0] for net in nets} - set(group)

    def _free_readers(self, net: int) -> set[int]:
        """Readers that may read a copy: not what shares an input with others that cannot, nor what is joined to the driver."""
        design = self._design
        bound = {
            reader
            for reader, port in design.readers[net]
            if port == "DI" or design.kinds[reader] not in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")
        }
        memories = {
            reader for reader, _ in design.readers[net] if design.kinds[reader] == "TRELLIS_COMB" and not self._is_table(reader)
        }
        return {reader for reader, _ in design.readers[net]} - bound - memories

    def _is_table(self, cell: int) -> bool:
        return self._design.parameter(cell, "MODE") in ("", "LOGIC", "CCU2")

    def _with_neighbours(self, net: int, readers: set[int]) -> set[int]:
        """`readers`, and those in the same tiles: what registers of a tile share must stay one net."""
        design = self._design
        tiles = {(design.x[reader], design.y[reader]) for reader in readers}
        return {reader for reader in self._free_readers(net) if (design.x[reader], design.y[reader]) in tiles}

    def _distance(self, cell: int, region: list[int]) -> float:
        x, y = self._design.x, self._design.y
        return sum(abs(x[one] - x[cell]) + abs(y[one] - y[cell]) for one in region) / len(region)

    def _regions(self, readers: list[int]) -> Iterator[list[int]]:
        """Halves of halves, until each is small; a tile is in one of them."""
        design = self._design
        columns, rows = [design.x[cell] for cell in readers], [design.y[cell] for cell in readers]
        wide, high = max(columns) - min(columns), max(rows) - min(rows)
        small = len(readers) <= _MOST and wide + high <= _SPAN
        along = design.x if wide >= high else design.y
        middle = sorted(along[cell] for cell in readers)[len(readers) // 2]
        low = [cell for cell in readers if along[cell] < middle]
        if small or len(readers) < _FEWEST or not low:
            yield readers
        else:
            yield from self._regions(low)
            yield from self._regions([cell for cell in readers if along[cell] >= middle])
