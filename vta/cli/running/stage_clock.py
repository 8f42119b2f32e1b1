"""How long each stage of a command takes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

__all__ = ["StageClock"]


class StageClock:
    """Passes progress on, and notes when its stage changes."""

    def __init__(self, progress: Callable[[str, int, int], None]) -> None:
        self._progress = progress
        self._stage = ""
        self._wall, self._processor = time.perf_counter(), _processor_seconds()
        self.seconds: dict[str, float] = {}
        """Wall time of each stage that has ended, in order."""
        self.cpu_seconds: dict[str, float] = {}
        """Time of all cores in each, also for what ran beside it; of another process, in the stage in which that ended."""

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """See `vta.cli.terminal.output.Progress`."""
        if stage != self._stage:
            self.end()
            self._stage = stage
        self._progress(stage, done, total)

    def end(self) -> None:
        """The last stage has ended."""
        wall, processor = time.perf_counter(), _processor_seconds()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + wall - self._wall
            self.cpu_seconds[self._stage] = self.cpu_seconds.get(self._stage, 0.0) + processor - self._processor
        self._wall, self._processor, self._stage = wall, processor, ""


def _processor_seconds() -> float:
    """Of this process, and those that it made and that have ended."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system
