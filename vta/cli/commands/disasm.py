"""`vta disasm`: print the programs of a compiled network as assembly text."""

from __future__ import annotations

import argparse

from vta.cli.options import HelpFormatter, add_debug, existing_file, integer, output_file
from vta.files.atomic_file import write_whole

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta disasm net.vta | less
  vta disasm net.vta --region 0 -o net.asm
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "disasm",
        help=summary,
        description="Print the instructions, micro-ops and memory map of every region of a compiled network.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("artifact", type=existing_file, metavar="OUT.vta", help="file that 'vta compile' wrote")
    parser.add_argument("--region", type=integer(0), metavar="N", help="only this region, counted from 0")
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE", help="write here instead of to standard output")
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.errors import UsageError
    from vta.isa.assembly import disassemble
    from vta.runtime import load

    regions = load(options.artifact).regions
    if options.region is not None:
        if options.region >= len(regions):
            raise UsageError(f"--region {options.region}: {options.artifact} has {len(regions)} regions, counted from 0")
        regions = regions[options.region : options.region + 1]
    text = "\n".join(f"; region {region.name}\n{disassemble(region.program)}" for region in regions)
    if options.output is None:
        print(text)
    else:
        write_whole(options.output, text + "\n", "the assembly text")
