"""A design that nextpnr placed on an ECP5, as it writes it in JSON: cells, nets, and places that can be changed."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

__all__ = ["CLOCKS", "DIRECT", "Design"]

_EMPTY_TABLE = "$blocked$"
"""What the names of tables begin with that only keep others out."""
_PLACE = re.compile(r"X(\d+)/Y(\d+)/(?:SLICE([A-D])\.(K|FF)([01])|(.*))$")
CLOCKS = ("CLK", "CLKA", "CLKB", "CLK0", "SCLK", "WCK")
DIRECT = ("DI", "F1", "FXA", "FXB", "FCI")
"""Inputs that take no wire: they are joined to a table beside them."""
_CHANGING = ("names", "kinds", "originals", "ports", "driver", "readers", "bits", "x", "y", "slot")


class Design:
    """Cells, nets and places of a placed netlist. What changes is written into the netlist by `write` only."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._module = module
        self._cells = {name: cell for name, cell in module["cells"].items() if not name.startswith(_EMPTY_TABLE)}
        self.names = list(self._cells)
        self.kinds = [str(cell["type"]) for cell in self._cells.values()]
        self.originals = list(range(len(self.names)))
        """Of each cell: itself, or that of which it is a copy."""
        self.ports: list[dict[str, int]] = []
        """Of each cell: its connected ports, and the number of the net of each."""
        self.driver: list[tuple[int, str]] = []
        """Of each net: cell and port; the cell is -1 where there is none."""
        self.readers: list[list[tuple[int, str]]] = []
        self.bits: list[int] = []
        """Of each net: its number in the netlist."""
        self.x, self.y, self.slot = ([-1] * len(self.names) for _ in range(3))
        """Column, row, and number of the table or register in its tile."""
        numbers: dict[int, int] = {}
        for index, cell in enumerate(self._cells.values()):
            self.ports.append(self._read_ports(index, cell, numbers))
            place = _PLACE.match(cell["attributes"].get("NEXTPNR_BEL", ""))
            if place:
                self.x[index], self.y[index] = int(place[1]), int(place[2])
                if place[3]:
                    self.slot[index] = 2 * "ABCD".index(place[3]) + int(place[5])

    def _read_ports(self, index: int, cell: dict[str, Any], numbers: dict[int, int]) -> dict[str, int]:
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
        return ports

    def copy(self, group: tuple[int, ...], readers: set[int], place: tuple[int, int, int]) -> tuple[int, ...]:
        """Add a copy of a table, of a register, or of two tables with the choice between them, for the cells `readers`.

        The first of the `group` is what they read; its copy is at `place`, that of another table beside it. Returns the copies.
        """
        first, *others = group
        output = next(port for port in ("Q", "OFX", "F") if port in self.ports[first])
        old = self.ports[first][output]
        ports = {("M" if port == "DI" else port): net for port, net in self.ports[first].items() if port not in ("F", output)}
        copies = []
        for other in others:
            x, y, slot = place
            kept = {port: net for port, net in self.ports[other].items() if port != "F"}
            copies.append(self._add(other, kept, "F", (x, y, slot + self.slot[other] - self.slot[first])))
            ports["F1"] = self.ports[copies[-1]]["F"]
        copied = self._add(first, ports, output, place)
        new = self.ports[copied][output]
        self.readers[new] = [reader for reader in self.readers[old] if reader[0] in readers]
        self.readers[old] = [reader for reader in self.readers[old] if reader[0] not in readers]
        for reader, port in self.readers[new]:
            self.ports[reader][port] = new
        return copied, *copies

    def _add(self, cell: int, inputs: dict[str, int], output: str, place: tuple[int, int, int]) -> int:
        """Add a copy of one cell, whose output is a new net; returns its number."""
        copied, new = len(self.names), len(self.bits)
        self.names.append(f"{self.names[self.originals[cell]]}$copy${copied}")
        self.kinds.append(self.kinds[cell])
        self.originals.append(self.originals[cell])
        self.ports.append(inputs | {output: new})
        for values, value in zip((self.x, self.y, self.slot), place, strict=True):
            values.append(value)
        self.bits.append(max(self.bits) + 1)
        self.driver.append((copied, output))
        self.readers.append([])
        for port, net in inputs.items():
            self.readers[net].append((copied, port))
        return copied

    def state(self) -> dict[str, Any]:
        """All that changes, to put it back."""
        return {name: [_copied(value) for value in getattr(self, name)] for name in _CHANGING}

    def put_back(self, state: dict[str, Any]) -> None:
        """Be as in that `state`."""
        for name in _CHANGING:
            setattr(self, name, [_copied(value) for value in state[name]])

    def write(self) -> None:
        """Write cells, connections and places into the netlist."""
        cells, names = {}, list(self._cells)
        for index, name in enumerate(self.names):
            original = self.originals[index]
            cell = self._cells[names[original]]
            if original != index:
                cell = self._written_copy(index, deepcopy(cell))
            for port, net in self.ports[index].items():
                cell["connections"][port] = [self.bits[net]]
            if self.slot[index] >= 0:
                letter = "FF" if cell["type"] == "TRELLIS_FF" else "K"
                slot = f"SLICE{'ABCD'[self.slot[index] // 2]}.{letter}{self.slot[index] % 2}"
                cell["attributes"]["NEXTPNR_BEL"] = f"X{self.x[index]}/Y{self.y[index]}/{slot}"
            cells[name] = cell
        self._module["cells"] = cells

    def _written_copy(self, index: int, cell: dict[str, Any]) -> dict[str, Any]:
        (output,) = (port for port, net in self.ports[index].items() if self.driver[net][0] == index)
        bit = self.bits[self.ports[index][output]]
        self._module["netnames"][self.names[index]] = {"hide_name": 0, "bits": [bit], "attributes": {}}
        directions = cell["port_directions"]
        cell["port_directions"] = {port: directions.get(port, "input") for port in self.ports[index]}
        cell["connections"] = {}
        if cell["type"] == "TRELLIS_FF":
            cell["parameters"]["SD"] = "0 "
        return cell

    def net_name(self, net: int) -> str:
        """The name of a net that was there from the beginning."""
        return next(str(name) for name, found in self._module["netnames"].items() if found["bits"] == [self.bits[net]])

    def clock_of(self, cell: int) -> int:
        """The net of a cell's clock, or -1."""
        return next((self.ports[cell][port] for port in CLOCKS if port in self.ports[cell]), -1)

    def parameter(self, cell: int, name: str) -> str:
        """One of a cell's parameters, without the space that nextpnr writes behind what looks like a number; or empty."""
        return str(self._cells[self.names[self.originals[cell]]]["parameters"].get(name, "")).strip()


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, (dict, list)) else value
