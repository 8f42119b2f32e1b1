"""Connections to trackers and servers. Wherever an address comes from, it is another machine only under protection."""

from __future__ import annotations

from typing import Any

import grpc

from vta.rpc.wire.address import Address
from vta.rpc.wire.security import Security, channel_credentials, check_allowed
from vta.rpc.wire.service import CHANNEL_OPTIONS

__all__ = ["async_channel", "open_channel"]


def open_channel(address: Address, security: Security) -> Any:
    """A channel for calls that block. Raises `UsageError` if `address` is another machine and nothing protects the connection."""
    check_allowed(address.host, security)
    credentials = channel_credentials(security)
    if credentials is None:
        return grpc.insecure_channel(str(address), options=CHANNEL_OPTIONS)
    return grpc.secure_channel(str(address), credentials, options=CHANNEL_OPTIONS)


def async_channel(address: Address, security: Security) -> Any:
    """A channel for calls of an event loop. Raises like `open_channel`."""
    check_allowed(address.host, security)
    credentials = channel_credentials(security)
    if credentials is None:
        return grpc.aio.insecure_channel(str(address), options=CHANNEL_OPTIONS)
    return grpc.aio.secure_channel(str(address), credentials, options=CHANNEL_OPTIONS)
