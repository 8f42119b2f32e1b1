"""Messages between a server and its worker process: a length of four bytes, little endian, and the message."""

from __future__ import annotations

import asyncio
from typing import Any, BinaryIO

from vta.errors import RemoteError
from vta.rpc.limits import MESSAGE_BYTES

__all__ = ["LENGTH_BYTES", "frame", "receive", "receive_async"]

LENGTH_BYTES = 4


def frame(message: Any) -> bytes:
    """The bytes of a message with its length. Raises `RemoteError` if it is too long."""
    data: bytes = message.SerializeToString()
    if len(data) > MESSAGE_BYTES:
        raise RemoteError(f"a message of {len(data)} bytes; the limit is {MESSAGE_BYTES}")
    return len(data).to_bytes(LENGTH_BYTES, "little") + data


def receive(stream: BinaryIO, kind: Any) -> Any:
    """The next message of a kind; None at the end of the stream."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    return kind.FromString(stream.read(_length(head)))


async def receive_async(stream: asyncio.StreamReader, kind: Any) -> Any:
    """The next message of a kind; None if the stream ends first. Raises `RemoteError` if it does not decode."""
    try:
        data = await stream.readexactly(_length(await stream.readexactly(LENGTH_BYTES)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    try:
        return kind.FromString(data)
    except Exception:  # Each protobuf has its own error for it.
        raise RemoteError("the worker process sent what is no message") from None


def _length(head: bytes) -> int:
    length = int.from_bytes(head, "little")
    if length > MESSAGE_BYTES:
        raise RemoteError(f"a message of {length} bytes; the limit is {MESSAGE_BYTES}")
    return length
