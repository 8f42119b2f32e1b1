"""A leased device: files go up, runs come back."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn
from weakref import WeakSet

import grpc

from vta.boards.bit_file import packaged_design
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import BoardState
from vta.errors import RemoteError, VTAError
from vta.files.user_file import open_regular, read_text
from vta.host.gpu.description import GpuDescription
from vta.rpc.client.lease import Lease
from vta.rpc.client.remote_code import RemoteCode
from vta.rpc.client.remote_module import RemoteModule
from vta.rpc.client.replies import gpu_from_reply
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address
from vta.rpc.wire.calls import Peer, explain
from vta.rpc.wire.channel import open_channel
from vta.rpc.wire.limits import CHUNK_BYTES, KEY_CHARACTERS, Limits
from vta.rpc.wire.service import DEVICE, Stub
from vta.runtime.artifact.compatibility import check_compatible
from vta.runtime.compiled_module import CompiledModule, load, save
from vta.support.dataclass import dataclass
from vta.support.shorten import printable

__all__ = ["DeviceDescription", "Session", "held_here"]

_GRACE_SECONDS = 30.0

_OPEN: WeakSet[Session] = WeakSet()
"""Those of this process, and some that have been closed."""


@dataclass(frozen=True)
class DeviceDescription:
    """What a server says of its device."""

    device: str
    """Kind of device, e.g. ``cycle``."""
    hw: HardwareConfig
    timing: TimingParameters | None
    memory_bytes: int
    busy: bool
    """Whether somebody has it."""
    host_code: bool = False
    """Whether the server runs code of its clients."""
    board: BoardState | None = None
    """The board that it is, if it is one, and what its fabric holds."""


class Session:
    """A device that is ours until `close`, the end of a ``with``, the loss of the session, or while anything refers to it.

    Threads may share a session: its calls take turns, so that none spends its time limit on waiting for another.
    """

    def __init__(self, peer: Peer, ticket: str = "", limit_seconds: float = 0.0, limits: Limits | None = None) -> None:
        """Open the session. Raises `RemoteError` if the server does not answer or refuses."""
        self.peer = peer
        self._closed = False
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._channel = open_channel(peer.address, peer.security)
        self._stub = Stub(self._channel, DEVICE)
        try:
            self._lease = Lease(self._stub, peer, ticket, limit_seconds, limits or Limits())
            self._description = self._lease.description
        except BaseException:
            self._channel.close()
            raise
        # The beats would hold the device for a name that a notebook has given to something else.
        self._left = weakref.finalize(self, _let_go, self._lease, self._channel, self._process)
        self._left.atexit = False
        _OPEN.add(self)

    def __reduce__(self) -> NoReturn:
        """Raises `RemoteError`: a copy would not have the device."""
        raise RemoteError("a session can be neither copied nor pickled: open another where it is needed")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "lost" if self.lost is not None else "open"
        return f"Session: {self.kind}, {self.hw.model}, on {self.peer}, {state}"

    def close(self) -> None:
        """Give the device back; closing again does nothing. A call of another thread fails."""
        self._closed = True
        self._left.detach()
        if self._process == os.getpid():
            self._lease.close()
            self._channel.close()

    @property
    def opened_here(self) -> bool:
        """Whether this process opened it, and not the one that it was forked from."""
        return self._process == os.getpid()

    @property
    def closed(self) -> bool:
        """Whether the session has been closed."""
        return self._closed

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep calls of other threads waiting until the block ends."""
        self._check_process()
        with self._turn:
            yield

    @property
    def lost(self) -> VTAError | None:
        """Why the session is lost, if it is."""
        return self._lease.lost

    @property
    def description(self) -> DeviceDescription:
        """The device, as it is configured now."""
        return describe(self._description)

    @property
    def kind(self) -> str:
        """Kind of the device, e.g. ``cycle``."""
        return self.description.device

    @property
    def hw(self) -> HardwareConfig:
        """The hardware config of the device."""
        return self.description.hw

    def configure(self, hw: HardwareConfig) -> None:
        """Give the device another config until the session ends; modules that were loaded are gone."""
        request = pb.ConfigureRequest(session=self._lease.session, config_json=json.dumps(hw.to_json()))
        self._description = self.unary("Configure", request, self._description.limits.run_seconds, "configuring the device")

    def program(self, bitstream: str | Path, hw: HardwareConfig | None = None, keep: bool = False, design: str = "") -> None:
        """Put a bitstream of config `hw` (default: the present one) into the board's fabric; modules that were loaded are gone.

        It is `design` of the board (default: what the file says, or what was packaged beside it, or the server's own).

        It lasts until the session ends, or with `keep` as long as the server. Raises `RemoteError` if the device is no board,
        and `DeviceError` if the file is none for it; the fabric then holds what it held.
        """
        path = Path(bitstream)
        nbytes = self._checked_size(path)
        header = pb.UploadHeader(
            session=self._lease.session,
            nbytes=nbytes,
            name=path.name,
            config_json=json.dumps((hw or self.hw).to_json()),
            keep=keep,
            design=design or packaged_design(path),
        )
        self._description = self.unary("Program", _upload_parts(path, header), self.run_limit_seconds, f"programming {path.name}")

    def load(self, module: CompiledModule | str | Path) -> RemoteModule:
        """Upload a compiled module, or the `.vta` file at a path, and load it onto the device.

        Raises `ArtifactError` if the device is not what it was compiled for; nothing is sent then.
        """
        if not isinstance(module, CompiledModule):
            # A board has no verifier of its own.
            return self._upload(load(module, verified=self._description.needs_proof), Path(module))
        with tempfile.TemporaryDirectory(prefix="vta-upload-") as directory:
            path = Path(directory) / "module.vta"
            save(module, path)
            return self._upload(module, path)

    def load_code(self, source: str | Path) -> RemoteCode:
        """Send a Python module, as text or as the file at a path, to the process that has the device.

        Raises `RemoteError` if the server does not allow code of its clients, or the module does not load.
        """
        text = read_text(source, RemoteError) if isinstance(source, Path) else source
        if not self._description.host_code:
            text = f"{self.peer} runs no code of its clients: it was not started with allow_host_code"
            raise RemoteError(text, parameters=("allow_host_code",))
        request = pb.LoadCodeRequest(session=self._lease.session, source=text)
        reply = self.unary("LoadCode", request, self.run_limit_seconds, "sending code")
        return RemoteCode(self, reply.code)

    def describe_gpu(self, kind: str, ordinal: int = 0, platform: str = "") -> GpuDescription:
        """What a GPU of the server's machine has room for; see `vta.host.gpu.drivers.open.open_gpu` for which.

        Raises `DeviceError` saying what is missing where there is none.
        """
        request = pb.GpuRequest(session=self._lease.session, kind=kind, ordinal=ordinal, platform=platform)
        return gpu_from_reply(self.unary("DescribeGpu", request, self.run_limit_seconds, "asking for the GPU"))

    def unary(self, method: str, request: Any, seconds: float, doing: str) -> Any:
        """Call a method that gives one reply; `request` is a message, or an iterator of them."""
        with self.turn(), self.errors(doing):
            call = self._lease.watch(getattr(self._stub, method).future(request, timeout=self._patience(seconds)))
            try:
                return call.result()
            finally:
                self._lease.unwatch(call)

    def stream(self, method: str, requests: Iterable[Any], seconds: float, doing: str) -> Iterator[Any]:
        """Call a method that gives a stream of replies."""
        with self.errors(doing):
            call = self._lease.watch(getattr(self._stub, method)(iter(requests), timeout=self._patience(seconds)))
            try:
                yield from call
            finally:
                call.cancel()
                self._lease.unwatch(call)

    @property
    def key(self) -> str:
        """What the server knows the session by."""
        return self._lease.session

    @property
    def run_limit_seconds(self) -> float:
        """Longest run that the server allows."""
        return float(self._description.limits.run_seconds)

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what gRPC raises into errors that say what happened; a lost session explains everything."""
        self._check_process()
        if self._closed:
            raise RemoteError(f"{self.peer}: the session is closed")
        try:
            yield
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            if self._closed:
                raise RemoteError(f"{self.peer}: the session was closed while {doing}") from None
            if self._lease.lost is not None:
                raise RemoteError(f"while {doing}: {self._lease.lost}") from None
            if isinstance(error, grpc.FutureCancelledError):
                raise RemoteError(f"{self.peer}: {doing} was cancelled") from None
            raise explain(error, self.peer, doing, connected=True) from None

    def _check_process(self) -> None:
        """A connection does not outlive a fork."""
        if self._process != os.getpid():
            raise RemoteError(f"{self.peer}: the session belongs to process {self._process}, which opened it")

    def _patience(self, seconds: float) -> float:
        """How long a call may take: heartbeats tell much earlier if the server is gone."""
        return seconds + self._description.limits.run_seconds + _GRACE_SECONDS

    def _upload(self, compiled: CompiledModule, path: Path) -> RemoteModule:
        check_compatible(compiled.hw, self.hw)
        header = pb.UploadHeader(session=self._lease.session, nbytes=self._checked_size(path))
        parts = _upload_parts(path, header)
        reply = self.unary("Upload", parts, self.run_limit_seconds, f"uploading {path.name}")
        return RemoteModule(self, compiled, reply.module)

    def _checked_size(self, path: Path) -> int:
        """Bytes of a file. Raises `RemoteError` if the server would not take them."""
        try:
            nbytes = path.stat().st_size
        except OSError as error:
            raise RemoteError(f"{path}: cannot be read: {error.strerror}") from None
        limit = self._description.limits.upload_bytes
        if nbytes > limit:
            raise RemoteError(f"{self.peer}: {path} has {nbytes} bytes; the limit is {limit}")
        return nbytes


def describe(description: pb.Description) -> DeviceDescription:
    """Decode a description. Raises `RemoteError` if it is none."""
    try:
        hw = HardwareConfig.from_json(json.loads(description.config_json))
        timing = TimingParameters.from_json(json.loads(description.timing_json)) if description.timing_json else None
    except (VTAError, ValueError, TypeError, RecursionError) as error:
        raise RemoteError(f"the server describes its device in an unknown way: {printable(str(error))}") from None
    board = _board_state(description.board) if description.HasField("board") else None
    device = printable(description.device, KEY_CHARACTERS)
    return DeviceDescription(device, hw, timing, description.memory_bytes, description.busy, description.host_code, board)


def _board_state(given: pb.BoardState) -> BoardState:
    values: dict[str, Any] = {}
    for field in fields(BoardState):
        value = getattr(given, field.name)
        values[field.name] = printable(value) if isinstance(value, str) else value
    return BoardState(**values)


def _upload_parts(path: Path, header: pb.UploadHeader) -> Iterator[pb.UploadPart]:
    """The header, with the file's size and checksum, and the file."""
    digest = hashlib.sha256()
    with open_regular(path) as stream:
        while data := stream.read(CHUNK_BYTES):
            digest.update(data)
        header.nbytes, header.sha256 = stream.tell(), digest.digest()
        stream.seek(0)
        yield pb.UploadPart(header=header)
        while data := stream.read(CHUNK_BYTES):
            yield pb.UploadPart(data=data)


def held_here(wanted: Address | None = None) -> str:
    """Words for the sessions that this process has open, with a server or any; empty if there are none."""
    here = [session for session in list(_OPEN) if not session.closed and session.lost is None and session.opened_here]
    held = sorted({str(session.peer) for session in here if wanted in (None, session.peer.address)})
    return f"; this process has a session open with {', '.join(held)}" if held else ""


def _let_go(lease: Lease, channel: grpc.Channel, process: int) -> None:
    """End the session of an object that is gone. Not here, which may be any thread, even that which hears of the end."""
    if process == os.getpid():
        threading.Thread(target=_end, args=(lease, channel), name="vta-session-end", daemon=True).start()


def _end(lease: Lease, channel: grpc.Channel) -> None:
    lease.close()
    channel.close()
