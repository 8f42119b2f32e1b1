"""`vta boards`: boards, their descriptions, and directories of bitstreams for them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import HelpFormatter, add_config, add_debug, add_json, existing_file, integer
from vta.cli.terminal.output import Output, size

if TYPE_CHECKING:
    from vta.boards.description import Board

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta boards list                                   the boards that come with vta
  vta boards show kv260                             one of them; board:FILE is the board of a file
  vta boards check mine.yaml                        is it a good description?
  vta boards link ecpix5 --link 192.168.1.50        does it answer, and how fast?
  vta boards add made.bit --board kv260 --config sim -o bitstreams --source "built here"
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "boards",
        help=summary,
        description="Boards: one YAML file describes each to drivers, build scripts and servers.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="print the boards that come with vta")
    listed.set_defaults(run=_list)
    show = actions.add_parser("show", help="print what a board's description says")
    show.add_argument("board", metavar="BOARD", help="a name, or board:FILE")
    show.set_defaults(run=_show)
    check = actions.add_parser("check", help="refuse a description that is not good, naming field, value and what is allowed")
    check.add_argument("file", type=existing_file, metavar="FILE.yaml", help="the description")
    check.set_defaults(run=_check)
    add = actions.add_parser("add", help="copy a bitstream into a directory of them, and write down what it is")
    add.add_argument("bitstream", type=existing_file, metavar="FILE", help="the bitstream; a .hwh file beside it comes along")
    add.add_argument("--board", required=True, metavar="BOARD", help="a name, or board:FILE")
    add.add_argument(
        "--design", default="", metavar="NAME", help="what it makes of the board (default: what it says, or the board's default)"
    )
    add_config(add)
    add.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the directory")
    add.add_argument("--source", default="", metavar="TEXT", help="where it comes from")
    add.set_defaults(run=_add)
    link = actions.add_parser("link", help="look whether a board without a processor answers, and how fast its link is")
    link.add_argument("board", metavar="BOARD", help="a name, or board:FILE")
    link.add_argument("--link", required=True, metavar="LINK", help="HOST[:PORT], a serial line's path, or tcp:HOST:PORT")
    link.add_argument(
        "--bytes", type=integer(4, 1 << 28), default=1 << 16, metavar="N", help="to move each way (default: %(default)s)"
    )
    link.set_defaults(run=_link)
    for action in (listed, show, check, add, link):
        add_json(action)
        add_debug(action)


def _list(options: argparse.Namespace) -> None:
    from vta.boards.files import find_board, shipped_boards
    from vta.support.table import make_table

    output = Output(options.json)
    boards = [find_board(name) for name in shipped_boards()]
    rows = [(board.name, board.driver, board.part, ", ".join(board.designs)) for board in boards]
    output.show(make_table(("name", "driver", "part", "designs"), rows))
    output.result({"boards": {board.name: _json(board) for board in boards}})


def _show(options: argparse.Namespace) -> None:
    from vta.boards.files import find_board

    output = Output(options.json)
    board = find_board(options.board)
    _print(board, output)
    output.result(_json(board))


def _check(options: argparse.Namespace) -> None:
    from vta.boards.description import load_board

    output = Output(options.json)
    board = load_board(options.file)
    output.line(f"{options.file}: good; board {board.name} with {', '.join(board.designs)}")
    output.result({"file": str(options.file), **_json(board)})


def _add(options: argparse.Namespace) -> None:
    from vta.boards.bit_file import check_bitstream, design_of
    from vta.boards.files import find_board
    from vta.boards.manifest import add_bitstream
    from vta.config.hardware import load_config

    output = Output(options.json)
    board = find_board(options.board)
    check_bitstream(options.bitstream, board)
    design = design_of(options.bitstream, board, options.design)
    entry = add_bitstream(options.output, board, design, load_config(options.config), options.bitstream, options.source)
    output.line(f"{options.output / entry.file}: {entry.design} {entry.config} for board {entry.board}")
    values = {"file": str(options.output / entry.file), "sha256": entry.sha256, "config": entry.config}
    output.result({**values, "design": entry.design})


def _link(options: argparse.Namespace) -> None:
    from dataclasses import asdict

    from vta.boards.files import find_board
    from vta.devices.link.measure import measure_link
    from vta.devices.link.open_link import open_link

    output = Output(options.json)
    board = find_board(options.board)
    words = open_link(options.link, board.fpga)
    try:
        speed = measure_link(board, words, options.bytes)
    finally:
        words.close()
    ready = "ready" if speed.memory_ready else "not set up yet"
    output.line(f"{board.name}: a system at {speed.clock_hz / 1e6:g} MHz with {size(speed.memory_bytes)} of memory, {ready}")
    written = "" if speed.write_megabytes_per_second is None else f", written at {speed.write_megabytes_per_second:.3g} MB/s"
    output.line(
        f"a word comes in {speed.round_trip_seconds * 1e6:.0f} us; read at {speed.read_megabytes_per_second:.3g} MB/s{written}"
    )
    output.result(asdict(speed))


def _print(board: Board, output: Output) -> None:
    from vta.support.table import make_table

    window = board.memory
    offset = f", seen by the accelerator from {window.device_start:#x} on" if window.device_offset else ""
    output.line(f"{board.name}: {board.part} ({board.family}), reached through the driver {board.driver}")
    output.line(f"memory: {size(window.nbytes)} from {window.start:#x} on{offset}")
    rows = [
        (
            name + (" (default)" if name == board.default else ""),
            design.registers,
            design.target,
            f"{design.clock_mhz:g}",
            design.bus_bits,
            "yes" if design.coherent else "no",
            ", ".join(f"{block} {address:#x}" for block, address in design.bases.items()),
        )
        for name, design in board.designs.items()
    ]
    output.show(make_table(("design", "registers", "target", "MHz", "bus bits", "coherent", "addresses"), rows))


def _json(board: Board) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(board)
