"""Devices of other machines."""

from __future__ import annotations

from pathlib import Path

from vta.rpc.client.connect import DEFAULT_TIMEOUT_SECONDS, lease
from vta.rpc.client.connect import connect as connect_to_server
from vta.rpc.client.session import Session
from vta.rpc.wire.security import Security

__all__ = ["connect"]


def connect(
    address: str,
    *,
    key: str | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    priority: int = 0,
    certificates: str | Path | None = None,
    insecure: bool = False,
) -> Session:
    """Lease a device: with `key` one of those that the tracker at `address`, ``HOST:PORT``, has; else that of the server there.

    A free device is waited for at most `timeout_seconds`; a higher `priority` goes first. Machines other than this one take
    `certificates`, a directory that ``vta rpc certs`` made, or `insecure`. Raises `RemoteError` if no device can be had.
    """
    security = Security(None if certificates is None else Path(certificates), insecure)
    if key is None:
        return connect_to_server(address, security=security)
    return lease(address, key, timeout_seconds, priority, security=security)
