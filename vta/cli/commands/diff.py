"""`vta diff`: where two runs of a network first differ, and what made the difference."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING

from vta.cli.options import HelpFormatter, add_debug, add_json, existing_file, integer
from vta.cli.running.remote import add_security, security_of
from vta.cli.terminal.output import Output, count

if TYPE_CHECKING:
    from vta.difference.parse import Connect
    from vta.rpc.client.session import Session

__all__ = ["register"]

_DESCRIPTION = """\
Run two sides on the same inputs, and name the first layer, tensor and element that differ, and the pass of the compiler or the
instruction of the program that made the difference. The exit status is 1 if they differ.

A side is FILE@WHERE:
  NET.vta@DEVICE          a compiled network on sim (the default), cycle, rtl, opencl or a board
  NET.vta@HOST:PORT[/KEY] on a device of another machine: of a server, or of a tracker by its key
  NET.vta@reference       its integer graph, by the NumPy references
  MODEL@framework         a .tflite file by LiteRT, an .onnx file by onnxruntime (the default for such files)
  MODEL@reference         the model as it is imported, by the NumPy references
"""

_EXAMPLES = """\
examples:
  vta diff net.vta@cycle net.vta@reference
  vta diff net.vta net.tflite --inputs in.npz
  vta diff net.vta@sim net.vta@rtl --json
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser("diff", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter)
    parser.add_argument("left", metavar="A", help="FILE@WHERE, see above")
    parser.add_argument("right", metavar="B", help="FILE@WHERE, see above")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--inputs",
        type=existing_file,
        metavar="IN.npz",
        help="arrays named like the network's inputs, or 'x' for its only one, with their shapes and types",
    )
    source.add_argument("--seed", type=integer(0), default=0, metavar="N", help="seed of random inputs (default: %(default)s)")
    add_security(parser.add_argument_group("remote devices"))
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.cli.arrays import network_inputs
    from vta.difference.find import find_difference
    from vta.difference.parse import side_of
    from vta.difference.sides import graph_of
    from vta.errors import VTAError
    from vta.ir.state import initial_values
    from vta.runtime.evaluation.random_inputs import any_value, random_inputs

    output = Output(options.json)
    with ExitStack() as stack, output.progress() as progress:
        progress("loading")
        left, right = (side_of(text, stack, _connect(options)) for text in (options.left, options.right))
        graph = graph_of(left, right)
        if options.inputs:
            states = initial_values(graph)
            inputs = network_inputs(options.inputs, graph.arguments, states) | states
        else:
            inputs = random_inputs(graph, options.seed, any_value)
        progress("comparing")
        found = find_difference(left, right, inputs)
    if found.first is None:
        output.line(f"equal: {count(found.compared, 'value')} of {found.left} and {found.right}, to the bit")
    else:
        output.show(found.table())
    output.result(found.to_json())
    if found.first is not None:
        raise VTAError(f"{found.left} and {found.right} differ, first in {found.first.layer}")


def _connect(options: argparse.Namespace) -> Connect:
    """Opens sessions with devices of other machines."""

    def opened(address: str, key: str, stack: ExitStack) -> Session:
        from vta.rpc.client.connect import connect, lease

        security = security_of(options)
        session = lease(address, key, security=security) if key else connect(address, security=security)
        stack.callback(session.close)
        return session

    return opened
