"""What the tests of remote devices share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from vta.rpc.wire.address import Address
from vta.rpc.wire.limits import Limits

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCAL = Address("127.0.0.1", 0)
LIMIT_SECONDS = 40.0
"""A test that waits longer has failed; good for a machine that is busy with other things."""

FAST = Limits(
    heartbeat_seconds=0.1,
    silence_seconds=3.0,
    grant_seconds=0.5,
    unknown_key_seconds=0.5,
    register_seconds=1.0,
    run_seconds=LIMIT_SECONDS,
    upload_bytes=1 << 24,
)


def until(condition: Callable[[], bool], what: Callable[[], str]) -> None:
    """Look every few milliseconds until `condition` holds; fail with `what` after the limit."""
    deadline = time.monotonic() + LIMIT_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, what()
        pause.wait(0.02)


class Attempt:
    """A call in another thread, and the error that it ended with."""

    def __init__(self, function):
        self.error = None
        self.result = None
        self._thread = threading.Thread(target=self._run, args=(function,), daemon=True)
        self._thread.start()

    def _run(self, function):
        try:
            self.result = function()
        except Exception as error:
            self.error = error

    def wait(self):
        self._thread.join(LIMIT_SECONDS)
        assert not self._thread.is_alive(), "the call hangs"
        return self.error
