"""`python -m vta.testing.parser_fuzz`: damaged files for every reader of users' files."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from vta.cli.options import HelpFormatter, byte_count, existing_file, integer, positive
from vta.cli.terminal.output import Output, count
from vta.errors import UsageError, VTAError
from vta.files.atomic_file import make_folder, write_whole
from vta.testing.parser_fuzz.campaign import Failure, Summary, fuzz_parsers
from vta.testing.parser_fuzz.parsers import PARSERS
from vta.testing.parser_fuzz.seeds import seeds_of
from vta.testing.parser_fuzz.worker import Limits

_DESCRIPTION = """\
Damage small files of every kind that vta reads, and read them: each must work, or be refused with one clear error that names
the file, within limits of time and memory. Damage knows the form: fields of protocol buffers, offsets of flat buffers, values
of JSON and YAML, members of archives, whose checksums are made right again.

Files on which a reader fails are made small and written, each with what happened. The exit status is 1 if there are any.
"""

_EXAMPLES = """\
examples:
  python -m vta.testing.parser_fuzz --mutants 20000 --seed 1
  python -m vta.testing.parser_fuzz --parsers onnx,vta --limit-seconds 60 --json
  python -m vta.testing.parser_fuzz --parsers tflite net.tflite     mutants of a file of yours, too
"""


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in PARSERS:
            raise argparse.ArgumentTypeError(f"unknown parser {name!r}; allowed: {', '.join(PARSERS)}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m vta.testing.parser_fuzz", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=HelpFormatter
    )
    parser.add_argument("files", type=existing_file, nargs="*", metavar="FILE", help="good files to damage, too, by their suffix")
    parser.add_argument(
        "--parsers", type=_names, default=tuple(PARSERS), metavar="LIST", help=f"of {', '.join(PARSERS)} (default: all)"
    )
    parser.add_argument("--mutants", type=integer(1), default=2000, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=integer(0), default=0, metavar="S", help="of the random numbers (default: 0)")
    parser.add_argument("--limit-seconds", type=positive, metavar="T", help="stop after this time")
    parser.add_argument("--file-seconds", type=positive, default=10.0, metavar="T", help="for one file (default: %(default)s)")
    parser.add_argument(
        "--memory", type=byte_count, default=1 << 30, metavar="BYTES", help="for one file, e.g. 512M (default: 1G)"
    )
    parser.add_argument("--jobs", type=integer(1), metavar="N", help="processes (default: as many as there are cores)")
    parser.add_argument(
        "--out", type=Path, default=Path("out/parser_fuzz"), metavar="DIR", help="where failures go (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parser


def main() -> int:
    """Run the command line and return its exit status."""
    options = _parser().parse_args()
    output = Output(options.json)
    try:
        with tempfile.TemporaryDirectory(prefix="vta-seeds-") as folder, output.progress() as progress:
            progress("making seeds")
            seeds = {name: [*_seed_files(name, Path(folder)), *_matching(name, options.files)] for name in options.parsers}
            if unused := set(options.files) - {path for paths in seeds.values() for path in paths}:
                raise UsageError(f"{min(unused)}: none of the parsers reads such files")
            summary = fuzz_parsers(
                seeds,
                options.mutants,
                options.seed,
                Limits(options.file_seconds, options.memory),
                options.limit_seconds,
                options.jobs,
                lambda done, total: progress("reading mutants", done, total),
                lambda failure: _report_failure(output, failure, options.out),
            )
    except VTAError as error:
        print(f"parser_fuzz: error: {error}", file=sys.stderr)
        return 2
    _report(output, summary, options.out)
    return 1 if summary.failures else 0


def _seed_files(name: str, folder: Path) -> Iterable[Path]:
    for index, content in enumerate(seeds_of(name)):
        path = folder / f"{name}-{index}"
        path.write_bytes(content)
        yield path


def _matching(name: str, files: list[Path]) -> list[Path]:
    return [path for path in files if path.name.endswith(PARSERS[name].suffix)]


def _report_failure(output: Output, failure: Failure, folder: Path) -> None:
    make_folder(folder)
    write_whole(folder / failure.name, failure.content)
    write_whole(folder / f"{failure.name}.txt", f"{failure.kind}\n{failure.detail}\n")
    output.line(f"{folder / failure.name}: {failure.kind}")
    output.line("  " + failure.detail.replace("\n", "\n  "))


def _report(output: Output, summary: Summary, folder: Path) -> None:
    total, refused = summary.mutants.total(), summary.refused.total()
    output.line(
        f"{count(total, 'mutant')} for {count(len(summary.mutants), 'parser')}: {count(refused)} refused, "
        f"{count(total - refused - len(summary.failures))} read, {count(len(summary.failures), 'failure')}"
    )
    output.result(
        {
            "mutants": dict(summary.mutants),
            "refused": dict(summary.refused),
            "failures": [{"file": str(folder / found.name), "kind": found.kind} for found in summary.failures],
        }
    )


if __name__ == "__main__":
    sys.exit(main())
