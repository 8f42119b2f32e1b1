"""Spreads a design over an ECP5-85 by look-up tables that are taken: a netlist that Yosys wrote as JSON gets empty ones.

nextpnr's placer packs tables as close as they go, up to 8 of a tile, and wires for so many are not there: the router ends with
more nets than wires in the middle of the design, while half of the FPGA is empty. Empty tables with a place of their own keep
others out. In tiles with a place for two tables of four, no carry chain passes, and in some rows no tile is so.

The file stands alone: a build's folder has a copy of it. Called as a program, it reads one netlist and writes another.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["NAME", "TABLES", "block_tables", "main"]

NAME = "$blocked$"
"""What the names of the cells that it adds begin with."""

_COLUMNS = range(2, 125)
_ROWS = tuple(row for row in range(2, 94) if row % 12 != 10)
"""Of tiles with logic; between them are rows of memories and multipliers (Project Trellis, `tilegrid.json` of LFE5UM5G-85F)."""
_SLICES = "ABCD"
_BLOCKED_SLICES = "CD"
_PERIOD = 4
"""Of so many rows, up to all but one have blocked slices."""
TABLES = 2 * len(_SLICES) * len(_COLUMNS) * len(_ROWS)
"""Look-up tables of an ECP5-85."""
_FULLEST = 0.78
"""Share of the tables that are to be used or blocked, at most."""
_TABLES_OF = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
_PORTS = {"A": "input", "B": "input", "C": "input", "D": "input", "Z": "output"}


def block_tables(netlist: dict[str, Any], top: str) -> int:
    """Block as many tables as there is place for in the module `top` of `netlist`; returns their number."""
    cells = netlist["modules"][top]["cells"]
    used = sum(_TABLES_OF.get(cell["type"], 0) for cell in cells.values())
    most = int(_FULLEST * TABLES) - used
    places: list[str] = []
    for count in range(1, _PERIOD):
        more = list(_places(count))
        if len(more) <= most:
            places = more
    for place in places:
        cells[f"{NAME}{place}"] = _empty_table(place)
    return len(places)


def _places(count: int) -> Iterator[str]:
    """The blocked places if `count` of `_PERIOD` rows have some, as nextpnr names them."""
    for row in _ROWS:
        if row * count % _PERIOD < count:
            for column in _COLUMNS:
                for name in _BLOCKED_SLICES:
                    yield from (f"X{column}/Y{row}/SLICE{name}.K{half}" for half in range(2))


def _empty_table(place: str) -> dict[str, Any]:
    return {
        "hide_name": 1,
        "type": "LUT4",
        "parameters": {"INIT": "0" * 16},
        "attributes": {"BEL": place},
        "port_directions": dict(_PORTS),
        "connections": {port: ["x"] for port in _PORTS},
    }


def main(arguments: list[str]) -> None:
    """Block tables in the module TOP: arguments SOURCE TOP TARGET."""
    source, top, target = arguments
    netlist = json.loads(Path(source).read_text(encoding="utf-8"))
    blocked = block_tables(netlist, top)
    Path(target).write_text(json.dumps(netlist), encoding="utf-8")
    print(f"tables that are kept empty: {blocked} of {TABLES}")


if __name__ == "__main__":
    main(sys.argv[1:])
