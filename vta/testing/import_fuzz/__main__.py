"""`python -m vta.testing.import_fuzz`: compare imports with the frameworks on random models."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from vta.cli.options import HelpFormatter, integer
from vta.cli.terminal.output import Output, count
from vta.errors import UsageError, VTAError
from vta.files.atomic_file import write_whole
from vta.support.on_cores import usable_cores
from vta.testing.import_fuzz.campaign import Failure, Settings, Summary, fuzz, graphs_of
from vta.testing.import_fuzz.families import FAMILIES, ON_REQUEST

_DESCRIPTION = """\
Generate random small models, import them, and compare the interpreter's outputs with ONNX Runtime's (optimisations off) and
with LiteRT's reference kernels: values, data types and shapes. Some are also compiled for a shipped config and run on the
simulator, which must give the interpreter's bits.

A model that fails is made as small as possible and written with its data. A model that is refused with a clear error is
counted by reason. The exit status is 1 if any fails.
"""

_EXAMPLES = """\
examples:
  python -m vta.testing.import_fuzz --graphs 5000
  python -m vta.testing.import_fuzz --frontends tflite --families int8 uint8 --limit-seconds 60 --json
  python -m vta.testing.import_fuzz --frontends onnx --families qdq --seed 74 --graphs 1
"""

_REASONS_SHOWN = 12


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vta.testing.import_fuzz", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument("--graphs", type=integer(1), default=1000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=integer(0), default=0, metavar="S", help="seed of the first one (default: 0)")
    parser.add_argument("--frontends", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), help="(default: all)")
    names = list(dict.fromkeys(family for families in FAMILIES.values() for family in families))
    usual = [name for name in names if name not in ON_REQUEST]
    parser.add_argument("--families", nargs="+", choices=names, default=usual, help=f"(default: all but {', '.join(ON_REQUEST)})")
    parser.add_argument("--jobs", type=integer(1), default=usable_cores(), metavar="N", help="processes (default: all cores)")
    parser.add_argument("--limit-seconds", type=float, metavar="T", help="stop after this time")
    parser.add_argument(
        "--device-share", type=float, default=0.1, metavar="X", help="how many are run on the simulator, too (default: 0.1)"
    )
    parser.add_argument(
        "--shrink-seconds", type=float, default=20.0, metavar="T", help="time for making a failing model small (default: 20)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/import_fuzz"), metavar="DIR", help="where failing models go (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args(arguments)
    output = Output(options.json)
    try:
        families = _chosen(options.frontends, options.families)
        graphs = list(graphs_of(families, range(options.seed, options.seed + options.graphs)))
        with output.progress() as progress:
            summary = fuzz(
                graphs,
                Settings(options.device_share, options.shrink_seconds),
                options.jobs,
                options.limit_seconds,
                lambda done, total: progress("comparing", done, total),
                lambda failure: _report_failure(output, failure, options.out),
            )
    except VTAError as error:
        print(f"import_fuzz: error: {error}", file=sys.stderr)
        return 2
    _report(output, summary, options.out)
    return 1 if summary.failures else 0


def _chosen(frontends: Sequence[str], families: Sequence[str]) -> Mapping[str, Sequence[str]]:
    chosen = {frontend: [name for name in FAMILIES[frontend] if name in families] for frontend in frontends}
    chosen = {frontend: names for frontend, names in chosen.items() if names}
    if not chosen:
        raise UsageError(f"{', '.join(frontends)} has no family {', '.join(families)}")
    return chosen


def _path(folder: Path, failure: Failure, suffix: str) -> Path:
    graph = failure.graph
    return folder / f"{graph.frontend}_{graph.family}_{graph.seed}{suffix}"


def _report_failure(output: Output, failure: Failure, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model = _path(folder, failure, f".{failure.graph.frontend}")
    write_whole(model, failure.model)
    write_whole(_path(folder, failure, ".npz"), failure.data)
    where = f" on {failure.config}" if failure.config else ""
    text = f"{failure.command()}\n{failure.kind}{where}: {failure.message}\noperators: {', '.join(failure.operators)}\n"
    write_whole(_path(folder, failure, ".txt"), text)
    output.line(f"{model}: {', '.join(failure.operators)}{where}")
    output.line(f"  {failure.kind}: {failure.message}")


def _report(output: Output, summary: Summary, folder: Path) -> None:
    statuses = summary.statuses
    output.line(
        f"{count(summary.graphs, 'graph')}: {statuses['same']} the same, {statuses['refused']} refused, "
        f"{statuses['illegal']} not legal, {statuses['skipped']} skipped, {statuses['failed']} differ; "
        f"{summary.on_device} ran on a device"
    )
    for status in ("refused", "illegal", "skipped"):
        _report_reasons(output, status, summary.reasons.get(status, Counter()))
    output.result(
        {
            "graphs": summary.graphs,
            **{status: statuses[status] for status in ("same", "refused", "illegal", "skipped", "failed")},
            "on_device": summary.on_device,
            "families": dict(summary.families),
            "reasons": {status: dict(reasons.most_common()) for status, reasons in summary.reasons.items()},
            "failures": [
                {
                    "model": str(_path(folder, failure, f".{failure.graph.frontend}")),
                    "kind": failure.kind,
                    "message": failure.message,
                    "operators": failure.operators,
                    "command": failure.command(),
                }
                for failure in summary.failures
            ],
        }
    )


def _report_reasons(output: Output, status: str, reasons: Counter[str]) -> None:
    if not reasons:
        return
    output.line(f"{status}:")
    for reason, number in reasons.most_common(_REASONS_SHOWN):
        output.line(f"  {number}  {reason}")
    rest = len(reasons) - _REASONS_SHOWN
    if rest > 0:
        output.line(f"  and {count(rest, 'other reason')}")


if __name__ == "__main__":
    sys.exit(main())
