"""Small placed designs, as nextpnr writes them, and what must hold of any."""

from __future__ import annotations

import random
import re
from collections import defaultdict

_INPUTS = ("A", "B", "C", "D", "M", "DI", "CE", "LSR", "CLK", "CLKA", "F1", "FXA", "FXB", "FCI")


class Placed:
    """A netlist in the making."""

    def __init__(self):
        self.cells = {}
        self.bits = {}

    def bit(self, net):
        return self.bits.setdefault(net, 100 + len(self.bits))

    def add(self, name, kind, place, parameters=None, **connections):
        self.cells[name] = {
            "hide_name": 0,
            "type": kind,
            "parameters": parameters or {},
            "attributes": {"NEXTPNR_BEL": place, "BEL_STRENGTH": "1"},
            "port_directions": {port: "input" if port in _INPUTS else "output" for port in connections},
            "connections": {port: [self.bit(net)] for port, net in connections.items()},
        }

    def table(self, name, place, output, *inputs, **more):
        self.add(name, "TRELLIS_COMB", place, {"INITVAL": "0"}, F=output, **dict(zip("ABCD", inputs, strict=False)), **more)

    def register(self, name, place, output, *, reset="reset", enable="enable", **data):
        parameters = {"CEMUX": "CE", "LSRMUX": "LSR", "CLKMUX": "CLK", "GSR": "DISABLED", "SD": "1 " if "DI" in data else "0 "}
        self.add(name, "TRELLIS_FF", place, parameters, Q=output, CLK="clock", LSR=reset, CE=enable, **data)

    @property
    def module(self):
        names = {net: {"hide_name": 0, "bits": [bit], "attributes": {}} for net, bit in self.bits.items()}
        return {"settings": {}, "attributes": {}, "ports": {}, "cells": self.cells, "netnames": names}


def random_design(seed, *, paths=12):
    """Paths of tables between registers, all over the FPGA, some with a choice between two tables, some with an enable of few."""
    rng, made = random.Random(seed), Placed()
    free = defaultdict(lambda: set(range(4)))

    def slice_of():
        while True:
            tile = rng.randrange(2, 125), rng.choice([row for row in range(2, 94) if row % 12 != 10])
            if free[tile]:
                number = rng.choice(sorted(free[tile]))
                free[tile].discard(number)
                return f"X{tile[0]}/Y{tile[1]}/SLICE{'ABCD'[number]}"

    nets = []
    for number in range(4):
        made.register(f"first_{number}", f"{slice_of()}.FF0", f"n_first_{number}", M="data")
        nets.append(f"n_first_{number}")
    for path in range(paths):
        for step in range(rng.randrange(1, 6)):
            place, output = slice_of(), f"n_{path}_{step}"
            chosen = [rng.choice(nets) for _ in range(3)]
            kind = rng.random()
            if kind < 0.15 and (tile := place.rsplit("/", 1)[0]) and _take_half(free, tile, place):
                choice_of_four(made, f"t_{path}_{step}", tile, "AB" if place[-1] in "AB" else "CD", output, chosen)
            elif kind < 0.4:
                made.table(f"t_{path}_{step}_1", f"{place}.K1", f"{output}_1", chosen[0])
                made.table(
                    f"t_{path}_{step}", f"{place}.K0", f"{output}_0", *chosen[1:], F1=f"{output}_1", M=chosen[0], OFX=output
                )
            else:
                made.table(f"t_{path}_{step}", f"{place}.K{rng.randrange(2)}", output, *chosen)
            nets.append(output)
        place = slice_of()
        made.table(f"t_{path}_last", f"{place}.K1", f"n_{path}_d", nets[-1])
        made.register(f"r_{path}", f"{place}.FF1", f"n_{path}_q", enable=rng.choice(nets[:6]), DI=f"n_{path}_d")
        nets.append(f"n_{path}_q")
    return made


def _take_half(free, tile, place):
    """Whether the slice beside `place` is free, too."""
    column, row = (int(word[1:]) for word in tile.split("/"))
    other = "ABCD".index(place[-1]) ^ 1
    if other not in free[column, row]:
        return False
    free[column, row].discard(other)
    return True


def choice_of_four(made, name, tile, slices, output, chosen):
    """A choice among four tables, in two slices."""
    first, second = (f"{tile}/SLICE{letter}" for letter in slices)
    for number, slice_ in enumerate((first, second)):
        more = {"M": chosen[2], "FXA": f"{output}_y1", "FXB": f"{output}_y0", "OFX": output} if number == 0 else {}
        made.table(f"{name}_{number}_1", f"{slice_}.K1", f"{output}_b{number}", chosen[number], **more)
        choice = {"F1": f"{output}_b{number}", "M": chosen[1], "OFX": f"{output}_y{number}"}
        made.table(f"{name}_{number}_0", f"{slice_}.K0", f"{output}_a{number}", *chosen, **choice)


def wrong_places(module):
    """What is wrong with the places of tables and registers, by the rules of an ECP5's tiles (Project Trellis)."""
    cells, at, wrong = module["cells"], {}, []
    driver = {
        bits[0]: cell
        for cell in cells.values()
        for port, bits in cell["connections"].items()
        if cell["port_directions"][port] == "output"
    }

    def parameter(cell, name):
        return cell["parameters"].get(name, "").strip()

    def tile_of(cell):
        return cell["attributes"]["NEXTPNR_BEL"].rsplit("/", 1)[0]

    for name, cell in cells.items():
        place = cell["attributes"]["NEXTPNR_BEL"]
        if place in at:
            wrong.append(f"{name} and another are at {place}")
        at[place] = cell
    for tile in {place.rsplit("/", 1)[0] for place in at}:
        registers = [at[place] for k in "ABCD" for h in "01" if (place := f"{tile}/SLICE{k}.FF{h}") in at]
        if len({tuple(cell["connections"][port][0] for port in ("CLK", "LSR")) for cell in registers}) > 1:
            wrong.append(f"clocks and resets of {tile}")
        for k in "ABCD":
            two = [at.get(f"{tile}/SLICE{k}.FF{h}") for h in "01"]
            if len({(cell["connections"]["CE"][0], parameter(cell, "CEMUX")) for cell in two if cell}) > 1:
                wrong.append(f"enables of {tile}, slice {k}")
            for h in "01":
                table, register = at.get(f"{tile}/SLICE{k}.K{h}"), at.get(f"{tile}/SLICE{k}.FF{h}")
                if register and "DI" in register["connections"] and driver[register["connections"]["DI"][0]] is not table:
                    wrong.append(f"a register of {tile}, slice {k}, without its table")
                if table and register and "OFX" in table["connections"] and "M" in register["connections"]:
                    wrong.append(f"two that need M in {tile}, slice {k}")
                if table and "F1" in table["connections"]:
                    other = driver[table["connections"]["F1"][0]]
                    if tile_of(other) != tile_of(table) or h != "0" or other is not at.get(f"{tile}/SLICE{k}.K1"):
                        wrong.append(f"tables of {tile}, slice {k}, that are not together")
                for port in ("FXA", "FXB"):
                    if table and port in table["connections"]:
                        wanted = f"{tile}/SLICE{k if port == 'FXB' else 'ABCD'['ABCD'.index(k) ^ 1]}.K0"
                        if k not in "AC" or h != "1" or driver[table["connections"][port][0]] is not at.get(wanted):
                            wrong.append(f"four tables of {tile} that are not together")
    return wrong


def function_of(module):
    """What each cell that is no copy reads, with copies as what they are copies of."""
    names = {bits[0]: (name, port) for name, cell in module["cells"].items() for port, bits in cell["connections"].items()
             if cell["port_directions"][port] == "output"}  # fmt: skip
    result = {}
    for name, cell in module["cells"].items():
        original = re.sub(r"\$copy\$\d+$", "", name)
        reads = {
            ("data" if port in ("DI", "M") and cell["type"] == "TRELLIS_FF" else port): _source(names, bits[0])
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "input"
        }
        assert result.setdefault(original, reads) == reads
    return result


def _source(names, bit):
    name, port = names.get(bit, (bit, ""))
    return re.sub(r"\$copy\$\d+$", "", name) if isinstance(name, str) else name, port
