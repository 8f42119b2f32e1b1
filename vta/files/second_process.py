"""A second process that makes some of what this one would have to make next, for commands, which use one core of a machine.

What is made is named by digests. While a `SecondProcess` is open, the first thing that has to be made splits the process in two.
The first half makes one thing after the other as it comes to them. The second half runs through the same code with stand-ins to
learn what will be asked for, then makes that from its end, and sends it. Where both meet, all is made, each thing by one of
them; what either makes is the same. If the second half does not come about, or dies, the first makes all of it. Where few things
are to be made, to split takes longer than they do: the first ones can be made before. A process that has other things to do
first can split before them: the second half goes `ahead`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vta.files.process_halves import ProcessHalves

from vta.support.on_cores import THREADS_VARIABLE, usable_cores

__all__ = ["Postponed", "SecondProcess", "ahead", "allow_second_process", "can_split", "end_ahead", "made"]

_MOST_THREADS = 2
"""The main one, and that of a command's progress, which holds no lock for long that the second half needs."""


class _Now:
    """What holds in this process."""

    allowed = False
    opened: SecondProcess | None = None
    ahead: ProcessHalves | None = None
    """Those that the next block that is open goes on with."""


class Postponed(Exception):  # noqa: N818 - nothing is wrong
    """Raised by `made` in the second half while that learns what will be asked for: a stand-in is to take the place of it."""


def allow_second_process() -> None:
    """Let `SecondProcess` split this process from now on: only for commands, whose threads and locks are known."""
    _Now.allowed = True


def made(digest: bytes, make: Callable[[], bytes]) -> bytes:
    """Return what `make` gives, or what the second half of an open `SecondProcess` made of it; `digest` has 32 bytes.

    Raises `Postponed` in the second half.
    """
    return make() if _Now.opened is None else _Now.opened.made(digest, make)


class SecondProcess:
    """Open while its block runs; see the module. The block is to replace what raises `Postponed`, and to have no other effects.

    Without `allow_second_process`, on a machine with one core, or where OMP_NUM_THREADS is 1, it does nothing.
    """

    def __init__(self, wanted: bool = True, *, alone: int = 0, hands_on: bool = False) -> None:
        """With `wanted` false it does nothing either. The first `alone` things are made before anything is split.

        With `hands_on`, where nothing is asked for in this block, what went ahead is left to the next one.
        """
        self._wanted, self._usable = wanted, wanted and can_split()
        self._alone = alone
        self._idle = hands_on
        self._halves: ProcessHalves | None = None

    def __enter__(self) -> SecondProcess:
        if _Now.opened is None and _Now.ahead is not None:
            self._halves, _Now.ahead = _Now.ahead, None
        if _Now.opened is None and (self._usable or self._halves is not None):
            _Now.opened = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if _Now.opened is not self:
            return
        _Now.opened = None
        if self._idle and kind is None:
            _Now.ahead = self._halves
        elif self._halves is not None and self._halves.is_second:
            self._halves.make_from_the_end(failed=kind is not None)
        elif self._halves is not None:
            self._halves.end()

    def made(self, digest: bytes, make: Callable[[], bytes]) -> bytes:
        """See the function `made`."""
        self._idle = False
        if self._halves is not None and self._halves.ended_early:
            self._halves, self._usable = None, self._wanted and can_split()
        if self._halves is None and self._usable and self._alone:
            self._alone -= 1
            return make()
        if self._halves is None and self._usable:
            self._usable = False
            self._halves = _halves()
        if self._halves is None:
            return make()
        if self._halves.is_second:
            self._halves.postpone(digest, make)
            raise Postponed
        return self._halves.made(digest, make)


def _halves() -> ProcessHalves | None:
    """Split this process; None where there can be no other."""
    from vta.files.process_halves import ProcessHalves

    try:
        return ProcessHalves()
    except OSError as error:
        import logging  # which takes as long to import as this package

        logging.getLogger(__name__).debug("no second process: %s", error)
        return None


@contextlib.contextmanager
def ahead(work: Callable[[], object]) -> Iterator[None]:
    """Split this process: the second half runs `work`, which is to come sooner to the next `SecondProcess` than this block does.

    What is asked for there both make, as always. If `work` comes to none, nothing is made by it; what it prints is lost. Where a
    process may not split, this does nothing.
    """
    halves = _halves() if _Now.opened is None and _Now.ahead is None and can_split() else None
    if halves is None:
        yield
        return
    _Now.ahead = halves
    if halves.is_second:
        _run_unseen(work)
    try:
        yield
    finally:
        _Now.ahead = None
        halves.end()


def end_ahead() -> None:
    """End the second half that went ahead, if there is one: what it makes is of no use after all."""
    if _Now.ahead is not None:
        _Now.ahead.end()
        _Now.ahead = None


def _run_unseen(work: Callable[[], object]) -> None:
    """Run the work of a second half, whose process ends where its `SecondProcess` does, or here; never returns."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        work()
    finally:
        os._exit(1)


def can_split() -> bool:
    """Whether this process may be split: others than Linux have no `fork`, or libraries that do not live through one."""
    if not _Now.allowed or sys.platform != "linux" or os.environ.get(THREADS_VARIABLE) == "1":
        return False
    return usable_cores() > 1 and threading.active_count() <= _MOST_THREADS
