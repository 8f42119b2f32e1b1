"""Daemons in the thread of another program."""

from __future__ import annotations

import asyncio

from vta.rpc.daemon import Background
from vta.rpc.wire.address import Address


class Busy:
    """A daemon with a call that takes its time to end."""

    def __init__(self):
        self.address, self.last_used, self.problem = Address("127.0.0.1", 1), 0.0, ""
        self.ended = False
        self.call = None

    async def start(self):
        self.call = asyncio.create_task(self._call())
        await asyncio.sleep(0)

    async def stop(self):
        self.call.cancel()

    async def _call(self):
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            self.ended = True


def test_calls_have_ended_when_their_loop_has():
    with Background() as background:
        daemon = background.start(Busy)
    assert daemon.ended
    assert daemon.call.cancelled()
