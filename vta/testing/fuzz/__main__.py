"""`python -m vta.testing.fuzz`: compare the engines on random programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vta.cli.options import HelpFormatter, config_name, existing_file, integer
from vta.cli.terminal.output import Output, count
from vta.errors import UsageError, VTAError
from vta.files.atomic_file import write_whole
from vta.testing.fuzz.campaign import KINDS, Failure, Summary, fuzz
from vta.testing.fuzz.engines import ENGINES
from vta.testing.fuzz.points import points_of, random_points

_DESCRIPTION = """\
Generate random legal programs and run each on the ISA reference and on the engines given. All must leave the same
bytes in memory; those that count cycles must agree on them, and on the counters of every unit.

A program that fails is made as small as possible and written as text assembly. The exit status is 1 if any fails.
"""

_EXAMPLES = """\
examples:
  python -m vta.testing.fuzz --programs 1000 --seed 1 --devices sim
  python -m vta.testing.fuzz --programs 200 --config sim_4x8 --timing wide.json --devices sim,cycle,rtl --json
  python -m vta.testing.fuzz --programs 1 --seed 4711 --config sim --reproducers out
"""


def _engines(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in ENGINES:
            raise argparse.ArgumentTypeError(f"unknown engine {name!r}; allowed: {', '.join(ENGINES)}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vta.testing.fuzz", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument("--programs", type=integer(1), default=100, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=integer(0), default=0, metavar="S", help="seed of the first program (default: 0)")
    parser.add_argument(
        "--config",
        type=config_name,
        action="append",
        nargs="+",
        default=[],
        metavar="FILE",
        help="hardware configs (default: nine cores of many shapes)",
    )
    parser.add_argument(
        "--timing", type=existing_file, action="append", nargs="+", default=[], metavar="FILE", help="timing parameters, JSON"
    )
    parser.add_argument(
        "--devices",
        type=_engines,
        default=("sim", "cycle"),
        metavar="LIST",
        help=f"engines separated by commas: {', '.join(ENGINES)} (default: sim,cycle)",
    )
    parser.add_argument(
        "--random-cores", type=integer(1), default=0, metavar="N", help="N random cores, by --seed, in the place of configs"
    )
    parser.add_argument("--limit-seconds", type=float, metavar="T", help="stop after this time")
    parser.add_argument(
        "--shrink-seconds", type=float, default=60.0, metavar="T", help="time for making a failing program small (default: 60)"
    )
    parser.add_argument(
        "--reproducers", type=Path, default=Path("out/fuzz"), metavar="DIR", help="where to write them (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parser


def main() -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args()
    configs = [path for group in options.config for path in group]
    timings = [path for group in options.timing for path in group]
    output = Output(options.json)
    try:
        if options.random_cores and (configs or timings):
            raise UsageError("--random-cores stands in the place of --config and --timing")
        points = random_points(options.random_cores, options.seed) or points_of([str(path) for path in configs], timings)
        seeds = range(options.seed, options.seed + options.programs)
        with output.progress() as progress:
            summary = fuzz(
                points,
                options.devices,
                seeds,
                options.limit_seconds,
                options.shrink_seconds,
                lambda done, total: progress("comparing", done, total),
                lambda failure: _report_failure(output, failure, options.reproducers),
            )
    except VTAError as error:
        print(f"fuzz: error: {error}", file=sys.stderr)
        return 2
    _report(output, summary, options.reproducers, [point.name for point in points])
    return 1 if summary.failures else 0


def _path(directory: Path, failure: Failure) -> Path:
    return directory / f"{failure.seed}_{failure.point.hw.bitstream}_bus{failure.timing.bus_bits}.s"


def _report_failure(output: Output, failure: Failure, directory: Path) -> None:
    path = _path(directory, failure)
    directory.mkdir(parents=True, exist_ok=True)
    write_whole(path, failure.reproducer())
    output.line(
        f"seed {failure.seed}, {failure.point.name}: {count(len(failure.program.instructions), 'instruction')}, see {path}"
    )
    for difference in failure.differences[:4]:
        output.line(f"  {difference.kind}: {difference.message}")


def _report(output: Output, summary: Summary, directory: Path, points: list[str]) -> None:
    mismatches = {kind: summary.mismatches[kind] for kind in KINDS}
    cycles = f", {count(summary.cycles, 'cycle')}" if summary.cycles else ""
    output.line(
        f"{count(summary.programs, 'program')} of {count(summary.instructions, 'instruction')}{cycles} on "
        f"{count(len(points), 'core')}: " + ", ".join(f"{number} differ in {kind}" for kind, number in mismatches.items())
    )
    output.result(
        {
            "programs": summary.programs,
            "mismatches": mismatches,
            "instructions": summary.instructions,
            "cycles": summary.cycles,
            "cores": points,
            "reproducers": [str(_path(directory, failure)) for failure in summary.failures],
        }
    )


if __name__ == "__main__":
    sys.exit(main())
