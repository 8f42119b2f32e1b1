"""`vta runtime`: the program that runs compiled networks without Python."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from vta.cli.options import HelpFormatter, add_debug, add_json
from vta.cli.terminal.output import Output, size

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta runtime build -o bin                                       for this machine
  vta runtime build -o board --mtriple armv7-linux-gnueabihf     for the processor of a Pynq or a DE10-Nano
  vta runtime build -o board --mtriple aarch64-linux-gnu
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "runtime",
        help=summary,
        description="vta-run runs compiled networks without Python, on this machine or on a board.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build vta-run, for this machine or another")
    build.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where the program goes")
    build.add_argument(
        "--mtriple", metavar="TRIPLE", help="machine that it is for, such as aarch64-linux-gnu (default: this one)"
    )
    add_json(build)
    add_debug(build)
    build.set_defaults(run=_build)


def _build(options: argparse.Namespace) -> None:
    from vta.host.llvm.target import cpu_target
    from vta.runtime.vta_run.build import build_vta_run

    output = Output(options.json)
    start = time.perf_counter()
    with output.progress() as progress:
        progress("compiling")
        built = build_vta_run(options.output, cpu_target(options.mtriple))
    seconds = time.perf_counter() - start
    output.line(f"{built.path}: {size(built.path.stat().st_size)}, for {built.triple}, by {built.compiler}")
    output.result({"program": str(built.path), "triple": built.triple, "compiler": built.compiler, "seconds": seconds})
