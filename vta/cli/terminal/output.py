"""What commands print: results on standard output, progress on standard error, JSON when asked."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vta.ir.graph import Graph
    from vta.support.table import Table

__all__ = ["SIZE_UNITS", "Output", "Progress", "count", "size", "warn_of_scales"]

SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_DELAY_SECONDS = 1.0


class Output:
    """Where a command's words go: to standard output, or with --json to standard error."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def line(self, text: str = "") -> None:
        """Print a line for people."""
        print(text, file=sys.stderr if self._as_json else sys.stdout)

    def show(self, table: Table) -> None:
        """Print a table for people."""
        from vta.report.table import write_table

        write_table(table, sys.stderr if self._as_json else sys.stdout)

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result for scripts, if asked for."""
        if self._as_json:
            import json

            print(json.dumps(values, default=_plain))

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show progress on standard error for as long as the block runs, if that is over a second."""
        progress = Progress()
        try:
            yield progress
        finally:
            progress.close()


class Progress:
    """Callback that shows which stage of a longer job is running and how far it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stage = "starting"
        self._done, self._total = 0, 0
        self._shown = ""
        self._bar: Any = None
        self._task: Any = None
        self._visible = self._closed = False
        self._timer = threading.Timer(_DELAY_SECONDS, self._show)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report that `done` of `total` steps of `stage` are finished (a total of 0: unknown)."""
        with self._lock:
            self._stage, self._done, self._total = stage, done, total
            if self._visible:
                self._update()

    def close(self) -> None:
        """Remove what is shown."""
        self._timer.cancel()
        with self._lock:
            self._visible, self._closed = False, True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._visible = True
            if sys.stderr.isatty():
                self._start_bar()
            self._update()

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._stage, total=None)
        self._bar.start()

    def _update(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=self._stage, completed=self._done, total=self._total or None)
        elif self._stage != self._shown:
            # Not a terminal: one line for each stage, so that a log stays readable.
            self._shown = self._stage
            print(f"{self._stage} ...", file=sys.stderr, flush=True)


def count(number: int, noun: str = "") -> str:
    """Format a count with thousands separators, followed by `noun` in the number that it needs."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(nbytes: int) -> str:
    """Format a number of bytes for people."""
    for unit in ("G", "M", "K"):
        if nbytes >= SIZE_UNITS[unit]:
            return f"{nbytes / SIZE_UNITS[unit]:.1f} {unit}iB"
    return f"{nbytes} B"


def warn_of_scales(output: Output, graph: Graph, inputs: Mapping[str, NDArray[Any]]) -> None:
    """Say which inputs of a network are far from what its quantisation expects."""
    from vta.runtime.evaluation.input_range import scale_warnings

    for text in scale_warnings(graph, inputs):
        output.line(f"warning: {text}")


def _plain(value: Any) -> Any:
    """Turn NumPy scalars and paths into what JSON knows."""
    return value.item() if hasattr(value, "item") else str(value)
