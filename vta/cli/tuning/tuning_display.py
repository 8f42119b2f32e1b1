"""The live table of a tuning run: on a terminal it is redrawn, elsewhere each task gets a line when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

from vta.report.tuning import milliseconds

if TYPE_CHECKING:
    from vta.autotune.session import TaskReport
    from vta.autotune.tunable import Tunable
    from vta.support.table import Table

__all__ = ["Display"]

_SECONDS_BETWEEN_LINES = 10.0


class Display:
    """Shows on standard error how far each task is."""

    def __init__(self, tasks: Sequence[Tunable], table: Callable[[Any], Table]) -> None:
        """`table` makes one of reports, one row each."""
        self._count = len(tasks)
        self._table = table
        self._reports: dict[str, TaskReport[Any]] = {}
        self._live: Any = None
        self._last = time.monotonic()

    def __enter__(self) -> Display:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True, markup=False, emoji=False), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, report: TaskReport[Any]) -> None:
        """Take note of how far a task is."""
        self._reports[report.task.name] = report
        if self._live is not None:
            from vta.report.table import rich_table

            table = self._table(list(self._reports.values())[::-1])
            self._live.update(rich_table(table, self._live.console.width))
            return
        now = time.monotonic()
        if report.trials >= report.planned or now - self._last > _SECONDS_BETWEEN_LINES:
            self._last = now
            print(self._line(report), file=sys.stderr, flush=True)

    def _line(self, report: TaskReport[Any]) -> str:
        current = _cost(report.current_cycles, report.current_cost, "", "failed")
        best = _cost(report.best_cycles, report.best_cost, " cycles", "none")
        # Operators without products have no such speed; without a valid trial there is none to tell.
        speed = f"{report.gops:.1f} GOPS, " if report.gops else ""
        return (
            f"task {len(self._reports)} of {self._count}: current {current}, best {best} ({speed}"
            f"{report.share:.1%} of roofline), trials {report.trials} of {report.planned}, {report.seconds:.1f} s"
        )


def _cost(cycles: int | None, seconds: float, unit: str, otherwise: str) -> str:
    if cycles is not None:
        return f"{cycles:,}{unit}"
    return otherwise if isinf(seconds) else milliseconds(seconds)
