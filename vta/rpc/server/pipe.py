"""Messages between a server and its worker process: a length of four bytes, little endian, and the message."""

from __future__ import annotations

import asyncio
from typing import Any, BinaryIO

from vta.errors import RemoteError
from vta.rpc.wire.limits import MESSAGE_BYTES

__all__ = ["LENGTH_BYTES", "frame", "receive", "receive_async"]

LENGTH_BYTES = 4


def frame(message: Any) -> bytes:
    """The bytes of a message with its length. Raises `RemoteError` if it is too long."""
    data: bytes = message.SerializeToString()
    if len(data) > MESSAGE_BYTES:
        raise RemoteError(f"a message of {len(data)} bytes; the limit is {MESSAGE_BYTES}")
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def receive(stream: BinaryIO, kind: Any) -> Any:
    """The next message of a kind; None if the stream ends first. Raises `RemoteError` if it does not decode."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = _length(head)
    data = stream.read(length)
    return _decoded(data, kind, "server") if len(data) == length else None


async def receive_async(stream: asyncio.StreamReader, kind: Any) -> Any:
    """The next message of a kind; None if the stream ends first. Raises `RemoteError` if it does not decode."""
    try:
        data = await stream.readexactly(_length(await stream.readexactly(LENGTH_BYTES)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return _decoded(data, kind, "worker process")


def _decoded(data: bytes, kind: Any, who: str) -> Any:
    try:
        return kind.FromString(data)
    except Exception:  # Each protobuf has its own error for it.
        raise RemoteError(f"the {who} sent what is no message") from None


def _length(head: bytes) -> int:
    length = int.from_bytes(head, "little")
    if length > MESSAGE_BYTES:
        raise RemoteError(f"a message of {length} bytes; the limit is {MESSAGE_BYTES}")
    return length
