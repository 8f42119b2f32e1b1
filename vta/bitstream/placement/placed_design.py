"""A design that nextpnr placed on an ECP5, as it writes it in JSON: cells, nets, and places that can be changed."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["CLOCKS", "DIRECT", "Design"]

_EMPTY_TABLE = "$blocked$"
"""What the names of tables begin with that only keep others out."""
_PLACE = re.compile(r"X(\d+)/Y(\d+)/(?:SLICE([A-D])\.(K|FF)([01])|(.*))$")
CLOCKS = ("CLK", "CLKA", "CLKB", "CLK0", "SCLK", "WCK")
DIRECT = ("DI", "F1", "FXA", "FXB", "FCI")
"""Inputs that take no wire: they are joined to a table beside them."""


class Design:
    """Cells, nets and places of a placed netlist."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.cells = {
            name: cell
            for name, cell in module["cells"].items()
            if not name.startswith(_EMPTY_TABLE) and cell["type"] != "$scopeinfo"
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

    def places(self) -> tuple[list[int], list[int], list[int]]:
        """Columns, rows and slots of all cells, to put them back."""
        return self.x.copy(), self.y.copy(), self.slot.copy()

    def put_back(self, places: tuple[list[int], list[int], list[int]]) -> None:
        """Place all cells where they were."""
        self.x, self.y, self.slot = places

    def write(self) -> None:
        """Write cells and places into the netlist."""
        self._module["cells"] = self.cells
        for name, x, y, slot in zip(self.names, self.x, self.y, self.slot, strict=True):
            if slot >= 0:
                letter = "FF" if self.cells[name]["type"] == "TRELLIS_FF" else "K"
                self.cells[name]["attributes"]["NEXTPNR_BEL"] = f"X{x}/Y{y}/SLICE{'ABCD'[slot // 2]}.{letter}{slot % 2}"

    def clock_of(self, cell: int) -> int:
        """The net of a cell's clock, or -1."""
        return next((self.ports[cell][port] for port in CLOCKS if port in self.ports[cell]), -1)

    def parameter(self, cell: int, name: str) -> str:
        """One of a cell's parameters, without the space that nextpnr writes behind words that look like numbers."""
        return str(self.cells[self.names[cell]]["parameters"].get(name, "")).strip()
