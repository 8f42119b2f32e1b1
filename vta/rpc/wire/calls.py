"""Calls to another process, with errors that say what happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

import vta.errors
from vta.errors import RemoteError, VTAError
from vta.rpc.wire.address import Address
from vta.rpc.wire.diagnose import diagnose
from vta.rpc.wire.security import Security
from vta.rpc.wire.service import ERROR_CHARACTERS, ERROR_KEY
from vta.support.shorten import printable

__all__ = ["Peer", "error_of", "explain"]


class Peer:
    """The other side of calls, as errors name it."""

    def __init__(self, what: str, address: Address, security: Security) -> None:
        self.what = what
        self.address = address
        self.security = security

    def __str__(self) -> str:
        return f"{self.what} {self.address}"

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what gRPC raises into `VTAError`, with `doing` in its text."""
        try:
            yield
        except grpc.RpcError as error:
            raise explain(error, self, doing) from None


def explain(error: Any, peer: Peer, doing: str, connected: bool = False) -> VTAError:
    """What a failed call means; `connected`: the peer has answered before."""
    code, details = error.code(), printable(error.details() or "", ERROR_CHARACTERS)
    kind = dict(error.trailing_metadata() or ()).get(ERROR_KEY)
    if kind is not None:
        return error_of(str(kind), details if kind != "RemoteError" else f"{peer}: {details}")
    if code is grpc.StatusCode.UNAVAILABLE and connected:
        return RemoteError(f"the connection to {peer} broke while {doing}")
    if code is grpc.StatusCode.UNAVAILABLE:
        text = f"{peer} cannot be reached while {doing}: {diagnose(peer.address, peer.security)}"
        return RemoteError(text, parameters=("certificates",) if text.endswith("certificates?") else ())
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return RemoteError(f"{peer.address} answers, but is not a {peer.what}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return RemoteError(f"{peer} did not answer in time while {doing}")
    return RemoteError(f"{peer}: {doing} failed: {details or code.name.lower().replace('_', ' ')}")


def error_of(kind: str, message: str) -> VTAError:
    """The error that another process raised; one that is not ours becomes a `RemoteError`."""
    known = getattr(vta.errors, kind, None) if kind in vta.errors.__all__ else None
    return known(message) if known is not None else RemoteError(message)
