"""`vta explain`: where the cycles of a compiled network go, and what would win some back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from vta.cli.options import HelpFormatter, add_debug, add_json, existing_file, positive
from vta.cli.running.cycles import add_cycle_device, timing_parameters
from vta.cli.terminal.output import Output, count

if TYPE_CHECKING:
    from vta.explanation.explanation import Explanation

__all__ = ["register"]

_DESCRIPTION = """\
Say where the cycles of a compiled network on the accelerator go. The bound is what its multiply-accumulates take if every
product is full; every other cycle has one cause, and all add up to the cycles of a run. Then come changes that would help, each
with the cycles that are predicted. Nothing is computed, so it takes no inputs. docs/explain.md lists the causes.
"""

_EXAMPLES = """\
examples:
  vta explain net.vta
  vta explain net.vta --bus-bits 128 --no-suggestions
  vta explain net.vta --json
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "explain", help=summary, description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument("artifact", type=existing_file, metavar="NET.vta", help="file that 'vta compile' wrote")
    parser.add_argument(
        "--device", choices=("cycle",), default="cycle", help="whose cycles: those of the cycle engine (default: %(default)s)"
    )
    parser.add_argument("--no-suggestions", action="store_true", help="do not look for what would help: takes less time")
    parser.add_argument(
        "--limit", type=positive, metavar="SECONDS", help="give up timing a region after so long (default: no limit)"
    )
    add_cycle_device(parser)
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.cli.flags import as_options
    from vta.devices.engine.cycle_engine import Preset
    from vta.explanation.explain import explain_module
    from vta.report.settings import with_settings
    from vta.runtime import load

    output = Output(options.json)
    with output.progress() as progress:
        progress("loading")
        module = load(options.artifact)
        progress("explaining")
        told = explain_module(
            module,
            timing_parameters(options, module.hw),
            Preset(options.preset or Preset.RTL.value),
            limit_seconds=options.limit,
            suggest=not options.no_suggestions,
        )
    ways = [with_settings(found.how, as_options) for found in told.suggestions]
    _print(output, told, ways)
    values = told.to_json()
    values["suggestions"] = [{**found, "text": text} for found, text in zip(values["suggestions"], ways, strict=True)]
    output.result(values)


def _print(output: Output, told: Explanation, ways: list[str]) -> None:
    from vta.report.costs.cycles import preset_text

    if not told.layers:
        output.line("nothing of the network runs on the accelerator")
        return
    output.line(f"{count(told.total, 'cycle')} ({preset_text(told.preset)}); no schedules go below {told.roofline:,}")
    output.show(told.cause_table())
    output.show(told.layer_table())
    if told.suggestions:
        output.show(told.suggestion_table())
    for found, text in zip(told.suggestions, ways, strict=True):
        output.line(f"{found.change_text}: {text.replace('`', chr(39))}")
