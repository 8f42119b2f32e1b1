"""The core as Yosys maps it to cells of an ECP5, and as Verilog again that a simulator takes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from vta.hardware.ecp5.mapping import mapping_steps
from vta.hardware.ecp5.multiplier_registers import move_registers
from vta.hardware.synthesis.core import without_first_contents
from vta.hardware.synthesis.yosys import find_yosys, run_yosys

__all__ = ["ecp5_netlist"]

_BLOCKS = Path(__file__).parent / "verilator" / "ecp5_blocks.v"
_MEMORY_BITS, _ADDRESS_BITS, _SELECTS, _FIRST_CONTENTS = 18, 14, 3, 64
_SYNTHESIS = "\n".join(("read_verilog -sv vta.v", *mapping_steps("vta"), "select vta", "write_json -selected mapped.json"))
_TO_VERILOG = """
read_json moved.json
read_verilog -overwrite -nowb +/lattice/cells_sim_ecp5.v
read_verilog -overwrite blocks.v
hierarchy -check -top vta
proc
flatten
opt -fast
write_verilog -noattr netlist.v
"""


def ecp5_netlist(verilog: str) -> str:
    """Return the core `verilog` (`vta.hardware.emit.emit_verilog`) after synthesis, its cells as what they do.

    Registers around multipliers are where a bitstream has them: in the multipliers, if they can be.

    Look-up tables, registers, carry chains and small memories do what Yosys's own models of them do; block memories and
    multipliers, of which Yosys has only the outlines, what `ecp5_blocks.v` says. Takes minutes for a large core.

    Raises `DeviceError` if Yosys is missing or fails.
    """
    command = find_yosys()
    with tempfile.TemporaryDirectory(prefix="vta-netlist-") as name:
        directory = Path(name)
        (directory / "vta.v").write_text(without_first_contents(verilog), encoding="utf-8")
        (directory / "blocks.v").write_text(f"{_BLOCKS.read_text(encoding='utf-8')}{_memory()}{_multiplier()}", encoding="utf-8")
        run_yosys(command, directory, _SYNTHESIS, "synthesis for the netlist failed")
        netlist = json.loads((directory / "mapped.json").read_text(encoding="utf-8"))
        move_registers(netlist, "vta")
        (directory / "moved.json").write_text(json.dumps(netlist), encoding="utf-8")
        run_yosys(command, directory, _TO_VERILOG, "synthesis for the netlist failed")
        return (directory / "netlist.v").read_text(encoding="utf-8")


def _memory() -> str:
    """`DP16KD`, each of whose bits is a pin, around the memory that has vectors."""
    parameters = [f"INITVAL_{number:02X}" for number in range(_FIRST_CONTENTS)]
    parameters += [
        "GSR",
        "RESETMODE",
        "ASYNC_RESET_RELEASE",
        *(f"{name}_{side}" for name in ("REGMODE", "CSDECODE") for side in "AB"),
    ]
    given = ", ".join(f"parameter {name} = 0" for name in (*parameters, "CLKAMUX", "CLKBMUX"))
    modes = ", ".join(f'parameter DATA_WIDTH_{side} = 18, parameter WRITEMODE_{side} = "NORMAL"' for side in "AB")
    pins = [pin for side in "AB" for pin in _memory_pins(side)]
    ports = ", ".join(_connections(side) for side in "AB")
    passed = ", ".join(f".WIDTH_{side}(DATA_WIDTH_{side}), .MODE_{side}(WRITEMODE_{side})" for side in "AB")
    return (
        f"module DP16KD #({given}, {modes}) ({', '.join(pins)});\n"
        "  wire [35:0] q_a, q_b;\n"
        f"  assign {_vector('DOA', _MEMORY_BITS)} = DATA_WIDTH_B == 36 ? q_b[17:0] : q_a[17:0];\n"
        f"  assign {_vector('DOB', _MEMORY_BITS)} = DATA_WIDTH_B == 36 ? q_b[35:18] : q_b[17:0];\n"
        f"  ecp5_memory #({passed}) memory ({ports});\n"
        "endmodule\n"
    )


def _memory_pins(side: str) -> Iterable[str]:
    widths = {f"DI{side}": _MEMORY_BITS, f"AD{side}": _ADDRESS_BITS, f"CS{side}": _SELECTS}
    yield from (f"input {name}{bit}" for name, width in widths.items() for bit in range(width))
    yield from (f"input {name}{side}" for name in ("CLK", "CE", "OCE", "WE", "RST"))
    yield from (f"output DO{side}{bit}" for bit in range(_MEMORY_BITS))


def _connections(side: str) -> str:
    port = side.lower()
    selected = " & ".join(f"~CS{side}{bit}" for bit in range(_SELECTS))
    # A port of 36 bits writes by A, and takes the upper half from the pins of B.
    wires = {
        "clk": f"CLK{side}",
        "enable": f"CE{side} & {selected}",
        "write": f"WE{side}",
        "reset": f"RST{side}",
        "address": _vector(f"AD{side}", _ADDRESS_BITS),
        "data": f"{{{_vector('DIB', _MEMORY_BITS)}, {_vector('DIA', _MEMORY_BITS)}}}"
        if side == "A"
        else _vector("DIB", _MEMORY_BITS),
        "q": f"q_{port}",
    }
    return ", ".join(f".{name}_{port}({wire})" for name, wire in wires.items())


def _multiplier() -> str:
    """`MULT18X18D` with the registers behind its factors and within its product."""
    inputs = [f"{name}{bit}" for name in "ABC" for bit in range(18)] + ["SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB"]
    inputs += [f"{name}{number}" for name in ("CLK", "CE", "RST") for number in range(4)]
    pins = [*(f"input {name}" for name in inputs), *(f"output P{bit}" for bit in range(36))]
    kinds = (("CLK", "NONE"), ("CE", "CE0"), ("RST", "RST0"))
    places = ("INPUTA", "INPUTB", "PIPELINE")
    parameters = [f'parameter REG_{place}_{kind} = "{usual}"' for place in places for kind, usual in kinds]
    vectors = (("INPUTA", "a", 18, _vector("A", 18)), ("INPUTB", "b", 18, _vector("B", 18)), ("PIPELINE", "p", 36, "product"))
    return (
        f'module MULT18X18D #({", ".join(parameters)}, parameter RESETMODE = "SYNC") ({", ".join(pins)});\n'
        "  wire [17:0] a, b;\n  wire [35:0] product, p;\n"
        "  ecp5_multiplier multiplier (.a(a), .b(b), .signed_a(SIGNEDA), .signed_b(SIGNEDB), .p(product));\n"
        + "".join(_multiplier_register(place, q, width, d) for place, q, width, d in vectors)
        + f"  assign {_vector('P', 36)} = p;\n"
        "endmodule\n"
    )


def _multiplier_register(place: str, q: str, width: int, d: str) -> str:
    """The register at `place` of a multiplier, if it has one there."""
    enable, reset = (
        f'(REG_{place}_{kind} == "{kind}0" ? {kind}0 : REG_{place}_{kind} == "{kind}1" ? {kind}1 : 1\'bx)'
        for kind in ("CE", "RST")
    )
    ports = f".clk(CLK0), .enable({enable}), .reset({reset}), .d({d}), .q({q})"
    return f"  ecp5_register #(.WIDTH({width}), .CLOCK(REG_{place}_CLK)) register_{q} ({ports});\n"


def _vector(name: str, width: int) -> str:
    return "{" + ", ".join(f"{name}{bit}" for bit in reversed(range(width))) + "}"
