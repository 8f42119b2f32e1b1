"""What the tools are told: the synthesis's script, the arguments of place-and-route and packing, and all of it as one script."""

from __future__ import annotations

import shlex

from vta.bitstream.top import TOP
from vta.boards.fpga import Fpga
from vta.hardware.ecp5.mapping import mapping_steps

__all__ = [
    "pack_arguments",
    "packing_arguments",
    "placing_arguments",
    "reading_arguments",
    "routing_arguments",
    "synthesis_script",
    "whole_script",
]

_PLACER = ("--placer", "static")
"""Its wires are a third shorter than those of nextpnr's default, and can be routed (docs/bitstreams.md)."""
_ROUTER = ("--router", "router2")
"""It gets through where the other one, nextpnr's default for an ECP5, rips up most of what it routes."""


def synthesis_script(sources: tuple[str, ...], netlist: str, cells: str) -> str:
    """Yosys's script: from `sources` to `netlist`, and the count of its cells."""
    steps = (
        *(f"read_verilog -sv {source}" for source in sources),
        *mapping_steps(TOP),
        f"write_json {netlist}",
        f"tee -q -o {cells} stat -json",
    )
    return "".join(f"{step}\n" for step in steps)


def reading_arguments(fpga: Fpga, seed: int, *, places: str, netlist: str) -> list[str]:
    """Of nextpnr, for a netlist that it is to place, or to route."""
    return [*packing_arguments(fpga, places), "--json", netlist, "--seed", str(seed)]


def placing_arguments() -> list[str]:
    """Of nextpnr, for how it places."""
    return list(_PLACER)


def routing_arguments() -> list[str]:
    """Of nextpnr, for how it routes. Clocks that are missed do not stop it: the report has them."""
    return [*_ROUTER, "--timing-allow-fail"]


def packing_arguments(fpga: Fpga, places: str) -> list[str]:
    """Of nextpnr, for a netlist that it is to pack, or more."""
    return [*_device(fpga), "--lpf", places]


def pack_arguments(*, result: str, bitstream: str) -> list[str]:
    """Of ecppack."""
    return ["--compress", result, bitstream]


def _device(fpga: Fpga) -> list[str]:
    return [f"--{fpga.device}", "--package", fpga.package, "--speed", str(fpga.speed)]


def whole_script(lines: tuple[tuple[str, list[str], list[str] | None], ...], folder: str) -> str:
    """A shell script that makes `folder` and runs tools.

    Each is given by the variable that may name it, its arguments, and those of a call of nextpnr that ends them, if there is one.
    """
    names = {"YOSYS": "yosys", "PYTHON": "python3", "NEXTPNR": "nextpnr-ecp5", "ECPPACK": "ecppack"}
    head = "".join(f": ${{{variable}:={name}}}\n" for variable, name in names.items())
    body = "".join(
        f"${variable} {shlex.join(arguments)}{f' $NEXTPNR {shlex.join(inner)}' if inner else ''}\n"
        for variable, arguments, inner in lines
    )
    return f'#!/bin/sh\n# Builds the bitstream of this folder.\nset -e\ncd "$(dirname "$0")"\nmkdir -p {folder}\n{head}{body}'
