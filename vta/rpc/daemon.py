"""Running trackers and servers: as a process of their own until a signal, or in a thread of another program."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from vta.rpc.wire.address import Address

__all__ = ["Background", "Daemon", "run_daemon"]

_STOP_SECONDS = 30.0
_END_SECONDS = 1.0
"""Of calls that were cancelled."""


class Daemon(Protocol):
    """A tracker or a server."""

    @property
    def address(self) -> Address:
        """Where it listens."""

    @property
    def last_used(self) -> float:
        """When somebody last asked for something, on the monotonic clock."""

    @property
    def problem(self) -> str:
        """Why it is of no use although it listens; empty if it is."""

    async def start(self) -> None:
        """Listen."""

    async def stop(self) -> None:
        """Listen no more."""


def run_daemon(make: Callable[[], Daemon], ready: Callable[[Daemon], None], idle_seconds: float | None = None) -> None:
    """Run the daemon that `make` returns until SIGINT or SIGTERM, or until nobody has asked for anything for `idle_seconds`.

    `ready` is called with it once it listens; if that raises, the daemon ends.
    """
    asyncio.run(_run(make, ready, idle_seconds))


async def _run(make: Callable[[], Daemon], ready: Callable[[Daemon], None], idle_seconds: float | None) -> None:
    daemon = make()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await daemon.start()
    try:
        ready(daemon)
        while not stop.is_set():
            left = None if idle_seconds is None else daemon.last_used + idle_seconds - time.monotonic()
            if left is not None and left <= 0:
                return
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stop.wait(), left)
    finally:
        await daemon.stop()


class Background:
    """An event loop in a thread, for daemons inside another program; ends them at the end of a ``with``."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vta-rpc", daemon=True)
        self._daemons: list[Daemon] = []

    def __enter__(self) -> Background:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while self._daemons:
            self.stop(self._daemons[-1])
        # Calls that are being cancelled would complain, at any later time, that their loop is gone.
        self.wait(_others_done())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_SECONDS)
        self._loop.close()

    def start(self, make: Callable[[], Any]) -> Any:
        """Start the daemon that `make` returns, and return it. Raises what it raises."""

        async def start() -> Any:
            daemon = make()
            await daemon.start()
            return daemon

        daemon = self.wait(start())
        self._daemons.append(daemon)
        return daemon

    def stop(self, daemon: Daemon) -> None:
        """Stop a daemon that was started here."""
        self._daemons.remove(daemon)
        self.wait(daemon.stop())

    def wait(self, work: Any) -> Any:
        """The result of a coroutine, run in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * _STOP_SECONDS)


async def _others_done() -> None:
    """Wait until what else runs in the loop has ended; what takes longer is cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for seconds in (_END_SECONDS, _STOP_SECONDS):
        if others:
            _, others = await asyncio.wait(others, timeout=seconds)
            for task in others:
                task.cancel()
