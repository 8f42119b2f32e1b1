"""The core as Yosys maps it to cells of an ECP5, and as Verilog again that a simulator takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from vta.hardware.synthesis.core import without_first_contents
from vta.hardware.synthesis.yosys import find_yosys, run_yosys

__all__ = ["ecp5_netlist"]

_BLOCKS = Path(__file__).parent / "verilator" / "ecp5_blocks.v"
_MEMORY_BITS, _ADDRESS_BITS, _SELECTS, _FIRST_CONTENTS = 18, 14, 3, 64
_SCRIPT = """
read_verilog -sv vta.v
synth_ecp5 -top vta
select vta
write_rtlil -selected mapped.il
design -reset
read_rtlil mapped.il
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

    Look-up tables, registers, carry chains and small memories do what Yosys's own models of them do; block memories and
    multipliers, of which Yosys has only the outlines, what `ecp5_blocks.v` says. Takes minutes for a large core.

    Raises `DeviceError` if Yosys is missing or fails.
    """
    command = find_yosys()
    with tempfile.TemporaryDirectory(prefix="vta-netlist-") as name:
        directory = Path(name)
        (directory / "vta.v").write_text(without_first_contents(verilog), encoding="utf-8")
        (directory / "blocks.v").write_text(f"{_BLOCKS.read_text(encoding='utf-8')}{_memory()}{_multiplier()}", encoding="utf-8")
        run_yosys(command, directory, _SCRIPT, "synthesis for the netlist failed")
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
    """`MULT18X18D` without its registers."""
    inputs = [f"{name}{bit}" for name in "ABC" for bit in range(18)] + ["SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB"]
    pins = [*(f"input {name}" for name in inputs), *(f"output P{bit}" for bit in range(36))]
    return (
        f"module MULT18X18D ({', '.join(pins)});\n"
        f"  ecp5_multiplier multiplier (.a({_vector('A', 18)}), .b({_vector('B', 18)}), .signed_a(SIGNEDA), .signed_b(SIGNEDB), "
        f".p({_vector('P', 36)}));\n"
        "endmodule\n"
    )


def _vector(name: str, width: int) -> str:
    return "{" + ", ".join(f"{name}{bit}" for bit in reversed(range(width))) + "}"
