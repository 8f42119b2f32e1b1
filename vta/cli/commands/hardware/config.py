"""`vta config`: check and show hardware configs."""

from __future__ import annotations

import argparse

from vta.cli.options import HelpFormatter, add_debug, add_json, config_name
from vta.cli.terminal.output import Output

__all__ = ["register"]

_EXAMPLES = """\
examples:
  vta config list                   the configs that come with vta
  vta config show sim               every size that follows from a config
  vta config check my_board.json    does it describe hardware that can be built and programmed?
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "config",
        help=summary,
        description="Hardware configs: one JSON file describes the accelerator to every part of vta.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check", help="refuse a config that the instruction set cannot encode, naming key, value and limit"
    )
    show = actions.add_parser("show", help="print every size, name and capability that follows from a config")
    for action, run in ((check, _check), (show, _show)):
        action.add_argument("file", type=config_name, metavar="FILE", help="a JSON file, or the name of a shipped config")
        action.set_defaults(run=run)
    shipped = actions.add_parser("list", help="print the names of the shipped configs")
    shipped.set_defaults(run=_list)
    for action in (check, show, shipped):
        add_json(action)
        add_debug(action)


def _check(options: argparse.Namespace) -> None:
    from vta.config.hardware import load_config

    output = Output(options.json)
    hw = load_config(options.file)
    output.line(f"{options.file}: good; {hw.model}")
    output.result({"file": str(options.file), "model": hw.model, "bitstream": hw.bitstream})


def _show(options: argparse.Namespace) -> None:
    from vta.config.hardware import load_config
    from vta.config.technology import Technology
    from vta.report.documents.config_text import describe
    from vta.schedule.energy import area_of
    from vta.support.table import make_table

    output = Output(options.json)
    hw = load_config(options.file)
    rows = describe(hw)
    technology = Technology()
    area = area_of(hw, technology)
    output.show(
        make_table(("property", "value"), [*rows.items(), (f"area, mm2 ({technology.name})", f"{area['total'] / 1e6:.3f}")])
    )
    output.result({"config": hw.to_json(), **rows, "technology": technology.name, "area_um2": area})


def _list(options: argparse.Namespace) -> None:
    from vta.config.files import shipped_configs
    from vta.config.hardware import load_config
    from vta.support.table import make_table

    output = Output(options.json)
    configs = {name: load_config(path) for name, path in shipped_configs().items()}
    rows = [(name, hw.target, f"{hw.batch}x{hw.block}", hw.bitstream) for name, hw in configs.items()]
    output.show(make_table(("name", "target", "geometry", "bitstream"), rows))
    output.result({"configs": {name: hw.bitstream for name, hw in configs.items()}})
