"""`vta operators`: which operators there are, and when they run on the accelerator."""

from __future__ import annotations

import argparse

from vta.cli.options import HelpFormatter, add_debug, add_json, output_file
from vta.cli.terminal.output import Output
from vta.files.atomic_file import write_whole

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta operators                       when each operator runs on the accelerator, and on which conditions
  vta operators -o operators.md       the same as a document, with the operators of model files that become each
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "operators",
        help=summary,
        description="Lists every operator of a network, when the accelerator can run it, and the conditions that hold for all.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("-o", "--output", type=output_file, metavar="FILE.md", help="write a document instead")
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.report.documents.operators import as_json, operator_rows, operator_table, rule_rows, rule_table, supported_operators

    output = Output(options.json)
    if options.output is not None:
        write_whole(options.output, supported_operators(), "the table of operators")
        output.line(f"{options.output}: written")
    else:
        output.show(operator_table(operator_rows()))
        output.show(rule_table(rule_rows()))
    output.result(as_json())
