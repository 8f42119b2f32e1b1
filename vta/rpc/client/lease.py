"""Holding a session open: beats go out, and when the server's stay away the session is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc

from vta.errors import RemoteError, VTAError
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.calls import Peer, explain
from vta.rpc.wire.limits import Limits
from vta.rpc.wire.reaching import why_unreachable_now

__all__ = ["Lease"]


class Lease:
    """A session on a server, from the construction to `close`, or until it is lost."""

    def __init__(self, stub: Any, peer: Peer, ticket: str, limit_seconds: float, limits: Limits) -> None:
        """Open the session. Raises `RemoteError` if the server does not answer or refuses."""
        self._peer = peer
        self._limits = limits
        self._heard = time.monotonic()
        self._closing = threading.Event()
        self._opened = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._calls: set[Any] = set()
        self._error: VTAError | None = None
        self.session = ""
        self.description = pb.Description()
        self._stream = stub.Hold(self._beats(pb.Beat(ticket=ticket, limit_seconds=limit_seconds)))
        self._listener = threading.Thread(target=self._listen, name=f"vta-lease-{peer.address}", daemon=True)
        self._listener.start()
        self._opened.wait(limits.silence_seconds)
        if not self.session:
            self.close()
            raise self._error or RemoteError(f"{peer} did not open a session within {limits.silence_seconds:g} s{_cause(peer)}")

    @property
    def lost(self) -> VTAError | None:
        """Why the session is lost, if it is."""
        return self._error

    def close(self) -> None:
        """End the session. The server has let go of it when this returns, or has been silent for too long."""
        self._closing.set()
        if not self._ended.wait(self._limits.silence_seconds):
            self._stream.cancel()
            self._ended.wait(self._limits.silence_seconds)

    def watch(self, call: Any) -> Any:
        """Cancel a call if the session is lost before it is done; returns the call."""
        with self._lock:
            self._calls.add(call)
        if self._ended.is_set():
            call.cancel()
        return call

    def unwatch(self, call: Any) -> None:
        """The call is done."""
        with self._lock:
            self._calls.discard(call)

    def _beats(self, first: pb.Beat) -> Iterator[pb.Beat]:
        yield first
        while not self._closing.wait(self._limits.heartbeat_seconds):
            if time.monotonic() - self._heard > self._limits.silence_seconds:
                self._error = RemoteError(f"{self._peer} has been silent for {self._limits.silence_seconds:g} s")
                self._stream.cancel()
                return
            yield pb.Beat()

    def _listen(self) -> None:
        try:
            for update in self._stream:
                self._heard = time.monotonic()
                if not self.session:
                    self._take(update)
        except grpc.RpcError as error:
            if not self._closing.is_set() and self._error is None:
                self._error = explain(error, self._peer, "holding the session", connected=bool(self.session))
        finally:
            if not self._closing.is_set() and self._error is None:
                self._error = RemoteError(f"{self._peer} ended the session")
            self._ended.set()
            self._opened.set()
            with self._lock:
                calls = list(self._calls)
            for call in calls:
                call.cancel()

    def _take(self, update: pb.SessionUpdate) -> None:
        self.session, self.description = update.session, update.description
        given = update.description.limits
        if given.heartbeat_seconds > 0 and given.silence_seconds > given.heartbeat_seconds:
            # Beat as often as the server wants to hear it.
            heartbeat = min(given.heartbeat_seconds, self._limits.heartbeat_seconds)
            self._limits = Limits(heartbeat_seconds=heartbeat, silence_seconds=given.silence_seconds)
        self._opened.set()


def _cause(peer: Peer) -> str:
    cause = why_unreachable_now(peer.address)
    return f": {cause}" if cause else ""
