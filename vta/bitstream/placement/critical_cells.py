"""Moves the cells of long paths closer together in a design that nextpnr placed on an ECP5-85, and wrote as JSON.

nextpnr's placer weighs how critical a connection is by at most six, and not at all from a cell with five readers or more, so that
control ends up wherever its many readers are: paths go to and fro over half of the FPGA. Here the delay of every path is
estimated from the places of its cells, and tables and registers on the longest move to free places where the sum of the delays
of their connections, weighed by a high power of how critical each is (Marquardt, Betz and Rose, FPGA 2000), is least. That is
done again and again with the delays that come of it.

With the modules beside it, it stands alone but for NumPy: a build's folder has a copy of them. Called as a program, it reads a
placed netlist and writes another, without the empty tables that kept cells apart.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from .cell_mover import Mover
from .driver_copies import Copier
from .path_timing import FASTEST, GRADES, Grade, Timing
from .placed_design import Design

__all__ = ["main", "move_critical_cells"]

_ROUNDS, _MOVES = 14, 6
_SHARE = 0.5
_ENOUGH, _PATIENCE = 0.995, 4
"""Rounds that bring less than that are of no use; after more of them than that, it ends."""


def move_critical_cells(
    module: dict[str, Any], seed: int = 1, rounds: int = _ROUNDS, grade: str = FASTEST
) -> dict[str, tuple[float, float]]:
    """Give cells of `module`, as nextpnr writes a placed design, other places, and add copies of some.

    `grade` is the FPGA's speed grade, one of `GRADES`. Returns the longest path of each clock before and after, in ps, by the
    name of its net. The empty tables are no longer in it.
    """
    search = _Search(module, seed, GRADES[grade])
    before = search.longest
    search.run(rounds)
    search.design.write()
    slower = GRADES[grade].slower
    return {search.design.net_name(clock): (slower * before[clock], slower * length) for clock, length in search.longest.items()}


class _Search:
    """Moves, copies, and goes back to what was better."""

    def __init__(self, module: dict[str, Any], seed: int, grade: Grade) -> None:
        self.design = Design(module)
        self._seed = seed
        self._grade = grade
        self._start()

    def _start(self) -> None:
        self._timing, self._mover = Timing(self.design, self._grade), Mover(self.design, self._seed)
        self._copier = Copier(self.design, self._mover)
        self._analyse()
        self._seed += 1

    def _analyse(self) -> None:
        self._critical, self._scale, self.longest = self._timing.analyse()

    def _improve(self) -> float:
        """The sum of the longest paths of all clocks, after some moves."""
        for _ in range(_MOVES):
            self._mover.improve(self._timing, self._critical, self._scale)
            self._analyse()
        return sum(self.longest.values())

    def run(self, rounds: int) -> None:
        """Go on until rounds are no longer of use, or there were so many."""
        self._improve()
        self._copier.split(self._timing, self._critical, self._scale)
        self._start()
        best, best_state, since = self._improve(), self.design.state(), 0
        for _ in range(rounds):
            reached, state = self._round()
            since = 0 if reached < _ENOUGH * best else since + 1
            if reached < best:
                best, best_state = reached, state
            print(f"longest paths, estimated, of all clocks: {self._grade.slower * reached / 1000:.2f} ns", flush=True)
            if since > _PATIENCE:
                break
        self.design.put_back(best_state)
        self._start()

    def _round(self) -> tuple[float, dict[str, Any]]:
        """Copy, move, and gather if that is of use; what came of it."""
        self._copier.copy_drivers(self._timing, self._critical, self._scale)
        self._start()
        settled, state = self._improve(), self.design.state()
        self._mover.gather(self._timing, self._critical, self._scale, share=_SHARE)
        self._analyse()
        gathered = self._improve()
        if gathered < settled:
            return gathered, self.design.state()
        self.design.put_back(state)
        self._start()
        return settled, state


_WANTED = re.compile(r"Max frequency for clock +'(.*)': [\d.]+ MHz \(\w+ at ([\d.]+) MHz\)")


def main(arguments: list[str]) -> None:
    """Move cells of the placed netlist SOURCE: arguments SOURCE LOG TARGET CLOCKS GRADE.

    LOG is what nextpnr said when it placed. CLOCKS is written: what each clock is to be, and what is estimated, in MHz. GRADE is
    the FPGA's speed grade, one of `GRADES`.
    """
    source, log, target, clocks, grade = arguments
    netlist = json.loads(Path(source).read_text(encoding="utf-8"))
    (module,) = netlist["modules"].values()
    lengths = move_critical_cells(module, grade=grade)
    Path(target).write_text(json.dumps(netlist), encoding="utf-8")
    wanted = {net: float(mhz) for net, mhz in _WANTED.findall(Path(log).read_text(encoding="utf-8"))}
    found = {
        net: {"wanted_mhz": wanted[net], "estimate_mhz": round(1e6 / after, 3)}
        for net, (_, after) in lengths.items()
        if net in wanted
    }
    Path(clocks).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for net, (before, after) in lengths.items():
        print(f"longest path of {net}, estimated: {before / 1000:.2f} ns before, {after / 1000:.2f} ns after")


if __name__ == "__main__":
    main(sys.argv[1:])
