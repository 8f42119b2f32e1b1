"""A request with its tensors as a stream of messages, and the reply to it: runs and calls have the same form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import RemoteError
from vta.rpc.wire.tensors import chunks, total_bytes

__all__ = ["receive_parts", "send_parts"]


def send_parts(kind: Any, request: Any, arrays: Sequence[NDArray[Any]]) -> Iterator[Any]:
    """The messages of a request: first itself, then the bytes of its tensors. `kind` is that of the messages."""
    yield kind(request=request)
    for data in chunks(arrays):
        yield kind(data=data)


def receive_parts(parts: Iterator[Any], doing: str) -> tuple[Any, NDArray[np.uint8]]:
    """A reply, and the bytes of its tensors, shape (bytes,). Raises `RemoteError` if the messages are none."""
    first = next(parts, None)
    if first is None or not first.HasField("reply"):
        raise RemoteError(f"the server sent no reply to {doing}")
    nbytes = total_bytes(first.reply.tensors)
    data = bytearray()
    for part in parts:
        data += part.data
        if len(data) > nbytes:
            raise RemoteError(f"the server sent more than the {nbytes} bytes of its tensors")
    return first.reply, np.frombuffer(data, dtype=np.uint8)
