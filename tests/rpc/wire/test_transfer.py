"""What goes to the disk of a server, and what a client learns when that is full."""

import asyncio
import hashlib
import os

import pytest

pytest.importorskip("grpc")

from grpc.aio import EOF

from vta.errors import RemoteError, WriteError
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import Limits
from vta.rpc.wire.transfer import receive_file


class Stream:
    """What a client sends."""

    def __init__(self, *parts):
        self._parts = iter([pb.UploadPart(data=part) for part in parts])

    async def read(self):
        return next(self._parts, EOF)


def receive(path, *parts, content=None):
    content = b"".join(parts) if content is None else content
    header = pb.UploadHeader(nbytes=len(content), sha256=hashlib.sha256(content).digest())
    asyncio.run(receive_file(Stream(*parts), header, path, Limits()))


def test_a_file_arrives(tmp_path):
    receive(tmp_path / "file", b"some", b"thing")
    assert (tmp_path / "file").read_bytes() == b"something"


def test_a_file_that_is_not_the_announced_one(tmp_path):
    with pytest.raises(RemoteError, match="damaged"):
        receive(tmp_path / "file", b"something", content=b"somethinG")
    with pytest.raises(RemoteError, match="truncated: 4 of 9 bytes came"):
        receive(tmp_path / "file", b"some", content=b"something")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_without_the_name_of_the_file():
    words = "the server's temporary folder: what the client sends cannot be written: No space left on device"
    with pytest.raises(WriteError, match=words):
        receive("/dev/full", b"something")
