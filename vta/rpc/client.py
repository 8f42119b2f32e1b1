"""Getting a device: from a tracker by its key, or from a server itself."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import grpc

from vta.errors import RemoteError, VTAError
from vta.rpc import vta_rpc_pb2 as pb
from vta.rpc.address import Address, parse_address
from vta.rpc.calls import Peer, explain
from vta.rpc.channel import open_channel
from vta.rpc.lease_queue import KeyCount, Listed, State
from vta.rpc.limits import Limits
from vta.rpc.security import Security, check_allowed
from vta.rpc.service import DEVICE, TRACKER, Stub
from vta.rpc.session import DeviceDescription, Session, describe

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
    for attempt in range(_ATTEMPTS):
        grant = _wait_for_grant(peer, key, priority, deadline)
        server = Peer("server", parse_address(grant.address), peer.security)
        try:
            return Session(server, grant.ticket, session_seconds, limits)
        except VTAError:
            # It may have died or been granted anew in between; the tracker will know.
            if attempt == _ATTEMPTS - 1 or time.monotonic() >= deadline:
                raise
    raise AssertionError("the last attempt returns or raises")


def connect(
    server: str | Address, session_seconds: float = 0.0, security: Security | None = None, limits: Limits | None = None
) -> Session:
    """Open a session on a server that has no tracker. Raises `RemoteError` if it does not answer, or is busy."""
    return Session(_peer("server", server, security), "", session_seconds, limits)


def query(tracker: str | Address, security: Security | None = None) -> Queue:
    """Ask a tracker for its queue. Raises `RemoteError` if it does not answer."""
    peer = _peer("tracker", tracker, security)
    with open_channel(peer.address, peer.security) as channel, peer.errors("asking for the queue"):
        reply = Stub(channel, TRACKER).Query(pb.QueryRequest(), timeout=_CALL_SECONDS)
    rows = tuple(KeyCount(row.key, row.total, row.free, row.pending) for row in reply.rows)
    states = {state.value: state for state in State}
    servers = tuple(
        Listed(row.address, row.key, states.get(row.state, State.DOWN), "", row.reason, row.device) for row in reply.servers
    )
    return Queue(rows, servers)


def describe_device(server: str | Address, security: Security | None = None) -> DeviceDescription:
    """Ask a server about its device, without a session. Raises `RemoteError` if it does not answer."""
    peer = _peer("server", server, security)
    with open_channel(peer.address, peer.security) as channel, peer.errors("asking for its device"):
        return describe(Stub(channel, DEVICE).Describe(pb.DescribeRequest(), timeout=_CALL_SECONDS))


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
