"""The live table of a search over all kernels of a network: redrawn on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vta.autotune.auto.session import AutoReport

__all__ = ["AutoDisplay", "total_line"]

_SECONDS_BETWEEN_LINES = 10.0


def total_line(reports: Sequence[AutoReport]) -> str:
    """The estimated time of the whole network, and how many trials were made."""
    from vta.autotune.auto.session import estimated_seconds

    trials = sum(report.trials for report in reports)
    return f"estimated total {estimated_seconds(reports) * 1e3:.3f} ms, {trials:,} trials"


class AutoDisplay:
    """Shows on standard error how far a search is."""

    def __init__(self) -> None:
        self._live: Any = None
        self._started = self._last = time.monotonic()

    def __enter__(self) -> AutoDisplay:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True, markup=False, emoji=False), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, reports: Sequence[AutoReport], last: AutoReport) -> None:
        """Take note of how far all tasks are, and which one has just had a round."""
        now = time.monotonic()
        said = f"{total_line(reports)}, {now - self._started:.0f} s; last: {last.task.label}"
        if self._live is not None:
            from vta.report.auto_tuning import auto_table
            from vta.report.table import rich_table

            self._live.update(rich_table(auto_table(reports, said), self._live.console.width))
        elif now - self._last > _SECONDS_BETWEEN_LINES:
            self._last = now
            print(said, file=sys.stderr, flush=True)
