"""Running a sweep: what is missing in its table, on all cores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vta.autotune.measure.workers import Finished, Outcome, TimedOut, WorkerPool
from vta.compiler.shared import geometry_of
from vta.errors import SweepError
from vta.files.atomic_file import make_folder, write_whole
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.points import Design, Illegal, Point, expand, points_of
from vta.sweep.spec import Spec
from vta.sweep.table import Row, Status, Table, row_of

__all__ = ["SweepResult", "run_sweep"]

Watcher = Callable[[Row, int, int], None]
"""Told each new row, how many points are done, and how many there are."""


@dataclass(frozen=True)
class SweepResult:
    """A sweep that has ended."""

    spec: Spec
    designs: tuple[Design, ...]
    illegal: tuple[Illegal, ...]
    rows: tuple[Row, ...]
    """In the order of the points."""
    table: Path


def run_sweep(
    spec: Spec, folder: Path, *, resume: bool = False, jobs: int | None = None, watch: Watcher | None = None
) -> SweepResult:
    """Run every point of `spec` that the table in `folder` lacks, `jobs` at a time (default: as many as there are cores).

    `folder` gets `sweep.csv`, `spec.json` and the records of the trials. With `resume`, points without a result are tried
    again. Raises `SweepError` if no config is legal, if there is a table already and `resume` is not given, or if it is
    that of another sweep.
    """
    designs, illegal = expand(spec)
    if not designs:
        reasons = "; ".join(dict.fromkeys(entry.reason for entry in illegal))
        raise SweepError(f"none of the {len(illegal)} configs is legal: {reasons}")
    points = points_of(designs, spec.works)
    table = Table(folder / "sweep.csv")
    rows = _start(spec, folder, table, points, resume)
    _run([point for point in points if point.number not in rows], spec, folder, table, rows, len(points), jobs, watch)
    table.replace(rows.values())
    return SweepResult(spec, designs, illegal, tuple(rows[point.number] for point in points), table.path)


def _start(spec: Spec, folder: Path, table: Table, points: Sequence[Point], resume: bool) -> dict[int, Row]:
    """Make the folder and the table, or take over the rows that need not be run again."""
    make_folder(folder)
    if spec.trials:
        make_folder(folder / "records")
    known = folder / "spec.json"
    if known.exists() and not resume:
        raise SweepError(f"{folder}: has a sweep already; resume it, or name another directory", parameters=("resume",))
    identity: dict[str, Any] = spec.identity()
    if known.exists():
        _check_same(parse_json(read_text(known, SweepError), str(known), SweepError), identity, known)
    rows = table.results(points)
    write_whole(known, json.dumps(identity, indent=2) + "\n", "the description of the sweep")
    table.replace(rows.values())
    return rows


def _check_same(known: Any, identity: dict[str, Any], path: Path) -> None:
    if not isinstance(known, dict):
        raise SweepError(f"{path}: a JSON object is needed, not {type(known).__name__}")
    for key, value in identity.items():
        if known.get(key) != value:
            raise SweepError(
                f"{path}: begun with {key} = {json.dumps(known.get(key))}, now {json.dumps(value)}; "
                "go on with the sweep as it was, or name another directory"
            )


def _run(
    points: list[Point],
    spec: Spec,
    folder: Path,
    table: Table,
    rows: dict[int, Row],
    total: int,
    jobs: int | None,
    watch: Watcher | None,
) -> None:
    # Points that share most follow each other.
    points = sorted(points, key=lambda point: (point.workload, geometry_of(point.design.hw)))
    todo = [
        Job(point, spec.tuner, spec.trials, spec.seed, spec.time_limit, folder / "records" / f"{point.number}.log")
        for point in points
    ]

    def done(index: int, outcome: Outcome) -> None:
        row = _row(points[index], outcome)
        table.append(row)
        rows[row.point] = row
        if watch is not None:
            watch(row, len(rows), total)

    with WorkerPool(min(jobs or os.cpu_count() or 1, max(1, len(todo)))) as pool:
        pool.map(evaluate, todo, spec.time_limit, done)


def _row(point: Point, outcome: Outcome) -> Row:
    if isinstance(outcome, Finished):
        row: Row = outcome.value
        return row
    status = Status.TIMEOUT if isinstance(outcome, TimedOut) else Status.CRASHED
    return row_of(point, status, reason=outcome.message)
