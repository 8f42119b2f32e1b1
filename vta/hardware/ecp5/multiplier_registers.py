"""Moves registers around the multipliers of an ECP5 into the multipliers, in a netlist that Yosys wrote as JSON.

Yosys uses none of the registers that a MULT18X18D has behind its factors and within its product. A register moves if nothing
but multipliers reads it, as a factor, or if it holds what nothing else reads of a product; all of a multiplier's, or none.
Cycles stay what they are, and so does each bit: clock, enable and synchronous reset go along (Lattice FPGA-TN-02205, sysDSP
usage guide). Products do not go to the registers at the very end: of these, nextpnr does not write what enables and resets them.

The file stands alone: a build's folder has a copy of it. Called as a program, it reads one netlist and writes another.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["MULTIPLIER", "REGISTER", "main", "move_registers"]

MULTIPLIER, REGISTER = "MULT18X18D", "TRELLIS_FF"
_FACTORS = {side: tuple(f"{side}{bit}" for bit in range(18)) for side in "AB"}
_PRODUCT = tuple(f"P{bit}" for bit in range(36))
_CONSTANTS = ("0", "1", "x", "z")

Cell = dict[str, Any]
"""As Yosys writes it: `type`, `parameters`, `port_directions`, `connections` {port: [bit]}."""
Bit = int | str
"""A wire's number, or a constant."""


class _Control(NamedTuple):
    """What makes a register take its input; an enable of "1" and a reset of "0" are none."""

    clock: Bit
    enable: Bit
    reset: Bit


class _Nets:
    """Who drives a bit, and who reads it."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.driver: dict[Bit, str] = {}
        self.readers: dict[Bit, set[tuple[str, str]]] = defaultdict(set)
        for name, cell in module["cells"].items():
            for port, bits in cell["connections"].items():
                for bit in bits:
                    if cell["port_directions"][port] == "output":
                        self.driver[bit] = name
                    else:
                        self.readers[bit].add((name, port))
        for port in module["ports"].values():
            for bit in port["bits"]:
                self.readers[bit].add(("", ""))


def move_registers(netlist: dict[str, Any], top: str) -> tuple[int, int]:
    """Move what can be moved in the module `top` of `netlist`; returns how many registers went, behind factors and products."""
    module = netlist["modules"][top]
    cells: dict[str, Cell] = module["cells"]
    nets = _Nets(module)
    multipliers = {name: cell for name, cell in cells.items() if cell["type"] == MULTIPLIER and _is_plain(cell)}
    products = {name: found for name, cell in multipliers.items() if (found := _product_registers(cells, nets, cell))}
    factors = {name: found for name, cell in multipliers.items() if (found := _factor_registers(cells, nets, cell))}
    factors = _read_by_nothing_else(nets, factors)
    for name in sorted(products.keys() & factors.keys()):
        clocks = {_common_control(cells, registers).clock for registers in (products[name], factors[name])}  # type: ignore[union-attr]
        if len(clocks) > 1:
            del products[name]
    for name, registers in products.items():
        _take_products(cells, multipliers[name], registers)
    for name, registers in factors.items():
        _take_factors(cells, multipliers[name], registers)
    gone = [set().union(*found.values()) if found else set() for found in (factors, products)]
    for name in set().union(*gone):
        del cells[name]
    return len(gone[0]), len(gone[1])


def _is_plain(cell: Cell) -> bool:
    """Whether a multiplier has no register yet, and signs that do not change."""
    clocks = (cell["parameters"].get(f"REG_{place}_CLK", "NONE") for place in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT"))
    return set(clocks) == {"NONE"} and all(
        _bit(cell, port) in _CONSTANTS for port in ("SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB")
    )


def _bit(cell: Cell, port: str) -> Bit:
    """The only bit of a port; "x" where nothing is connected."""
    bits: list[Bit] = cell["connections"].get(port) or ["x"]
    return bits[0]


def _control(cell: Cell) -> _Control | None:
    """What controls a register; `None` if a multiplier has none like it: set, asynchronous, or on the other edge."""
    parameters = cell["parameters"]
    enable_kind = parameters.get("CEMUX", "1").strip()
    reset = _bit(cell, "LSR") if parameters.get("LSRMUX", "LSR") == "LSR" else None
    synchronous = parameters.get("SRMODE", "") == "LSR_OVER_CE" or reset in ("0", "x")
    usual = parameters.get("REGSET", "RESET") == "RESET" and parameters.get("CLKMUX", "CLK") == "CLK"
    if not (usual and synchronous and enable_kind in ("1", "CE") and reset is not None and _bit(cell, "DI") != "x"):
        return None
    if parameters.get("GSR", "DISABLED") != "DISABLED":
        return None
    enable = "1" if enable_kind == "1" else _bit(cell, "CE")
    return _Control(_bit(cell, "CLK"), enable, "0" if reset == "x" else reset)


def _common_control(cells: dict[str, Cell], registers: Iterable[str]) -> _Control | None:
    """What controls all of the registers, if it is the same."""
    controls = {_control(cells[name]) for name in registers}
    return controls.pop() if len(controls) == 1 else None


def _product_registers(cells: dict[str, Cell], nets: _Nets, cell: Cell) -> set[str]:
    """The registers of what is read of a product, if they are all the readers there are; otherwise none."""
    registers: set[str] = set()
    for bit in (_bit(cell, port) for port in _PRODUCT):
        readers = nets.readers.get(bit, set()) if bit not in _CONSTANTS else set()
        names = {name for name, port in readers if port == "DI" and name and cells[name]["type"] == REGISTER}
        if len(readers) > 1 or len(names) != len(readers):
            return set()
        registers |= names
    return registers if _common_control(cells, registers) else set()


def _factor_registers(cells: dict[str, Cell], nets: _Nets, cell: Cell) -> set[str]:
    """The registers of both factors, if these have nothing else but zeros; otherwise none."""
    registers: set[str] = set()
    for bit in (_bit(cell, port) for ports in _FACTORS.values() for port in ports):
        if bit == "0":
            continue
        driver = nets.driver.get(bit)
        if driver is None or cells[driver]["type"] != REGISTER:
            return set()
        registers.add(driver)
    return registers if _common_control(cells, registers) else set()


def _read_by_nothing_else(nets: _Nets, factors: dict[str, set[str]]) -> dict[str, set[str]]:
    """Those of `factors` whose registers nothing but multipliers among them reads, as factors."""
    outputs = {name: bit for bit, name in nets.driver.items() if any(name in registers for registers in factors.values())}
    ports = {port for listed in _FACTORS.values() for port in listed}
    while True:
        readers = {name: nets.readers[bit] for name, bit in outputs.items()}
        others = {name for name, of in readers.items() if any(cell not in factors or port not in ports for cell, port in of)}
        kept = {name: registers for name, registers in factors.items() if not registers & others}
        if len(kept) == len(factors):
            return kept
        factors = kept


def _join(cell: Cell, place: str, number: int, control: _Control) -> None:
    """Let the registers at `place` of a multiplier have the clock of number 0, and enable and reset of that `number`."""
    cell["parameters"] |= {
        f"REG_{place}_CLK": "CLK0",
        f"REG_{place}_CE": f"CE{number}",
        f"REG_{place}_RST": f"RST{number}",
        "RESETMODE": "SYNC",
    }
    for port, bit in (("CLK0", control.clock), (f"CE{number}", control.enable), (f"RST{number}", control.reset)):
        cell["port_directions"][port] = "input"
        cell["connections"][port] = [bit]


def _take_products(cells: dict[str, Cell], cell: Cell, registers: set[str]) -> None:
    control = _common_control(cells, registers)
    assert control is not None, "it was found before"
    held = {_bit(cells[name], "DI"): _bit(cells[name], "Q") for name in registers}
    for port in _PRODUCT:
        if (bit := _bit(cell, port)) in held:
            cell["connections"][port] = [held[bit]]
    _join(cell, "PIPELINE", 1, control)


def _take_factors(cells: dict[str, Cell], cell: Cell, registers: set[str]) -> None:
    control = _common_control(cells, registers)
    assert control is not None, "it was found before"
    given = {_bit(cells[name], "Q"): _bit(cells[name], "DI") for name in registers}
    for side, ports in _FACTORS.items():
        for port in ports:
            if (bit := _bit(cell, port)) in given:
                cell["connections"][port] = [given[bit]]
        _join(cell, f"INPUT{side}", 0, control)


def main(arguments: list[str]) -> None:
    """Move the registers of the module TOP: arguments SOURCE TOP TARGET."""
    source, top, target = arguments
    netlist = json.loads(Path(source).read_text(encoding="utf-8"))
    factors, products = move_registers(netlist, top)
    Path(target).write_text(json.dumps(netlist), encoding="utf-8")
    print(f"registers moved into multipliers: {factors} of factors, {products} of products")


if __name__ == "__main__":
    main(sys.argv[1:])
