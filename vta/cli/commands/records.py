"""`vta records`: pick, merge and check logs of tuning records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import HelpFormatter, add_debug, add_json, add_objective, existing_file, objective_of
from vta.cli.terminal.output import Output, count
from vta.files.atomic_file import write_whole

if TYPE_CHECKING:
    from vta.records.log import Line, Record

__all__ = ["register"]

_DESCRIPTION = """\
pick-best and distill keep the best record of each config and workload, and the best choice of schedules for each
region: pick-best of all records whose schedules can be used, of other targets of all, distill of those for VTA that
can be used, with costs that can be true, and of those of 'vta tune --auto'. merge joins logs, each record once. check
says of every line that is no usable record why, and then ends with status 1. convert writes all records in another
form, --to json or pickle. All read the published AutoTVM logs for VTA too, in JSON and pickled.
"""

_EXAMPLES = """\
examples:
  vta records check net.log
  vta records distill monday.log tuesday.log -o best.log
  vta records convert net.log --to pickle -o net.pickled
"""

_ACTIONS = ("pick-best", "distill", "merge", "check", "convert")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "records",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("action", choices=_ACTIONS, metavar="ACTION", help=", ".join(_ACTIONS))
    parser.add_argument("logs", type=existing_file, nargs="+", metavar="LOG")
    parser.add_argument("-o", "--output", type=Path, metavar="LOG", help="file to write (default: standard output)")
    parser.add_argument("--to", choices=("json", "pickle"), help="the form to write (default: json)")
    add_objective(parser, "pick-best and distill keep the best")
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.errors import UsageError
    from vta.records.log import read_log

    if options.json and options.output is None and options.action != "check":
        raise UsageError("--json needs -o, since both would print on standard output")
    if options.to == "pickle" and options.action != "convert":
        raise UsageError(f"--to pickle: {options.action} writes JSON; use 'convert'")
    lines = [(path, line) for path in options.logs for line in read_log(path) if not line.comment]
    output = Output(options.json)
    if options.action == "check":
        _check(lines, output)
    else:
        _keep(options, lines, output)


def _keep(options: argparse.Namespace, lines: list[tuple[Path, Line]], output: Output) -> None:
    from vta.records.log import to_line, to_pickled_line

    records: list[Record] = []
    skipped: list[dict[str, Any]] = []
    for source, line in lines:
        problem = line.problem if line.record is None else _kept_out(options.action, line.record)
        if line.record is None or problem:
            skipped.append({"log": str(source), "line": line.number, "reason": problem})
        else:
            records.append(line.record)
    kept = records
    if options.action != "convert":
        kept = list(dict.fromkeys(records)) if options.action == "merge" else _best(records, options)
    for entry in skipped:
        print(f"{entry['log']}:{entry['line']}: skipped: {entry['reason']}", file=sys.stderr)
    _write(map(to_pickled_line if options.to == "pickle" else to_line, kept), options.output)
    print(f"{count(len(kept), 'record')} of {count(len(lines))} kept", file=sys.stderr)
    output.result({"kept": len(kept), "read": len(lines), "skipped": skipped})


def _best(records: list[Record], options: argparse.Namespace) -> list[Record]:
    from vta.records.host.timed_again import worth_using
    from vta.records.objective import check_technologies
    from vta.records.region import pick_best_with_regions

    objective = objective_of(options)
    check_technologies(records, objective, "the logs")
    return pick_best_with_regions(worth_using(records), objective)


def _kept_out(action: str, record: Record) -> str:
    """Why an action leaves a record out; empty if it does not."""
    from vta.autotune.usable import knob_problem, record_problem
    from vta.records.workload import TASK_NAMES

    if action == "distill":
        return record_problem(record)
    # The best of records is one that can be used, where that can be told.
    judged = action == "pick-best" and record.model and record.workload.name in TASK_NAMES and not record.error
    return knob_problem(record) if judged else ""


def _write(lines: Iterable[str], path: Path | None) -> None:
    text = "".join(lines)
    if path is None:
        sys.stdout.write(text)
        return
    # Whole or not at all: the output may be one of the logs that were read.
    write_whole(path, text, "the records")


def _check(lines: list[tuple[Path, Line]], output: Output) -> None:
    from vta.autotune.usable import use_problem
    from vta.errors import TuningError
    from vta.records.check import cost_problem

    problems = []
    for path, line in lines:
        found = [line.problem] if line.record is None else [use_problem(line.record), cost_problem(line.record)]
        for problem in filter(None, found):
            output.line(f"{path}:{line.number}: {problem}")
            problems.append({"log": str(path), "line": line.number, "reason": problem})
    output.line(f"{count(len(lines), 'record')}, {count(len(problems), 'problem')}")
    output.result({"records": len(lines), "problems": problems})
    if problems:
        bad = len({(problem["log"], problem["line"]) for problem in problems})
        raise TuningError(f"{bad} of {count(len(lines), 'record')} cannot be used; see above")
