"""`vta bitstream`: bitstreams from a config, built with open tools."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import HelpFormatter, add_debug, add_json, config_name, existing_file, integer, output_file, positive
from vta.cli.terminal.output import Output

if TYPE_CHECKING:
    from vta.bitstream.build import Built
    from vta.bitstream.fits import CoreFit
    from vta.bitstream.plan import Plan
    from vta.boards.package import Package

__all__ = ["register"]

_MOST_ATTEMPTS = 64
_MOST_SEED = (1 << 31) - 1

_EXAMPLES = """\
examples:
  vta bitstream build sim_1x4 --board ecpix5 -o build     minutes of synthesis, placing and routing
  vta bitstream build sim_1x4 --board ecpix5 -o build     again: goes on at the stage that failed
  vta bitstream show build/1x4_i8w8a32_12_12_13_14.bit    what it is, and what came of the build
  vta bitstream check build/1x4_i8w8a32_12_12_13_14.bit --board ecpix5 --config sim_1x4
  vta bitstream list build                                those of a folder
  vta run net.vta --device ecpix5 --link /dev/ttyUSB1 --bitstream build/1x4_i8w8a32_12_12_13_14.bit
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "bitstream",
        help=summary,
        description="Bitstreams for boards whose FPGA the open tools know; 'vta rtl package' is for those of other vendors.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_build(actions)
    listed = actions.add_parser("list", help="print the bitstreams of a folder and of those in it")
    listed.add_argument("folder", type=Path, nargs="?", default=Path("bitstreams"), metavar="DIR", help="default: %(default)s")
    listed.set_defaults(run=_list)
    resources = actions.add_parser("resources", help="print what cores take of the FPGAs of boards, and which fit")
    resources.add_argument("configs", type=config_name, nargs="*", metavar="CONFIG", help="default: all that are shipped")
    resources.add_argument("--board", default="", metavar="BOARD", help="only this board (default: all that are shipped)")
    resources.set_defaults(run=_resources)
    record = actions.add_parser("record", help="keep what came of a build as a report, which clocks are estimated from")
    record.add_argument("-o", "--output", type=output_file, required=True, metavar="FILE.json", help="the report")
    record.set_defaults(run=_record)
    show = actions.add_parser("show", help="print what a bitstream is, and what came of its build")
    show.set_defaults(run=_show)
    check = actions.add_parser("check", help="refuse a bitstream that is damaged, too slow, or another than is meant")
    check.add_argument("--board", default="", metavar="BOARD", help="the board that it must be for")
    check.add_argument("--config", type=config_name, metavar="CONFIG", help="the config that it must have")
    check.set_defaults(run=_check)
    for action in (record, show, check):
        action.add_argument("file", type=existing_file, metavar="FILE", help="the bitstream, with its description beside it")
    for action in (listed, resources, record, show, check):
        add_json(action)
        add_debug(action)


def _add_build(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    build = actions.add_parser(
        "build", help="build the bitstream of a config, stage by stage, in a folder of its own", formatter_class=HelpFormatter
    )
    build.add_argument("config", type=config_name, metavar="CONFIG", help="a JSON file, or the name of a shipped config")
    build.add_argument("--board", required=True, metavar="BOARD", help="a name ('vta boards list' prints all), or board:FILE")
    build.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="what is complete there is kept")
    build.add_argument("--clock", type=positive, metavar="MHZ", help="clock of the core (default: what the board's file says)")
    build.add_argument(
        "--timing", type=existing_file, metavar="FILE.json", help="depths of queues, by the names in native/TIMING.md"
    )
    build.add_argument("--seed", type=integer(0, _MOST_SEED), default=1, metavar="N", help="of the placement (default: 1)")
    build.add_argument(
        "--effort",
        type=integer(1, _MOST_ATTEMPTS),
        default=1,
        metavar="N",
        help="place and route with up to N seeds until the clock is met (default: 1)",
    )
    build.add_argument("--jobs", type=integer(1, _MOST_ATTEMPTS), default=1, metavar="N", help="of them at once (default: 1)")
    build.add_argument("--ethernet", action="store_true", help="reached over Ethernet, too (default: by serial line)")
    build.add_argument("--ip", default="", metavar="ADDRESS", help="its address of IPv4 (default: what the board's file says)")
    build.add_argument("--mac", default="", metavar="ADDRESS", help="its Ethernet address (default: what the board's file says)")
    build.set_defaults(run=_build)
    add_json(build)
    add_debug(build)


def _build(options: argparse.Namespace) -> None:
    from vta.bitstream.build import build_bitstream
    from vta.bitstream.plan import make_plan
    from vta.bitstream.tools import find_tools
    from vta.boards.files import find_board
    from vta.config.files import shipped_configs
    from vta.config.hardware import HardwareConfig, load_config
    from vta.config.timing import TimingParameters
    from vta.errors import DeviceError
    from vta.files.json_file import read_object
    from vta.hardware.packaging.package import check_fits

    output = Output(options.json)
    board, hw = find_board(options.board), load_config(options.config)
    design = board.core_design()
    given = read_object(options.timing) if options.timing else {}
    plan = make_plan(
        board,
        hw,
        timing=TimingParameters.from_json({"bus_bits": design.bus_bits, **given}, str(options.timing)),
        clock_mhz=options.clock,
        seed=options.seed,
        attempts=options.effort,
        jobs=options.jobs,
        ethernet=options.ethernet,
        ip=options.ip,
        mac=options.mac,
    )
    check_fits(board, hw, plan.timing, map(HardwareConfig.named, shipped_configs()))
    _warn_of_clock(plan, output)
    tools = find_tools(dram=plan.fpga.dram is not None, network=plan.network is not None)
    with output.progress() as progress:
        built = build_bitstream(plan, options.output, tools, progress)
    _print_built(plan, built, output)
    output.result(_built_json(built))
    if not built.fits:
        clocks = built.report.missed.items()
        missed = "; ".join(f"{name} may have {clock.mhz:g} MHz of {clock.wanted_mhz:g}" for name, clock in clocks)
        raise DeviceError(f"{built.bitstream}: the clock is not met: {missed}; a lower clock or other seeds may help")


def _warn_of_clock(plan: Plan, output: Output) -> None:
    """Say before the build if its clock is faster than what is known of the core."""
    from vta.bitstream.clock.estimate import known_clock

    known = None if plan.network else known_clock(plan.hw, plan.board, plan.timing)
    if known is not None and known.mhz < plan.design.clock_mhz:
        how = "a build came to" if known.source == "built" else f"the estimate, {known.error:.0%} off on average, is"
        output.line(f"{plan.design.clock_mhz:g} MHz are wanted; {how} {known.mhz:g} MHz: the clock may be missed")


def _print_built(plan: Plan, built: Built, output: Output) -> None:
    from vta.support.table import make_table

    capacity = plan.board.capacity
    there = {"lut": capacity.luts, "dsp": capacity.dsp, "bram": capacity.block_memories} if capacity else {}
    used = asdict(built.report.resources)
    rows = [(name.upper(), str(count), str(there.get(name, ""))) for name, count in used.items()]
    output.show(make_table(("resource", "used", "of"), rows))
    clocks = [(name, f"{clock.mhz:g}", f"{clock.wanted_mhz:g}") for name, clock in built.report.clocks.items()]
    output.show(make_table(("clock", "MHz at most", "MHz"), clocks))
    output.show(make_table(("stage", "seconds"), [(name, f"{seconds:g}") for name, seconds in built.seconds.items()]))
    output.line(f"{built.bitstream}: {plan.hw.bitstream} for board {plan.board.name} at {plan.design.clock_mhz:g} MHz")


def _built_json(built: Built) -> dict[str, Any]:
    return {
        "bitstream": str(built.bitstream),
        "seconds": built.seconds,
        "resources": asdict(built.report.resources),
        "fmax_mhz": {name: clock.mhz for name, clock in built.report.clocks.items()},
        "fits": built.fits,
        "seed": built.seed,
    }


def _list(options: argparse.Namespace) -> None:
    from vta.bitstream.folder import listed_bitstreams
    from vta.support.table import make_table

    output = Output(options.json)
    found = listed_bitstreams(options.folder)
    rows = [(str(entry.file), entry.board, entry.design, entry.config, entry.state) for entry in found]
    output.show(make_table(("file", "board", "design", "config", "state"), rows))
    output.result({"bitstreams": [{**asdict(entry), "file": str(entry.file)} for entry in found]})


def _resources(options: argparse.Namespace) -> None:
    from vta.bitstream.fits import core_fits
    from vta.boards.files import find_board, shipped_boards
    from vta.config.files import shipped_configs
    from vta.config.hardware import load_config
    from vta.support.table import make_table

    output = Output(options.json)
    files = options.configs or list(shipped_configs().values())
    configs = {file.stem: load_config(file) for file in files}
    boards = [find_board(name) for name in ([options.board] if options.board else shipped_boards())]
    found = list(core_fits(configs, boards))
    heads = ("board", "config", "LUT", "FF", "DSP", "BRAM", "LUT and FF", "fits", "MHz at most", "MHz")
    rows = [
        (fit.board, fit.config, *_figures(fit), fit.source, "yes" if fit.fits else "; ".join(fit.short), *_clocks(fit))
        for fit in found
    ]
    output.show(make_table(heads, rows))
    output.result({"cores": [{**asdict(fit), "fits": fit.fits} for fit in found]})


def _figures(fit: CoreFit) -> tuple[str, ...]:
    known = fit.source != "counted"
    resources = fit.resources
    logic = (f"{resources.lut:g}", f"{resources.ff:g}") if known else ("", "")
    return (*logic, f"{resources.dsp:g}", f"{resources.bram:g}")


def _clocks(fit: CoreFit) -> tuple[str, str]:
    """The clock of a system with the core, and that of the board."""
    if fit.clock is None:
        return "", f"{fit.wanted_mhz:g}"
    text = f"{fit.clock.mhz:g}" if fit.clock.source == "built" else f"{fit.clock.mhz:.0f} est., {fit.clock.error:.0%} off"
    return text, f"{fit.wanted_mhz:g}{', too fast' if fit.slow else ''}"


def _record(options: argparse.Namespace) -> None:
    from vta.bitstream.clock.build_report import report_of
    from vta.boards.bit_file import package_path
    from vta.boards.package import check_package
    from vta.errors import UsageError
    from vta.files.atomic_file import write_whole

    output = Output(options.json)
    if options.output.exists() and options.output.samefile(package_path(options.file)):
        raise UsageError(f"{options.output}: is the description of the bitstream, which the driver needs; name another file")
    report = report_of(check_package(options.file))
    write_whole(options.output, json.dumps(report.to_json(), indent=2) + "\n", "the report of the build")
    output.line(f"{options.output}: {report.name}, {report.fmax_mhz:g} MHz")
    output.result({"file": str(options.output), **report.to_json()})


def _show(options: argparse.Namespace) -> None:
    from vta.boards.package import read_package

    output = Output(options.json)
    package = read_package(options.file)
    _print_package(package, output)
    output.result(_package_json(options.file, package))


def _check(options: argparse.Namespace) -> None:
    from vta.bitstream.folder import check_built
    from vta.boards.files import find_board
    from vta.config.hardware import load_config

    output = Output(options.json)
    board = find_board(options.board) if options.board else None
    package = check_built(options.file, board, load_config(options.config) if options.config else None)
    output.line(f"{options.file}: good; {package.config.bitstream} for board {package.board}")
    output.result(_package_json(options.file, package))


def _print_package(package: Package, output: Output) -> None:
    from vta.support.table import make_table

    output.line(f"{package.bitstream}: design {package.design} of {package.config.bitstream} for board {package.board}")
    if package.network is not None:
        output.line(f"on the network: {package.network.ip}, port {package.network.port} of UDP; {package.network.mac}")
    build = package.build
    if build is None:
        output.line("built with the vendor's tools, or not yet")
        return
    output.line(f"clock {build.clock_mhz:g} MHz{'' if build.fits else ', which is more than it may have'}; seed {build.seed}")
    output.show(make_table(("resource", "used"), [(name.upper(), str(count)) for name, count in build.resources.items()]))
    output.show(make_table(("clock", "MHz at most"), [(name, f"{mhz:g}") for name, mhz in build.fmax_mhz.items()]))
    output.show(make_table(("stage", "seconds"), [(name, f"{seconds:g}") for name, seconds in build.seconds.items()]))
    output.show(make_table(("tool", "version"), list(build.tools.items())))
    output.line(f"SHA-256: {build.sha256}")


def _package_json(file: Path, package: Package) -> dict[str, Any]:
    values = package.to_json()
    return {"file": str(file), **{name: values[name] for name in ("board", "design", "config", "timing", "build", "network")}}
