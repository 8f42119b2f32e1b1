"""A server's standing with its tracker: reports, heartbeats, and coming back after either was away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import grpc

from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address
from vta.rpc.wire.calls import Peer, explain
from vta.rpc.wire.channel import async_channel
from vta.rpc.wire.limits import Limits
from vta.rpc.wire.security import Security
from vta.rpc.wire.service import TRACKER, Stub, reason_of
from vta.support.shorten import printable

__all__ = ["Registration"]

_RETRY_SECONDS = (0.2, 2.0)
_FIRST_ATTEMPT = 3
"""Silences that the first attempt takes at most: to connect, to report, to be answered."""


class Registration:
    """Tells the tracker the server's `status` whenever that has changed, and otherwise as a heartbeat."""

    def __init__(
        self,
        tracker: Address,
        security: Security,
        limits: Limits,
        status: Callable[[], pb.ServerStatus],
        renew_ticket: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        """`say` is told whenever the standing is another, in one line."""
        self._tracker = tracker
        self._peer = Peer("tracker", tracker, security)
        self._say = say
        self._problem = f"tracker {tracker} has not answered yet"
        self._security = security
        self._limits = limits
        self._status = status
        self._renew_ticket = renew_ticket
        self._changed = asyncio.Event()
        self._registered = asyncio.Event()
        self._tried = asyncio.Event()
        self._delay = _RETRY_SECONDS[0]

    @property
    def problem(self) -> str:
        """Why clients cannot come by way of the tracker; empty if they can."""
        return self._problem

    async def wait(self, seconds: float) -> bool:
        """Whether the tracker has taken the first report, within `seconds`, or longer while the first attempt goes on."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._registered.wait(), seconds)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._tried.wait(), _FIRST_ATTEMPT * self._limits.silence_seconds)
        return self._registered.is_set()

    def changed(self) -> None:
        """The status is another: tell it soon."""
        self._changed.set()

    async def keep(self) -> None:
        """Stay registered until cancelled, whatever happens to the tracker."""
        while True:
            try:
                await self._report()
            except Exception as error:  # A broken call shows in many ways, and none of them may end the registration.
                self._stands(await self._told(error))
                self._tried.set()
            await asyncio.sleep(self._delay)
            self._delay = min(2 * self._delay, _RETRY_SECONDS[1])

    async def _told(self, error: Exception) -> str:
        """What an error of a report means."""
        if isinstance(error, asyncio.TimeoutError):
            return f"{self._peer} did not answer within {self._limits.silence_seconds:g} s"
        if not isinstance(error, grpc.RpcError):
            return reason_of(error)
        try:
            # What is wrong with the connection shows only to who makes another, which takes a while.
            return reason_of(await asyncio.to_thread(explain, error, self._peer, "registering"))
        except Exception as other:
            return reason_of(other)

    def _stands(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._say(f"not available at {self._peer}: {problem}" if problem else f"available at {self._peer}")

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
                self._registered.set()
                self._tried.set()
                self._stands(printable(update.problem))
                if update.renew_ticket:
                    self._renew_ticket()
                await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), self._limits.heartbeat_seconds)
        except asyncio.TimeoutError:
            return
