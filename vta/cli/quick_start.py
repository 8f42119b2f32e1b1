"""What lets the process of a command begin, and end, sooner."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from vta.cli.terminal.interrupt import is_command
from vta.files.second_process import allow_second_process
from vta.support.lazy_modules import postpone
from vta.support.quick_numpy import import_numpy
from vta.support.without_collection import without_collection

__all__ = ["keep_freed_memory", "no_collection", "prepare_start", "quick_numpy", "quick_start"]

_POSTPONED = (
    *("ast", "bz2", "difflib", "dis", "html", "inspect", "ipaddress", "linecache", "lzma", "pickle"),
    *("textwrap", "tokenize"),
)
"""Modules that NumPy, the standard library or ours import for functions that no thread of a command calls."""
_POSTPONED_ALONE = (*_POSTPONED, "ctypes", "logging", "platform", "random", "shutil", "tempfile")
"""Those that compiling, by one thread, rarely calls."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Options of `mallopt` of the GNU C library."""
_LARGEST_KEPT, _MOST_KEPT = 32 << 20, 256 << 20


def quick_start(*, one_thread: bool) -> None:
    """Do what `prepare_start` and `quick_numpy` do."""
    prepare_start(one_thread=one_thread)
    quick_numpy()


def prepare_start(*, one_thread: bool) -> None:
    """Let the process split, and NumPy start no threads; nothing where this is no command's process.

    Modules that are rarely used are left for later; with `one_thread` more of them: of two threads that use one first at the same
    time, one might find it half made.
    """
    # Matrix products take one thread wherever the compiler does some, and the others would spin for a while when they start.
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Arrays come and go: to look for, and clear, huge pages for each takes longer than they save.
        os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    if is_command(sys.argv):
        postpone(_POSTPONED_ALONE if one_thread else _POSTPONED)
        allow_second_process()


def quick_numpy() -> None:
    """Import NumPy without what commands have no use for; nothing where this is no command's process."""
    if is_command(sys.argv):
        with without_collection():
            import_numpy()


def keep_freed_memory() -> None:
    """Have the memory of arrays that are gone wait for others: in a command's process, where the C library does as it is told.

    By default much of it goes back to the system, which clears each page that comes again: of the many arrays of some megabytes
    that come and go while a network is calibrated, all of them.
    """
    if not is_command(sys.argv):
        return
    import ctypes

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    set_option(_MMAP_THRESHOLD, _LARGEST_KEPT)
    set_option(_TRIM_THRESHOLD, _MOST_KEPT)


@contextmanager
def no_collection() -> Iterator[None]:
    """Importing and compiling make many objects and hardly any cycles of them: to look for some takes a tenth of the time.

    The process of the command does not look at what is left when it ends, either.
    """
    with without_collection():
        try:
            yield
        finally:
            if is_command(sys.argv):
                gc.freeze()
