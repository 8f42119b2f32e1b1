"""The tracker: knows the servers, and gives free ones to the clients that wait."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any
from urllib.parse import unquote

from vta.errors import RemoteError, UsageError
from vta.rpc import vta_rpc_pb2 as pb
from vta.rpc.address import Address
from vta.rpc.lease_queue import LeaseQueue, Listed, State, Waiter
from vta.rpc.limits import Limits
from vta.rpc.listen import Listener
from vta.rpc.reading import read
from vta.rpc.security import Security
from vta.rpc.service import TRACKER, handler

__all__ = ["Tracker"]

_STATES = {pb.FREE: State.FREE, pb.BUSY: State.BUSY, pb.DOWN: State.DOWN}
_KEY_CHARACTERS = 100


class Tracker:
    """Listens from `start` to `stop`; both run in one event loop."""

    def __init__(self, address: Address, security: Security | None = None, limits: Limits | None = None) -> None:
        """Raises `UsageError` if other machines reach `address` and nothing protects it. Port 0 takes any free one."""
        self.limits = limits or Limits()
        self._listener = Listener(address, security or Security(), handler(TRACKER, self))
        self._queue = LeaseQueue(self.limits.grant_seconds)
        self._streams: dict[str, str] = {}
        """The registration that speaks for each address."""
        self._granted: dict[Waiter, asyncio.Event] = {}
        self.last_used = time.monotonic()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._listener.address

    async def start(self) -> None:
        """Listen. Raises `RemoteError` if the port is taken."""
        await self._listener.start()

    async def stop(self) -> None:
        """End all calls, and listen no more."""
        await self._listener.stop()

    async def register(self, context: Any) -> None:
        """See the protocol."""
        registration, address = uuid.uuid4().hex, ""
        try:
            while (status := await read(context, self.limits.silence_seconds, "server")) is not None:
                listed = _listed(status, context.peer())
                if not address:
                    address = listed.address
                    self._streams[address] = registration
                if listed.address != address or self._streams[address] != registration:
                    raise RemoteError(f"the registration of {address} is over: there is a newer one")
                self._queue.report(listed)
                self._match()
                await context.write(pb.TrackerUpdate(renew_ticket=self._queue.must_renew(address, time.monotonic())))
        finally:
            # A server that came back has another registration, which the end of this one does not concern.
            if self._streams.get(address) == registration:
                del self._streams[address]
                self._queue.remove(address)

    async def lease(self, request: pb.LeaseRequest, context: Any) -> None:
        """See the protocol."""
        deadline = time.monotonic() + request.timeout_seconds
        waiter = self._queue.enqueue(request.key, request.priority, time.monotonic())
        granted = self._granted[waiter] = asyncio.Event()
        delivered = False
        try:
            self._match()
            while waiter.granted is None:
                self._check_hope(waiter, request, deadline)
                await context.write(pb.LeaseUpdate(waiting=self._queue.position(waiter)))
                await self._pause(granted, deadline)
            grant = pb.Grant(address=waiter.granted.address, ticket=waiter.granted.ticket)
            await context.write(pb.LeaseUpdate(grant=grant))
            delivered = True
        finally:
            del self._granted[waiter]
            if not delivered:
                self._queue.cancel(waiter)

    async def query(self, request: pb.QueryRequest, context: Any) -> pb.QueryReply:
        """See the protocol."""
        rows = [pb.KeyRow(key=r.key, total=r.total, free=r.free, pending=r.pending) for r in self._queue.table()]
        servers = [
            pb.ServerRow(key=s.key, address=s.address, state=s.state.value, reason=s.reason, device=s.device)
            for s in self._queue.servers()
        ]
        return pb.QueryReply(rows=rows, servers=servers)

    async def _pause(self, granted: asyncio.Event, deadline: float) -> None:
        """Wait for a grant, the deadline, or the next message to the client."""
        seconds = min(self.limits.heartbeat_seconds, max(0.0, deadline - time.monotonic()))
        try:
            await asyncio.wait_for(granted.wait(), seconds)
        except asyncio.TimeoutError:
            return

    def _match(self) -> None:
        self.last_used = time.monotonic()
        for waiter in self._queue.match(self.last_used):
            self._granted[waiter].set()

    def _check_hope(self, waiter: Waiter, request: pb.LeaseRequest, deadline: float) -> None:
        """Raise `RemoteError` if the client need not wait any longer."""
        now = time.monotonic()
        unknown = not self._queue.is_known(waiter.key)
        if now < deadline and not (unknown and now - waiter.since >= self.limits.unknown_key_seconds):
            return
        rows = {row.key: row for row in self._queue.table()}
        if unknown:
            keys = ", ".join(f"{key!r}" for key, row in rows.items() if row.total) or "none"
            raise RemoteError(f"no server has the key {waiter.key!r}; keys at the tracker: {keys}")
        total, pending = rows[waiter.key].total, rows[waiter.key].pending
        raise RemoteError(
            f"no free device with the key {waiter.key!r} within {request.timeout_seconds:.3g} s: "
            f"{total} up, {pending} waiting for one, {self._queue.position(waiter)} of them first"
        )


def _listed(status: pb.ServerStatus, peer: str) -> Listed:
    if not status.key or len(status.key) > _KEY_CHARACTERS or not status.key.isprintable():
        raise UsageError(f"a key has 1 to {_KEY_CHARACTERS} printable characters")
    if not 0 < status.port < 1 << 16 or status.state not in _STATES:
        raise UsageError(f"port {status.port}, state {status.state}: no such server")
    address = str(Address(status.host or _host_of(peer), status.port))
    return Listed(address, status.key, _STATES[status.state], status.ticket, status.reason, status.device)


def _host_of(peer: str) -> str:
    """The host in what gRPC calls a peer, e.g. ``ipv4:127.0.0.1:50000``."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
