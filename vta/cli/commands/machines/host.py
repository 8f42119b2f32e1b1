"""`vta host`: what the processor of the host part does in a second."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from vta.cli.options import HelpFormatter, add_debug, add_json, output_file
from vta.cli.terminal.output import Output

__all__ = ["register"]

_DESCRIPTION = """\
Whether a part of a network pays on the accelerator depends on how fast the host computes it. 'vta compile' takes the rates of
the core of a board, unless it is given others.
"""
_EXAMPLES = """\
examples:
  vta host measure -o rates.json                  how fast compiled kernels are on this machine; a few seconds
  vta compile net.onnx -o net.vta --config sim --host-rates rates.json
  vta host rates                                  the rates that come with the package
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser("host", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    measure = actions.add_parser("measure", help="measure the kernels of this machine", formatter_class=HelpFormatter)
    measure.add_argument("-o", "--output", type=output_file, metavar="FILE.json", help="write the rates here")
    rates = actions.add_parser("rates", help="list the rates that come with the package", formatter_class=HelpFormatter)
    for action, run in ((measure, _measure), (rates, _rates)):
        add_json(action)
        add_debug(action)
        action.set_defaults(run=run)


def _measure(options: argparse.Namespace) -> None:
    from vta.compiler.host_rates import measured_rates, rates_text
    from vta.files.atomic_file import write_whole
    from vta.runtime.host_part.host_options import require_compiler

    require_compiler()
    from vta.host.llvm.target import host_target

    output = Output(options.json)
    with output.progress() as progress:
        progress("measuring")
        found = measured_rates()
    processor = host_target().cpu
    if options.output is not None:
        write_whole(options.output, rates_text(found, processor))
    output.line(
        f"{processor}, one thread, in a nanosecond: {found.macs_per_cycle:.1f} multiply-accumulates of bytes, "
        f"{found.values_per_cycle:.1f} other values, {found.bytes_per_cycle:.2f} bytes packed"
    )
    output.result({"processor": processor, **asdict(found)})


def _rates(options: argparse.Namespace) -> None:
    from vta.compiler.host_rates import SHIPPED_RATES
    from vta.support.table import make_table

    output = Output(options.json)
    rows = [(name, *(f"{value:g}" for value in asdict(model).values())) for name, model in SHIPPED_RATES.items()]
    fields = [name.replace("_", " ") for name in asdict(SHIPPED_RATES["board"])]
    output.show(make_table(("rates", *fields), rows))
    output.result({name: asdict(model) for name, model in SHIPPED_RATES.items()})
