"""The tracker: knows the servers, and gives free ones to the clients that wait."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from vta.errors import RemoteError, UsageError
from vta.rpc.tracker.lease_queue import LeaseQueue, Waiter
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address, is_host, parse_address
from vta.rpc.wire.limits import KEY_CHARACTERS, SERVERS, TICKET_CHARACTERS, WAITERS, WORDS_CHARACTERS, Limits
from vta.rpc.wire.listen import Listener
from vta.rpc.wire.queue import Listed, State
from vta.rpc.wire.reaching import REACH_SECONDS, why_unreachable
from vta.rpc.wire.reading import read
from vta.rpc.wire.security import Security, check_allowed
from vta.rpc.wire.service import TRACKER, handler
from vta.support.shorten import printable, shown

__all__ = ["Tracker"]

_STATES = {pb.FREE: State.FREE, pb.BUSY: State.BUSY, pb.DOWN: State.DOWN}
_LONGEST_WAIT_SECONDS = 7 * 24 * 3600.0
_NAMED_REASONS = 3


class Tracker:
    """Listens from `start` to `stop`; both run in one event loop."""

    def __init__(self, address: Address, security: Security | None = None, limits: Limits | None = None) -> None:
        """Raises `UsageError` if other machines reach `address` and nothing protects it. Port 0 takes any free one."""
        self.limits = limits or Limits()
        self._security = security or Security()
        self._listener = Listener(address, self._security, handler(TRACKER, self))
        self._queue = LeaseQueue(self.limits.grant_seconds)
        self._streams: dict[str, str] = {}
        """The registration that speaks for each address."""
        self._granted: dict[Waiter, asyncio.Event] = {}
        self.last_used = time.monotonic()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._listener.address

    @property
    def problem(self) -> str:
        """See `Daemon`."""
        return ""

    async def start(self) -> None:
        """Listen. Raises `RemoteError` if the port is taken."""
        await self._listener.start()

    async def stop(self) -> None:
        """End all calls, and listen no more."""
        await self._listener.stop()

    async def register(self, context: Any) -> None:
        """See the protocol."""
        registration, address = uuid.uuid4().hex, ""
        problem, doubt = "", True
        try:
            while (status := await read(context, self.limits.silence_seconds, "server")) is not None:
                listed = _listed(status, context.peer())
                if not address:
                    self._check_new(listed)
                    address = listed.address
                    self._streams[address] = registration
                if doubt:
                    problem = await self._unreachable(listed)
                if listed.address != address or self._streams.get(address) != registration:
                    raise RemoteError(f"the registration of {address} is over: there is a newer one")
                self._queue.report(_as_reached(listed, problem))
                self._match()
                renew = self._queue.must_renew(address, time.monotonic())
                # A grant that nobody used may mean that nobody can.
                doubt = bool(problem) or renew
                await context.write(pb.TrackerUpdate(renew_ticket=renew, problem=problem))
        finally:
            # A server that came back has another registration, which the end of this one does not concern.
            if self._streams.get(address) == registration:
                del self._streams[address]
                self._queue.remove(address)

    async def lease(self, request: pb.LeaseRequest, context: Any) -> None:
        """See the protocol."""
        _check_key(request.key)
        if self._queue.waiters_count >= WAITERS:
            raise RemoteError(f"the queue is full: {WAITERS} clients wait")
        deadline = time.monotonic() + min(max(0.0, request.timeout_seconds), _LONGEST_WAIT_SECONDS)
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
        servers = [server for server in self._queue.servers() if server.key == waiter.key]
        unknown = not servers and not self._queue.is_known(waiter.key)
        unreachable = bool(servers) and not any(server.reachable for server in servers)
        if now < deadline and not ((unknown or unreachable) and now - waiter.since >= self.limits.unknown_key_seconds):
            return
        down = [f"{server.address} is down: {server.reason}" for server in servers if server.reason][:_NAMED_REASONS]
        if unreachable:
            raise RemoteError(f"no device with the key {waiter.key!r} can be had: {'; '.join(down)}")
        rows = {row.key: row for row in self._queue.table()}
        if unknown:
            keys = ", ".join(f"{key!r}" for key, row in rows.items() if row.total) or "none"
            raise RemoteError(f"no server has the key {waiter.key!r}; keys at the tracker: {keys}")
        total, pending = rows[waiter.key].total, rows[waiter.key].pending
        raise RemoteError(
            f"no free device with the key {waiter.key!r} within {request.timeout_seconds:.3g} s: "
            + "; ".join([f"{total} up, {pending} waiting for one, {self._queue.position(waiter)} of them first", *down])
        )

    def _check_new(self, listed: Listed) -> None:
        """Raise `VTAError` if there is no room for another server, or clients could not go to its address unprotected."""
        if self._queue.servers_count >= SERVERS and not self._queue.has(listed.address):
            raise RemoteError(f"the tracker has {SERVERS} servers, and takes no more")
        check_allowed(parse_address(listed.address).host, self._security)

    async def _unreachable(self, listed: Listed) -> str:
        """Why clients could not reach a server; empty if they can."""
        seconds = min(REACH_SECONDS, self.limits.silence_seconds / 3)
        cause = await why_unreachable(parse_address(listed.address), seconds)
        return f"the tracker cannot reach it at {listed.address}: {cause}" if cause else ""


def _as_reached(listed: Listed, problem: str) -> Listed:
    """What a server says of itself; one that nobody can reach is not free."""
    if not problem or listed.state is not State.FREE:
        return listed
    return replace(listed, state=State.DOWN, reason=printable(problem, WORDS_CHARACTERS), reachable=False)


def _check_key(key: str) -> None:
    if not key or len(key) > KEY_CHARACTERS or not key.isprintable():
        raise UsageError(f"key {shown(key)}: allowed: 1 to {KEY_CHARACTERS} printable characters")


def _listed(status: pb.ServerStatus, peer: str) -> Listed:
    _check_key(status.key)
    if len(status.ticket) > TICKET_CHARACTERS or not (status.ticket.isascii() and status.ticket.isprintable()):
        raise UsageError(f"a ticket of {len(status.ticket)} characters; allowed: {TICKET_CHARACTERS}, printable ASCII")
    if status.host and not is_host(status.host):
        raise UsageError(f"host {shown(status.host)}: allowed: a name or an IP address")
    if not 0 < status.port < 1 << 16 or status.state not in _STATES:
        raise UsageError(f"port {status.port}, state {status.state}: no such server")
    address = str(Address(status.host or _host_of(peer), status.port))
    reason, device = printable(status.reason, WORDS_CHARACTERS), printable(status.device, KEY_CHARACTERS)
    return Listed(address, status.key, _STATES[status.state], status.ticket, reason, device)


def _host_of(peer: str) -> str:
    """The host in what gRPC calls a peer, e.g. ``ipv4:127.0.0.1:50000``."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
