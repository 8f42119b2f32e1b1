"""`vta gpu`: the devices that the targets opencl and cuda run on."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from vta.cli.options import HelpFormatter, add_debug, add_json
from vta.cli.terminal.output import Output

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta gpu doctor                                  the devices of this machine, and what is missing for others
  vta compile net.onnx -o net.vta --target "vta, opencl"
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "gpu",
        help=summary,
        description="A GPU may compute what the accelerator leaves to the host, or whole networks.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    doctor = actions.add_parser("doctor", help="list the devices of this machine, and what is missing for others")
    add_json(doctor)
    add_debug(doctor)
    doctor.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> None:
    from vta.errors import DeviceError
    from vta.host.gpu.doctor import gpu_needs
    from vta.support.table import make_table

    output = Output(options.json)
    needs = gpu_needs()
    rows = [(need.kind, need.name, need.found or f"missing: {need.install}") for need in needs]
    output.show(make_table(("target", "needs", "found"), rows))
    ready = [need.kind for need in needs if need.name == "devices" and need.found]
    output.result({"needs": [asdict(need) for need in needs], "ready": ready})
    if not ready:
        raise DeviceError("there is no device for the targets opencl and cuda")
