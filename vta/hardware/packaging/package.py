"""Directories from which the vendors' tools build a bitstream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from vta.boards.description import Board, Design
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError, UsageError
from vta.files.atomic_file import make_folder, write_whole
from vta.hardware.need import Need, described, fabric_of, need_of
from vta.hardware.packaging.shell import platform_designer_component, shell_verilog
from vta.hardware.synthesis.estimate import too_much

__all__ = ["check_fits", "package_files", "write_package"]

_CYCLONE = "cyclone-v"
_PROTECTION = {"zynq-7000": 0b000, "zynq-ultrascale+": 0b010, _CYCLONE: 0b100}
"""What the published designs say in AxPROT on each family."""
_CYCLONE_USER_BITS = 5
_MOST_NAMED = 3
_LIGHTWEIGHT = 0xFF200000
"""Where a Cyclone V's processor sees its lightweight bridge."""


def write_package(
    directory: Path, board: Board, design: Design, hw: HardwareConfig, timing: TimingParameters
) -> tuple[Path, ...]:
    """Write what builds the core of `hw` for `board` to `directory`, and return the files.

    Raises `UsageError` if the design is not this package's core, or `timing` has another bus than the board's description.
    """
    files = package_files(board, design, hw, timing)
    make_folder(directory)
    for name, text in files.items():
        write_whole(directory / name, text)
    return tuple(directory / name for name in files)


def check_fits(board: Board, hw: HardwareConfig, timing: TimingParameters, others: Iterable[HardwareConfig] = ()) -> Need | None:
    """What the core of `hw` needs of the board's FPGA by our count; None if the board's description does not say what it has.

    Raises `UsageError` with the numbers if that is more than there is, or if look-up tables are, as far as they are known; it
    names the largest of `others` that fit.
    """
    if board.capacity is None:
        return None
    short = too_much(hw, board, timing)
    if not short:
        return need_of(hw, timing, board.family, board.capacity)
    fitting = {
        other.bitstream: need_of(other, timing, board.family, board.capacity)
        for other in others
        if not too_much(other, board, timing)
    }
    largest = sorted(fitting, key=lambda name: -fitting[name].dsp)[:_MOST_NAMED]
    named = ", ".join(f"{name} ({described(fitting[name], board.family)})" for name in largest)
    raise UsageError(
        f"{hw.bitstream} does not fit board {board.name}, {board.part}: by our count it needs {' and '.join(short)}; "
        f"fitting: {named or 'none of the shipped configs'}"
    )


def package_files(board: Board, design: Design, hw: HardwareConfig, timing: TimingParameters) -> Mapping[str, str]:
    """The files of a package by name. Raises like `write_package`."""
    if board.family not in _PROTECTION:
        raise UsageError(f"board {board.name}, {board.family}, is none of a vendor's tools; allowed: {', '.join(_PROTECTION)}")
    if design.registers != "core":
        cores = ", ".join(name for name, other in board.designs.items() if other.registers == "core") or "none"
        raise UsageError(f"design {design.name} of board {board.name} is not this package's core; allowed: {cores}")
    if timing.bus_bits != design.bus_bits:
        raise UsageError(f"a bus of {timing.bus_bits} bits; design {design.name} of board {board.name} has {design.bus_bits}")
    from vta.hardware.emit import emit_verilog

    address_bits = design.span.bit_length() - 1
    user_bits = _CYCLONE_USER_BITS if board.family == _CYCLONE else 0
    files = {
        "vta.v": emit_verilog(hw, timing, fabric_of(hw, timing, board.family, board.capacity)),
        "vta_shell.v": shell_verilog(design.bus_bits, address_bits, _PROTECTION[board.family], user_bits),
        "settings.tcl": _settings(board, design, hw),
        "package.json": _description(board, design, hw, timing),
    }
    if board.family == _CYCLONE:
        files |= {
            "build.tcl": _script("cyclone.tcl"),
            "system.tcl": _script("cyclone_system.tcl"),
            "top.v": _script("cyclone_top.v"),
            "vta.sdc": _script("vta.sdc"),
            "vta_shell_hw.tcl": platform_designer_component(design.bus_bits, address_bits, user_bits),
        }
    else:
        files |= {"build.tcl": _script("zynq.tcl"), "vta.xdc": _script("vta.xdc")}
    return files


def _settings(board: Board, design: Design, hw: HardwareConfig) -> str:
    base = design.bases["core"]
    # Address ranges of the tools are powers of two at multiples of themselves.
    memory_bytes = 1 << (board.memory.device_end - 1).bit_length()
    values: dict[str, object] = {
        "name": hw.bitstream,
        "part": board.part,
        "family": board.family,
        "clock_mhz": f"{design.clock_mhz:g}",
        "bus_bits": design.bus_bits,
        "coherent": int(design.coherent),
        "registers_base": f"{base:#010x}",
        "registers_bytes": design.span,
        "memory_base": "0x00000000",
        "memory_bytes": f"{memory_bytes:#x}",
    }
    if board.family == _CYCLONE:
        values["lightweight_offset"] = f"{base - _LIGHTWEIGHT:#x}"
    return "".join(f"set {name} {{{value}}}\n" for name, value in values.items())


def _description(board: Board, design: Design, hw: HardwareConfig, timing: TimingParameters) -> str:
    values = {
        "board": board.name,
        "design": design.name,
        "config": design.hardware(hw).to_json(),
        "timing": timing.to_json(),
        "bitstream": design.bitstream_name(hw),
    }
    return json.dumps(values, indent=2) + "\n"


def _script(name: str) -> str:
    # A wheel carries the scripts inside the package; in a source tree they lie beside it.
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "bitstreams" / "scripts", package.parent / "bitstreams" / "scripts"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise ConfigError(f"the installation of vta in {package} lacks its build scripts; install it again")
