"""Running a sweep: what is missing in its table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from vta.errors import SweepError
from vta.files.atomic_file import make_folder, write_whole
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.support.folder_lock import alone_in
from vta.sweep.accuracy import check_samples
from vta.sweep.evaluate import Job
from vta.sweep.neighbors import best_lines, led_by
from vta.sweep.points import Design, Illegal, Point, expand, points_of
from vta.sweep.spec import Spec
from vta.sweep.table import Row, Status, Table
from vta.sweep.workplace import LocalWorkplace, Workplace

__all__ = ["Session", "SweepResult", "Watcher", "begin", "run_sweep", "working_in"]

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
    ran: int = 0
    """Points that were run, and not found in the table."""


class Session:
    """The table of a sweep in a folder, and the points that are run for it; a ``with`` statement lets go of the workplace."""

    def __init__(
        self,
        spec: Spec,
        table: Path,
        points: Sequence[Point],
        workplace: Workplace,
        total: int,
        watch: Watcher | None = None,
    ) -> None:
        self._spec = spec
        self._table = Table(table)
        self._workplace = workplace
        self._total = total
        self._watch = watch
        self.rows = self._table.results(points)
        """By the numbers of points."""
        self.ran = 0
        self._table.replace(self.rows.values())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._workplace.close()

    def run(self, points: Iterable[Point], trials: int, hints: int = 0) -> None:
        """Run those points that have no row yet, each tuned with so many trials, from the best schedules of points like it.

        There are up to `hints` of these (`vta.sweep.neighbors`).
        """
        points = list(points)
        led = led_by(points, hints) if trials else {}
        missing = [point for point in points if point.number not in self.rows]
        # Whoever took the log of a point away takes its row with it: others begin with what it found.
        needed = {number for point in missing for number in led.get(point.number, ())}
        lost = [point for point in points if point.number in needed & self._without_log()]
        first = [point for point in missing if point.number not in led]
        self._workplace.run([self._job(point, trials, ()) for point in (*lost, *first)], self._done)
        followers = [point for point in missing if point.number in led]
        self._workplace.run([self._job(point, trials, self._hints(led[point.number])) for point in followers], self._done)

    def _without_log(self) -> set[int]:
        """Points that have a row, and no log."""
        return {number for number in self.rows if not self._log(number).exists()}

    def _log(self, number: int) -> Path:
        return self._table.path.parent / "records" / f"{number}.log"

    def _hints(self, leaders: Sequence[int]) -> tuple[str, ...]:
        ended = [number for number in leaders if (row := self.rows.get(number)) is not None and row.status is Status.OK]
        return best_lines([log for number in ended if (log := self._log(number)).exists()])

    def _job(self, point: Point, trials: int, hints: tuple[str, ...]) -> Job:
        spec = self._spec
        return Job(point, spec.tuner, trials, spec.seed, spec.time_limit, self._log(point.number), hints)

    def _done(self, row: Row) -> None:
        self._table.append(row)
        self.rows[row.point] = row
        self.ran += 1
        if self._watch is not None:
            self._watch(row, len(self.rows), self._total)

    def finish(self) -> None:
        """Sort the table."""
        self._table.replace(self.rows.values())


def run_sweep(
    spec: Spec,
    folder: Path,
    *,
    resume: bool = False,
    jobs: int | None = None,
    watch: Watcher | None = None,
    workplace: Workplace | None = None,
) -> SweepResult:
    """Run every point of `spec` that the table in `folder` lacks, in `workplace`.

    That is by default this machine, with `jobs` points at a time (default: as many as there are cores).
    `folder` gets `sweep.csv`, `spec.json` and the records of the trials. With `resume`, points without a result are tried
    again. Raises `SweepError` if no config is legal, if there is a table already and `resume` is not given, or if it is
    that of another sweep.
    """
    designs, illegal = expand(spec)
    if not designs:
        reasons = "; ".join(dict.fromkeys(entry.reason for entry in illegal))
        raise SweepError(f"none of the {len(illegal)} configs is legal: {reasons}")
    points = points_of(designs, spec.works)
    begin(spec, spec.identity(), folder, resume)
    table = folder / "sweep.csv"
    place = workplace or LocalWorkplace(jobs)
    with working_in(folder), Session(spec, table, points, place, len(points), watch) as session:
        session.run(points, spec.trials, spec.hints)
        session.finish()
    rows = tuple(session.rows[point.number] for point in points)
    return SweepResult(spec, designs, illegal, rows, table, session.ran)


def begin(spec: Spec, identity: dict[str, Any], folder: Path, resume: bool) -> None:
    """Make the folder of a sweep that is told from others by `identity`, or check that it is that of the same one.

    Raises `SweepError` if it is not, if there is one and `resume` is not given, or if accuracy is wanted without samples.
    """
    check_samples(spec)
    make_folder(folder)
    if spec.trials:
        make_folder(folder / "records")
    known = folder / "spec.json"
    if known.exists() and not resume:
        raise SweepError(f"{folder}: has a sweep already; resume it, or name another directory", parameters=("resume",))
    if known.exists():
        _check_same(parse_json(read_text(known, SweepError), str(known), SweepError), identity, known)
    write_whole(known, json.dumps(identity, indent=2) + "\n", "the description of the sweep")


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in the folder of a sweep. Raises `SweepError` if another process does: both would run and write the same points."""
    with ExitStack() as entered:
        try:
            entered.enter_context(alone_in(folder, wait=False))
        except BlockingIOError:
            raise SweepError(f"{folder}: another process runs this sweep; wait for it, or name another directory") from None
        yield


def _check_same(known: Any, identity: dict[str, Any], path: Path) -> None:
    if not isinstance(known, dict):
        raise SweepError(f"{path}: a JSON object is needed, not {type(known).__name__}")
    for key in dict.fromkeys((*identity, *known)):
        value = identity.get(key)
        if known.get(key) != value:
            raise SweepError(
                f"{path}: begun with {key} = {json.dumps(known.get(key))}, now {json.dumps(value)}; "
                "go on with the sweep as it was, or name another directory"
            )
