"""Checks that cells were moved and copied only: that every cell of a placed netlist reads what it read before, or a copy of it.

A copy is called after its cell: ``NAME$copy$N``. Cells and copies compute the same as before as long as each has the parameters
of its cell, and reads at every input the same output as its cell did, or that output of a copy. The netlists are compared,
without anything of the programs that move cells. So are places as far as cells share them: no two in one, and an input without a
wire has its driver beside it.

The file stands alone: a build's folder has a copy of it. Called as a program, it reads both netlists.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["differences", "main"]

_EMPTY_TABLE = "$blocked$"
"""What the names of tables begin with that only keep others out, and go."""
_COPY = re.compile(r"(.+)\$copy\$\d+$")
_COPIED = ("TRELLIS_COMB", "TRELLIS_FF")
_TILE = re.compile(r"X\d+/Y\d+/")
_SLICE = re.compile(r"X\d+/Y\d+/SLICE[A-D]\.")
_PAIR = re.compile(r"X\d+/Y\d+/SLICE[A-D]\.\w+")
_BESIDE = {"F1": _SLICE, "DI": _PAIR, "FXA": _TILE, "FXB": _TILE}
"""Inputs without a wire, and which part of the place their driver has in common with them; of a table and its register it is all
but for their kind."""
_MOST = 3
"""Differences that are told."""

Cells = dict[str, dict[str, Any]]
Source = tuple[str, str]
"""What drives a net: a cell, a copy as what it is a copy of, and its output; or an empty name and the net's own number."""
Sources = dict[Any, Source]
"""By the numbers of nets."""


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """What of module `after` is not as in module `before`, both as nextpnr writes a placed design, in words."""
    old: Cells = {name: cell for name, cell in before["cells"].items() if not name.startswith(_EMPTY_TABLE)}
    new: Cells = after["cells"]
    if before.get("ports") != after.get("ports"):
        yield "the ports of the design are others"
    yield from (f"{name} is missing" for name in old if name not in new)
    originals = {name: _original(name, old) for name in new}
    compared = _Compared(_sources(old, {}), _sources(new, originals))
    yield from (f"{name} is new, and no copy" for name, original in originals.items() if original not in old)
    yield from _driven_twice(new)
    for name, original in originals.items():
        if original in old:
            yield from compared.changes(name, new[name], original, old[original])
    yield from _wrong_places(new)


class _Compared:
    """Cells with what drives each net before and after."""

    def __init__(self, before: Sources, after: Sources) -> None:
        self._before, self._after = before, after

    def changes(self, name: str, cell: dict[str, Any], original: str, was: dict[str, Any]) -> Iterator[str]:
        """How a cell differs from what it was, or from what it is a copy of."""
        copied = name != original
        if cell["type"] != was["type"] or (copied and cell["type"] not in _COPIED):
            yield f"{name} is {cell['type']}, and {original} was {was['type']}"
            return
        # What a register takes of the table beside it, its copy takes by a wire.
        by_wire = copied and was["type"] == "TRELLIS_FF" and bool(was["connections"].get("DI"))
        expected = was["parameters"] | ({"SD": "0 "} if by_wire else {})
        if cell["parameters"] != expected:
            yield f"{name} has other parameters than {original} had"
        moved = {"DI": "M"} if by_wire else {}
        read = {moved.get(port, port): self._found(bits, self._before) for port, bits in _ports(was, "input")}
        reads = {port: self._found(bits, self._after) for port, bits in _ports(cell, "input")}
        for port in sorted(read.keys() | reads.keys()):
            if reads.get(port, []) != read.get(port, []):
                yield f"{name} reads {_words(reads.get(port))} at its input {port}; {original} read {_words(read.get(port))}"
        if not copied and dict(_ports(cell, "output")) != dict(_ports(was, "output")):
            yield f"{name} drives other nets than before"

    @staticmethod
    def _found(bits: list[Any], sources: Sources) -> list[Source]:
        return [sources.get(bit, ("", str(bit))) for bit in bits]


def _original(name: str, old: Cells) -> str:
    """Of which cell this one is a copy; itself if it is none."""
    copied = None if name in old else _COPY.match(name)
    return copied[1] if copied else name


def _ports(cell: dict[str, Any], direction: str) -> Iterator[tuple[str, list[Any]]]:
    return ((port, bits) for port, bits in cell["connections"].items() if cell["port_directions"][port] == direction)


def _outputs(cell: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((port, bit) for port, bits in _ports(cell, "output") for bit in bits)


def _sources(cells: Cells, originals: dict[str, str]) -> Sources:
    return {bit: (originals.get(name, name), port) for name, cell in cells.items() for port, bit in _outputs(cell)}


def _driven_twice(cells: Cells) -> Iterator[str]:
    drivers: dict[Any, str] = {}
    for name, cell in cells.items():
        for _, bit in _outputs(cell):
            if drivers.setdefault(bit, name) != name:
                yield f"{name} drives the same net as {drivers[bit]}"


def _words(sources: list[Source] | None) -> str:
    return ", ".join(f"{port} of {cell}" if cell else f"net {port}" for cell, port in sources or ()) or "nothing"


def _place(cell: dict[str, Any]) -> str:
    return str(cell["attributes"].get("NEXTPNR_BEL", ""))


def _wrong_places(cells: Cells) -> Iterator[str]:
    taken: dict[str, str] = {}
    drivers = {bit: cell for cell in cells.values() for _, bit in _outputs(cell)}
    for name, cell in cells.items():
        place = _place(cell)
        if place and taken.setdefault(place, name) != name:
            yield f"{name} and {taken[place]} are both at {place}"
        for port in _BESIDE.keys() & cell["connections"].keys():
            for bit in cell["connections"][port]:
                if bit in drivers and _shared(place, _BESIDE[port]) != _shared(_place(drivers[bit]), _BESIDE[port]):
                    yield f"{name} is at {place}, and what its input {port} is joined to at {_place(drivers[bit])}"


def _shared(place: str, part: re.Pattern[str]) -> str:
    found = part.match(place)
    return found[0].replace("FF", "K") if found else place


def main(arguments: list[str]) -> int:
    """Compare the netlists BEFORE and AFTER; returns 1 if cells were not only moved and copied, and says what else there is."""
    before, after = (json.loads(Path(name).read_text(encoding="utf-8"))["modules"] for name in arguments)
    found = [] if before.keys() == after.keys() else ["the modules have other names"]
    found += [words for name in before if name in after for words in differences(before[name], after[name])]
    if not found:
        print("every cell reads what it read before its moves, or a copy of it")
        return 0
    more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
    print(f"ERROR: moved cells changed the design: {'; '.join(found[:_MOST])}{more}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
