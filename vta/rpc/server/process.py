"""The server's side of its worker process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.devices.open_device import DeviceSpec
from vta.errors import DeviceError, RemoteError, TimeLimitError
from vta.rpc.server.pipe import frame, receive_async
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.calls import error_of
from vta.rpc.wire.limits import Limits

__all__ = ["RUN_LIBRARIES", "WORKER_COMMAND", "WorkerProcess"]

WORKER_COMMAND = (sys.executable, "-m", "vta.rpc.server.worker")
RUN_LIBRARIES = "run-libraries"
"""Tells a worker that it may run the host libraries of clients' files, which are code."""

_KILL_SECONDS = 5.0
_LAST_WORDS_BYTES = 400


class WorkerProcess:
    """A worker with an open device. One request at a time; after an error other than its own answer it is dead."""

    def __init__(self, process: asyncio.subprocess.Process, description: pb.Description) -> None:
        self._process = process
        self._words = b""
        self._listening = asyncio.ensure_future(self._listen())
        self.description = description

    @classmethod
    async def start(cls, command: Sequence[str], hw: HardwareConfig, spec: DeviceSpec, limits: Limits) -> WorkerProcess:
        """Start a process and open the device there. Raises `VTAError` if that fails or takes too long."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except OSError as error:
            raise DeviceError(f"the process for the device does not start: {error}") from None
        worker = cls(process, pb.Description())
        given = pb.WorkerOpen(
            device=spec.kind,
            config_json=json.dumps(hw.to_json()),
            timing_json="" if spec.timing is None else json.dumps(spec.timing.to_json()),
            memory_bytes=spec.memory_bytes,
            preset=spec.preset,
            kernel="" if spec.kernel is None else str(spec.kernel.resolve()),
            platform=spec.platform,
            design=spec.design,
            bitstream=str(spec.bitstream or ""),
            bitstreams=str(spec.bitstreams or ""),
            link=spec.link,
            process_bytes=limits.process_bytes,
        )
        try:
            reply = await worker.ask(pb.WorkerRequest(open=given), limits.start_seconds, "opening the device")
        except BaseException:
            await worker.kill()
            raise
        worker.description = reply.description
        return worker

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.returncode is None

    async def ask(self, request: pb.WorkerRequest, limit_seconds: float, doing: str) -> Any:
        """The reply. Kills the process if that does not come within the limit, or if this is cancelled.

        Raises `DeviceError` at the limit or if the process dies, and what the worker raised itself.
        """
        try:
            reply = await asyncio.wait_for(self._exchange(request), limit_seconds)
        except asyncio.TimeoutError:
            await self.kill()
            raise TimeLimitError(f"time limit: {doing} was not done after {limit_seconds:g} s, and was ended") from None
        except (asyncio.CancelledError, RemoteError):
            await self.kill()
            raise
        if reply is None:
            raise DeviceError(f"the process with the device died while {doing}: {await self._cause_of_death()}")
        if reply.HasField("error"):
            raise error_of(reply.error.kind, reply.error.message)
        return reply

    async def wait(self) -> None:
        """Return when the process has ended."""
        await self._process.wait()

    async def kill(self) -> None:
        """End the process, and what it has started itself. Raises `DeviceError` if it does not die."""
        # It leads a group of its own; once it has ended, its number may be that of another.
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        try:
            await asyncio.wait_for(self._process.wait(), _KILL_SECONDS)
        except asyncio.TimeoutError:
            raise DeviceError(f"process {self._process.pid} with the device cannot be ended") from None
        self._listening.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _exchange(self, request: pb.WorkerRequest) -> Any:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None, "it is a pipe"
        assert replies is not None, "it is a pipe"
        try:
            requests.write(frame(request))
            await requests.drain()
        except (ConnectionError, RuntimeError):
            return None
        return await receive_async(replies, pb.WorkerReply)

    async def _listen(self) -> None:
        """Keep the end of what the process says on standard error."""
        assert self._process.stderr is not None, "it is a pipe"
        while data := await self._process.stderr.read(1 << 16):
            self._words = (self._words + data)[-_LAST_WORDS_BYTES:]

    async def _cause_of_death(self) -> str:
        # It ends by itself; killing what has just ended would lose its exit status.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), _KILL_SECONDS)
        await self.kill()
        code = self._process.returncode or 0
        how = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit status {code}"
        lines = self._words.decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1]}" if lines else how
