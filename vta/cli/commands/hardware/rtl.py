"""`vta rtl`: the core as Verilog, its synthesis, and what its simulation needs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import HelpFormatter, add_debug, add_json, config_name, existing_file, output_file
from vta.cli.terminal.output import Output, count
from vta.files.atomic_file import write_whole
from vta.hardware.synthesis.resources import FAMILIES
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.boards.description import Board
    from vta.config.hardware import HardwareConfig
    from vta.config.timing import TimingParameters
    from vta.hardware.fabric import Fabric

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta rtl doctor                        what 'vta run --device rtl' needs, and how to install what is missing
  vta rtl emit sim_4x8 -o vta.v         the core of a config as Verilog, top module vta
  vta rtl package kv260 sim -o build    what Vivado or Quartus makes a board's bitstream of
  vta rtl synth sim_1x8 --family ecp5   LUT, FF, DSP and block memories of each unit
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "rtl",
        help=summary,
        description="The accelerator as hardware, generated from the same config as everything else.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    doctor = actions.add_parser("doctor", help="say what simulation, synthesis and bitstreams need, and what is missing")
    doctor.set_defaults(run=_doctor)
    emit = actions.add_parser("emit", help="write the core as Verilog")
    emit.add_argument("-o", "--output", type=output_file, required=True, metavar="FILE.v", help="file to write")
    _add_target(emit, "", "build it as for these FPGAs (default: for any)")
    emit.set_defaults(run=_emit)
    synth = actions.add_parser("synth", help="synthesise the core with Yosys and print what it takes of an FPGA")
    _add_target(synth, "xilinx", "xilinx: 7-series (default)")
    synth.add_argument("-o", "--output", type=output_file, metavar="FILE.json", help="also write it as a report, for estimates")
    synth.set_defaults(run=_synth)
    package = actions.add_parser("package", help="write what the vendor's tools build a board's bitstream from")
    package.add_argument("board", metavar="BOARD", help="a name ('vta boards list' prints all), or board:FILE")
    package.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory to write to")
    package.add_argument("--design", default="", metavar="NAME", help="the board's design (default: that of our core)")
    package.add_argument("--oversized", action="store_true", help="write it although by our count it does not fit the FPGA")
    package.set_defaults(run=_package)
    for action in (emit, synth, package):
        action.add_argument("config", type=config_name, metavar="CONFIG", help="a JSON file, or the name of a shipped config")
        action.add_argument(
            "--timing", type=existing_file, metavar="FILE.json", help="timing parameters, by the names in native/TIMING.md"
        )
    for action in (doctor, emit, synth, package):
        add_json(action)
        add_debug(action)


def _add_target(action: argparse.ArgumentParser, family: str, help_text: str) -> None:
    """What a core is built for; `family` if nothing is said."""
    target = action.add_mutually_exclusive_group()
    target.add_argument("--family", choices=FAMILIES, default=family, help=help_text)
    target.add_argument("--board", metavar="BOARD", help="family and bus of this board, and built so that it fits its FPGA")


def _doctor(options: argparse.Namespace) -> None:
    from vta.bitstream.tools import further_tools
    from vta.errors import DeviceError
    from vta.hardware.verilator.toolchain import check_tools
    from vta.support.table import make_table

    output = Output(options.json)
    tools = [*check_tools(), *further_tools()]
    rows = [
        (tool.name, f"{tool.purpose} (optional)" if tool.optional else tool.purpose, tool.found or f"missing: {tool.install}")
        for tool in tools
    ]
    output.show(make_table(("tool", "for", "found"), rows))
    output.result({"tools": [asdict(tool) for tool in tools], "ready": all(tool.found or tool.optional for tool in tools)})
    missing = [tool.name for tool in tools if not (tool.found or tool.optional)]
    if missing:
        raise DeviceError(f"missing: {', '.join(missing)}")


def _emit(options: argparse.Namespace) -> None:
    output = Output(options.json)
    core = _core(options)
    hw, timing = core.hw, core.timing
    write_whole(options.output, core.verilog, "the Verilog")
    output.line(f"{options.output}: the core of {hw.bitstream} on a {timing.bus_bits}-bit bus, top module vta")
    output.result({"file": str(options.output), "bitstream": hw.bitstream, "timing": timing.to_json(), "top": "vta"})


def _package(options: argparse.Namespace) -> None:
    from dataclasses import replace

    from vta.boards.files import find_board
    from vta.config.files import shipped_configs
    from vta.config.hardware import HardwareConfig, load_config
    from vta.config.timing import load_timing, timing_of
    from vta.hardware.need import described
    from vta.hardware.packaging.package import check_fits, write_package
    from vta.hardware.verilator.toolchain import require_amaranth

    output = Output(options.json)
    board = find_board(options.board)
    design = board.core_design(options.design)
    hw = load_config(options.config)
    timing = load_timing(options.timing, hw) if options.timing else replace(timing_of(hw), bus_bits=design.bus_bits)
    need = None if options.oversized else check_fits(board, hw, timing, map(HardwareConfig.named, shipped_configs()))
    require_amaranth()
    with output.progress() as progress:
        progress("writing Verilog")
        files = write_package(options.output, board, design, hw, timing)
    tool = "quartus_sh -t" if board.family == "cyclone-v" else "vivado -mode batch -source"
    output.line(f"{options.output}: {hw.bitstream} for board {board.name}, {board.part} at {design.clock_mhz:g} MHz")
    if need is not None:
        output.line(f"it needs {described(need, board.family)} by our count; the FPGA has {_capacity(board)}")
    output.line(f"to build it: {tool} {options.output / 'build.tcl'}")
    values: dict[str, Any] = {"files": [str(path) for path in files], "bitstream": hw.bitstream, "board": board.name}
    output.result({**values, "design": design.name, "need": None if need is None else asdict(need)})


def _capacity(board: Board) -> str:
    from vta.hardware.need import Need, described

    there = board.capacity
    assert there is not None, "called where it is known"
    return described(Need(there.dsp, there.block_memories, there.ultra_rams), board.family)


def _synth(options: argparse.Namespace) -> None:
    from vta.hardware.synthesis.core import synthesize
    from vta.hardware.synthesis.report import SynthesisReport
    from vta.hardware.synthesis.yosys import find_yosys
    from vta.support.table import make_table

    output = Output(options.json)
    find_yosys()
    with output.progress() as progress:
        progress("writing Verilog")
        core = _core(options)
        result = synthesize(core.verilog, core.family, progress)
    hw, timing = core.hw, core.timing
    if options.output:
        report = SynthesisReport(hw, timing, core.family, result.seconds, result.units, core.fabric)
        write_whole(options.output, json.dumps(report.to_json(), indent=2) + "\n", "the report of the synthesis")
    rows = [(name, *(f"{value:g}" for value in asdict(unit).values())) for name, unit in result.units.items()]
    total = ("total", *(f"{value:g}" for value in asdict(result.total).values()))
    output.show(make_table(("unit", "LUT", "FF", "DSP", "BRAM"), [*rows, total]))
    output.line(
        f"{hw.bitstream}, {timing.bus_bits}-bit bus, {core.family}: {count(result.multipliers, 'GEMM multiplier')}; "
        "no latches, no combinational loops"
    )
    output.result(
        {
            "bitstream": hw.bitstream,
            "family": core.family,
            "timing": timing.to_json(),
            "units": {name: asdict(unit) for name, unit in result.units.items()},
            "total": asdict(result.total),
            "multipliers": result.multipliers,
        }
    )


@dataclass(frozen=True)
class _Core:
    hw: HardwareConfig
    timing: TimingParameters
    family: str
    fabric: Fabric
    verilog: str


def _core(options: argparse.Namespace) -> _Core:
    """The core of a config, built for a family of FPGAs or for a board's."""
    from dataclasses import replace

    from vta.boards.files import find_board
    from vta.config.hardware import load_config
    from vta.config.timing import load_timing, timing_of
    from vta.hardware.verilator.toolchain import require_amaranth

    hw = load_config(options.config)
    board = find_board(options.board) if options.board else None
    timing = load_timing(options.timing, hw) if options.timing else timing_of(hw)
    if board is not None and not options.timing:
        timing = replace(timing, bus_bits=board.core_design().bus_bits)
    require_amaranth()
    from vta.hardware.emit import emit_verilog
    from vta.hardware.fabric import fabrics_for
    from vta.hardware.need import fabric_of
    from vta.hardware.synthesis.resources import family_of

    family = options.family if board is None else family_of(board.family)
    fabric = fabrics_for(family, hw, timing)[0] if board is None else fabric_of(hw, timing, board.family, board.capacity)
    return _Core(hw, timing, family, fabric, emit_verilog(hw, timing, fabric))
