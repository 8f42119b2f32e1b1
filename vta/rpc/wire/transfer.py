"""Files and tensors between a client's stream and the disk of a server, piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vta.errors import RemoteError
from vta.files.atomic_file import writing
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import CHUNK_BYTES, Limits
from vta.rpc.wire.reading import read
from vta.rpc.wire.tensors import total_bytes

__all__ = ["SCRATCH", "receive_file", "receive_tensors", "send_tensors"]

SCRATCH = "the server's temporary folder"
"""What errors call it: its name there says nothing to a client."""


async def receive_file(context: Any, header: pb.UploadHeader, path: Path, limits: Limits) -> None:
    """Write an upload to `path`. Raises `RemoteError` if it is not of the size and checksum that the header says."""
    digest = hashlib.sha256()
    await _receive(context, header.nbytes, path, limits, digest.update)
    if digest.digest() != header.sha256:
        raise RemoteError(f"the upload of {header.nbytes} bytes is damaged: its checksum does not match")


async def receive_tensors(context: Any, headers: Sequence[pb.Tensor], path: Path, limits: Limits) -> None:
    """Write the bytes of a run's or a call's inputs to `path`. Raises `RemoteError` if they are not as the headers say."""
    nbytes = total_bytes(headers)
    if nbytes > limits.upload_bytes:
        raise RemoteError(f"inputs of {nbytes} bytes; the limit is {limits.upload_bytes}")
    await _receive(context, nbytes, path, limits, lambda data: None)


async def send_tensors(context: Any, kind: Any, reply: Any, path: Path) -> None:
    """Send a reply, and after it the bytes in `path`, in messages of `kind`."""
    await context.write(kind(reply=reply))
    with open(path, "rb") as stream:
        while data := stream.read(CHUNK_BYTES):
            await context.write(kind(data=data))


async def _receive(context: Any, nbytes: int, path: Path, limits: Limits, watch: Callable[[bytes], None]) -> None:
    received = 0
    with writing(SCRATCH, "what the client sends", path), open(path, "wb") as stream:
        while (part := await read(context, limits.silence_seconds, "client")) is not None:
            received += len(part.data)
            if received > nbytes or not part.data:
                raise RemoteError(f"{received} bytes came, and not all of them as data; {nbytes} were announced")
            watch(part.data)
            stream.write(part.data)
    if received != nbytes:
        raise RemoteError(f"truncated: {received} of {nbytes} bytes came")
