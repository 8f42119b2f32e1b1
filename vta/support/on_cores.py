"""Work on parts of arrays, on all cores: for native code and NumPy's, which lets go of Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from threading import Thread
from typing import TypeVar

__all__ = ["THREADS_VARIABLE", "on_cores", "threads_at_once", "usable_cores"]

THREADS_VARIABLE = "OMP_NUM_THREADS"
"""The environment variable that says how many threads work at once in a process; libraries of linear algebra obey it, too."""

_Part = TypeVar("_Part")


def on_cores(work: Callable[[_Part], object], parts: Iterable[_Part]) -> None:
    """Call `work` for each part, in any order, and return when all are done; raises what the first call that fails raises.

    There are `threads_at_once` threads.
    """
    listed = list(parts)
    pending = iter(listed)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for part in pending:
                work(part)
        except BaseException as error:
            errors.append(error)

    others = [Thread(target=run) for _ in range(min(threads_at_once(), len(listed)) - 1)]
    for thread in others:
        thread.start()
    run()
    for thread in others:
        thread.join()
    if errors:
        raise errors[0]


def threads_at_once() -> int:
    """As many threads as there are usable cores, or as `THREADS_VARIABLE` says."""
    said = os.environ.get(THREADS_VARIABLE, "")
    return max(1, int(said)) if said.isascii() and said.isdigit() else usable_cores()


def usable_cores() -> int:
    """Processors that this process may run on: of a machine's, those that `taskset` or a container left to it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
