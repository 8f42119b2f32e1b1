"""Whether an address can be connected to, and why not. Nothing is sent."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket

from vta.rpc.wire.address import Address

__all__ = ["REACH_SECONDS", "in_words", "why_unreachable", "why_unreachable_now"]

REACH_SECONDS = 3.0
"""What a connection takes at most; a machine that is there answers at once."""

# What this process lacks says nothing of the other side.
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


async def why_unreachable(address: Address, seconds: float = REACH_SECONDS) -> str:
    """What is wrong with connecting to `address`, in a few words; empty if nothing is."""
    try:
        _, stream = await asyncio.wait_for(asyncio.open_connection(address.host, address.port), seconds)
    except (OSError, asyncio.TimeoutError) as error:
        return "" if getattr(error, "errno", None) in _OURS else in_words(error, address, seconds)
    stream.close()
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        await asyncio.wait_for(stream.wait_closed(), seconds)
    return ""


def why_unreachable_now(address: Address, seconds: float = REACH_SECONDS) -> str:
    """The same outside of an event loop."""
    try:
        with socket.create_connection((address.host, address.port), timeout=seconds):
            return ""
    except OSError as error:
        return "" if error.errno in _OURS else in_words(error, address, seconds)


def in_words(error: Exception, address: Address, seconds: float) -> str:
    """What an error of a connection means."""
    if isinstance(error, socket.gaierror):
        return f"there is no host {address.host!r}"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return f"no connection within {seconds:g} s"
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else str(error)
