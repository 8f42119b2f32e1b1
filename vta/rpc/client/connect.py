"""Getting a device: from a tracker by its key, or from a server itself."""

from __future__ import annotations

import threading
import time

import grpc

from vta.errors import RemoteError, UsageError, VTAError
from vta.rpc.client.session import DeviceDescription, Session, describe, held_here
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address, parse_address
from vta.rpc.wire.calls import Peer, explain
from vta.rpc.wire.channel import open_channel
from vta.rpc.wire.limits import KEY_CHARACTERS, WORDS_CHARACTERS, Limits
from vta.rpc.wire.queue import KeyCount, Listed, State
from vta.rpc.wire.reaching import why_unreachable_now
from vta.rpc.wire.security import Security, check_allowed
from vta.rpc.wire.service import DEVICE, TRACKER, Stub
from vta.support.dataclass import dataclass
from vta.support.shorten import printable

__all__ = ["Queue", "connect", "describe_device", "lease", "query"]

DEFAULT_TIMEOUT_SECONDS = 60.0

_CALL_SECONDS = 10.0
_RETRY_SECONDS = 0.3
_ATTEMPTS = 3


@dataclass(frozen=True)
class Queue:
    """What a tracker knows."""

    rows: tuple[KeyCount, ...]
    servers: tuple[Listed, ...]


def lease(
    tracker: str | Address,
    key: str,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    priority: int = 0,
    session_seconds: float = 0.0,
    security: Security | None = None,
    limits: Limits | None = None,
) -> Session:
    """Wait for a free device with `key`, and open a session there.

    A higher `priority` goes first. The session ends by itself after `session_seconds` (0: the server's limit). Raises
    `RemoteError` if none is free within `timeout_seconds`, no server has the key, or the tracker does not answer.
    """
    peer = _peer("tracker", tracker, security)
    deadline = time.monotonic() + timeout_seconds
    trouble: VTAError | None = None
    for _ in range(_ATTEMPTS):
        try:
            grant = _wait_for_grant(peer, key, priority, deadline)
        except VTAError as error:
            if trouble is None and not isinstance(error, RemoteError):
                raise
            more = held_here() if trouble is None else f"; before that: {trouble}"
            raise RemoteError(f"{error}{more}", parameters=error.parameters) from None
        server = _granted(peer, grant)
        try:
            return _opened(server, grant.ticket, session_seconds, limits)
        except VTAError as error:
            # It may have died or been granted anew in between; the tracker will know.
            trouble = error
            if time.monotonic() >= deadline:
                break
    assert trouble is not None, "there was an attempt, and it did not return"
    raise trouble


def connect(
    server: str | Address, session_seconds: float = 0.0, security: Security | None = None, limits: Limits | None = None
) -> Session:
    """Open a session on a server that has no tracker. Raises `RemoteError` if it does not answer, or is busy."""
    peer = _peer("server", server, security)
    try:
        return Session(peer, "", session_seconds, limits)
    except RemoteError as error:
        raise RemoteError(f"{error}{held_here(peer.address)}", parameters=error.parameters) from None


def query(tracker: str | Address, security: Security | None = None) -> Queue:
    """Ask a tracker for its queue. Raises `RemoteError` if it does not answer."""
    peer = _peer("tracker", tracker, security)
    with open_channel(peer.address, peer.security) as channel, peer.errors("asking for the queue"):
        reply = Stub(channel, TRACKER).Query(pb.QueryRequest(), timeout=_CALL_SECONDS)
    rows = tuple(KeyCount(printable(row.key, KEY_CHARACTERS), row.total, row.free, row.pending) for row in reply.rows)
    return Queue(rows, tuple(map(_listed, reply.servers)))


def describe_device(server: str | Address, security: Security | None = None) -> DeviceDescription:
    """Ask a server about its device, without a session. Raises `RemoteError` if it does not answer."""
    peer = _peer("server", server, security)
    with open_channel(peer.address, peer.security) as channel, peer.errors("asking for its device"):
        return describe(Stub(channel, DEVICE).Describe(pb.DescribeRequest(), timeout=_CALL_SECONDS))


def _listed(row: pb.ServerRow) -> Listed:
    states = {state.value: state for state in State}
    key, device = (printable(text, KEY_CHARACTERS) for text in (row.key, row.device))
    return Listed(
        printable(row.address, WORDS_CHARACTERS),
        key,
        states.get(row.state, State.DOWN),
        reason=printable(row.reason, WORDS_CHARACTERS),
        device=device,
    )


def _granted(tracker: Peer, grant: pb.Grant) -> Peer:
    """The server that a tracker sends us to. Raises `UsageError` if it may not be talked to, as if we had chosen it ourselves."""
    try:
        address = parse_address(grant.address)
        check_allowed(address.host, tracker.security)
    except UsageError as error:
        text = f"{tracker} granted the device at {printable(grant.address)}: {error}"
        raise UsageError(text, parameters=error.parameters) from None
    return Peer("server", address, tracker.security)


def _opened(server: Peer, ticket: str, session_seconds: float, limits: Limits | None) -> Session:
    """A session; a server that cannot even be connected to is told apart soon."""
    cause = why_unreachable_now(server.address)
    if cause:
        raise RemoteError(f"{server} cannot be reached: {cause}")
    return Session(server, ticket, session_seconds, limits)


def _peer(what: str, address: str | Address, security: Security | None) -> Peer:
    where = parse_address(address) if isinstance(address, str) else address
    check_allowed(where.host, security or Security())
    return Peer(what, where, security or Security())


def _wait_for_grant(peer: Peer, key: str, priority: int, deadline: float) -> pb.Grant:
    """Wait in the queue; a tracker that goes away and comes back in the meantime is asked again."""
    was_there = False
    while True:
        left = max(0.0, deadline - time.monotonic())
        request = pb.LeaseRequest(key=key, priority=priority, timeout_seconds=left)
        with open_channel(peer.address, peer.security) as channel:
            try:
                for update in Stub(channel, TRACKER).Lease(request, timeout=left + _CALL_SECONDS):
                    was_there = True
                    if update.HasField("grant"):
                        grant: pb.Grant = update.grant
                        return grant
            except grpc.RpcError as error:
                gone = error.code() is grpc.StatusCode.UNAVAILABLE
                if not (gone and was_there and time.monotonic() < deadline):
                    raise explain(error, peer, f"waiting for a device with the key {key!r}") from None
        if time.monotonic() >= deadline:
            raise RemoteError(f"{peer} ended the wait for a device with the key {key!r}")
        threading.Event().wait(_RETRY_SECONDS)
