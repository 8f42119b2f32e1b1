"""A server's standing with its tracker: reports, heartbeats, and coming back after either was away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import grpc

from vta.rpc import vta_rpc_pb2 as pb
from vta.rpc.address import Address
from vta.rpc.channel import async_channel
from vta.rpc.limits import Limits
from vta.rpc.security import Security
from vta.rpc.service import TRACKER, Stub

__all__ = ["Registration"]

_RETRY_SECONDS = (0.2, 2.0)


class Registration:
    """Tells the tracker the server's `status` whenever that has changed, and otherwise as a heartbeat."""

    def __init__(
        self,
        tracker: Address,
        security: Security,
        limits: Limits,
        status: Callable[[], pb.ServerStatus],
        renew_ticket: Callable[[], None],
    ) -> None:
        self._tracker = tracker
        self._security = security
        self._limits = limits
        self._status = status
        self._renew_ticket = renew_ticket
        self._changed = asyncio.Event()
        self._delay = _RETRY_SECONDS[0]

    def changed(self) -> None:
        """The status is another: tell it soon."""
        self._changed.set()

    async def keep(self) -> None:
        """Stay registered until cancelled, whatever happens to the tracker."""
        while True:
            # A broken call shows in many ways, and none of them may end the registration.
            with contextlib.suppress(Exception):
                await self._report()
            await asyncio.sleep(self._delay)
            self._delay = min(2 * self._delay, _RETRY_SECONDS[1])

    async def _report(self) -> None:
        """Report over one connection until that breaks."""
        async with async_channel(self._tracker, self._security) as channel:
            call = Stub(channel, TRACKER).Register()
            while True:
                self._changed.clear()
                await asyncio.wait_for(call.write(self._status()), self._limits.silence_seconds)
                update = await asyncio.wait_for(call.read(), self._limits.silence_seconds)
                if update is grpc.aio.EOF:
                    raise asyncio.TimeoutError
                self._delay = _RETRY_SECONDS[0]
                if update.renew_ticket:
                    self._renew_ticket()
                await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), self._limits.heartbeat_seconds)
        except asyncio.TimeoutError:
            return
