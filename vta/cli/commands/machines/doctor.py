"""`vta doctor`: what is optional, and whether it is there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from vta.cli.options import HelpFormatter, add_debug, add_json
from vta.cli.terminal.output import Output

if TYPE_CHECKING:
    from vta.cli.optional_parts import OptionalPart

__all__ = ["register"]

_DESCRIPTION = """\
Say whether the native core works, and for each extra of the package and each program that vta can use: what it is for, what is
there, and how to install what is missing. 'vta rtl doctor' says more of the tools for hardware.
"""

_MOST_NAMES = 4
"""Of packages in the table; --json has all."""

_EXAMPLES = """\
examples:
  vta doctor
  vta doctor --json
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "doctor", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    import platform
    from dataclasses import asdict

    import vta
    from vta.cli.optional_parts import optional_parts
    from vta.cli.running.session import has_core
    from vta.errors import DeviceError
    from vta.support.table import make_table

    output = Output(options.json)
    core = has_core()
    parts = optional_parts()
    output.line(f"vta {vta.__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}")
    output.line("native core: works" if core else "native core: missing")
    rows = [(part.name, part.purpose, _found(part), "" if part.ready else part.install) for part in parts]
    output.show(make_table(("optional", "for", "found", "install"), rows))
    output.result({"version": vta.__version__, "core": core, "parts": [{**asdict(part), "ready": part.ready} for part in parts]})
    if not core:
        raise DeviceError("the native core is missing: install vta again, where g++ is")


def _found(part: OptionalPart) -> str:
    if part.ready:
        return ", ".join(part.found) if len(part.found) <= _MOST_NAMES else f"{len(part.found)} packages"
    missing = f"missing: {', '.join(part.missing)}"
    return f"{', '.join(part.found)}; {missing}" if part.found else missing
