"""What a session has on its server: a worker process, uploaded files, loaded modules."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vta.config.hardware import HardwareConfig
from vta.errors import DeviceError, RemoteError
from vta.rpc.server.process import WorkerProcess
from vta.rpc.server.temp_dir import TempDir, remove
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import Limits

__all__ = ["ServerSession"]

_MODULES = 256
_CODES = 64


class ServerSession:
    """One session, one job after the other. Its files vanish with it."""

    def __init__(
        self,
        worker: WorkerProcess,
        start_worker: Callable[[HardwareConfig | None, Path | None, str], Awaitable[WorkerProcess]],
        temp_dir: TempDir,
        limits: Limits,
    ) -> None:
        """The session takes over `worker` and `temp_dir`, a directory for its files."""
        self.key = secrets.token_hex(16)
        self.worker = worker
        self._start_worker = start_worker
        self._limits = limits
        self._hw: HardwareConfig | None = None
        self._bitstream: Path | None = None
        self._design = ""
        self._temp_dir = temp_dir
        self._directory = temp_dir.path
        self._files: dict[int, Path] = {}
        self._loaded: set[int] = set()
        """Modules that the present worker has."""
        self._sources: dict[int, str] = {}
        """Code of the client."""
        self._executed: set[int] = set()
        """Code that the present worker has."""
        self._numbers = 0
        self._used = False
        self._closed = ""
        """Why the session has ended, empty while it has not."""
        self.turn = asyncio.Lock()
        """Whoever calls a method that waits for the worker holds this."""

    async def close(self, reason: str = "the session has ended") -> WorkerProcess | None:
        """End the session; returns its worker if no client's file ever came near it. What still runs fails with `reason`."""
        self._closed = reason
        self._temp_dir.close()
        if not self._used and self.worker.alive:
            return self.worker
        await self.worker.kill()
        return None

    async def configure(self, hw: HardwareConfig) -> None:
        """Have the device implement another config."""
        self._used = True
        for number in list(self._files):
            self._forget(number)
        await self.worker.kill()
        self._hw = hw
        await self._ready()

    async def program(self, hw: HardwareConfig, bitstream: Path, design: str) -> None:
        """Have the device put a bitstream of `hw` as `design` into its fabric. If that fails, the device is as it was before."""
        before = self._hw, self._bitstream, self._design
        self._bitstream, self._design = bitstream, design
        try:
            await self.configure(hw)
        except BaseException:
            self._hw, self._bitstream, self._design = before
            raise

    def new_file(self, nbytes: int) -> Path:
        """Where the next upload goes. Raises `RemoteError` if the session has too many, or too much."""
        limit = 2 * self._limits.upload_bytes
        if not self._directory.is_dir():
            raise RemoteError(f"{self._directory}, the server's folder for this session, is gone: open another session")
        kept = sum(path.stat().st_size for path in self._files.values())
        if nbytes > self._limits.upload_bytes:
            raise RemoteError(f"an upload of {nbytes} bytes; the limit is {self._limits.upload_bytes}")
        if kept + nbytes > limit or len(self._files) >= _MODULES:
            raise RemoteError(
                f"the session has {len(self._files)} modules of {kept} bytes; the limits are {_MODULES} and {limit} bytes"
            )
        self._numbers += 1
        return self._directory / f"{self._numbers}.vta"

    async def load(self, path: Path) -> int:
        """Load an uploaded file; returns its number."""
        number = int(path.stem)
        await self._ready()
        self._files[number] = path
        try:
            await self._load(number, self._limits.run_seconds)
        except BaseException:
            self._forget(number)
            raise
        return number

    async def unload(self, number: int) -> None:
        """Let go of a module."""
        self._check(number)
        if number in self._loaded and self.worker.alive:
            request = pb.WorkerRequest(unload=pb.UnloadRequest(module=number))
            await self._tell(request, self._limits.run_seconds, "unloading")
        self._forget(number)

    async def run(self, request: pb.RunRequest, inputs: Path, outputs: Path) -> pb.RunReply:
        """Run a module on the tensors in a file; those of the reply go to another file."""
        job = pb.WorkerRequest(run=request, input_path=str(inputs), output_path=str(outputs))
        reply = await self._ask(request.module, job, request.limit_seconds, "the run")
        result: pb.RunReply = reply.run
        return result

    async def measure(self, request: pb.MeasureRequest) -> pb.MeasureReply:
        """Time a module."""
        reply = await self._ask(request.module, pb.WorkerRequest(measure=request), request.limit_seconds, "the measuring")
        result: pb.MeasureReply = reply.measure
        return result

    async def describe_gpu(self, request: pb.GpuRequest) -> pb.GpuReply:
        """What a GPU of this machine has room for."""
        await self._ready()
        reply = await self._tell(pb.WorkerRequest(gpu=request), self._limits.run_seconds, "opening the GPU")
        result: pb.GpuReply = reply.gpu
        return result

    async def load_code(self, source: str) -> int:
        """Execute a Python module of the client in the worker; returns its number."""
        if len(self._sources) >= _CODES:
            raise RemoteError(f"the session has {len(self._sources)} pieces of code; that is the limit")
        await self._ready()
        self._numbers += 1
        number = self._numbers
        self._sources[number] = source
        try:
            await self._execute(number)
        except BaseException:
            del self._sources[number]
            raise
        return number

    async def call(self, request: pb.CallRequest, inputs: Path, outputs: Path) -> pb.CallReply:
        """Call a function of such a module, on the tensors in a file; those of the reply go to another file."""
        if request.code not in self._sources:
            raise RemoteError(f"the session has no code {request.code}")
        if request.HasField("module"):
            self._check(request.module)
        await self._ready()
        if request.HasField("module") and request.module not in self._loaded:
            await self._load(request.module, self._limits.run_seconds)
        if request.code not in self._executed:
            await self._execute(request.code)
        job = pb.WorkerRequest(call=request, input_path=str(inputs), output_path=str(outputs))
        reply = await self._tell(job, self._limit(request.limit_seconds), "the call")
        result: pb.CallReply = reply.call
        return result

    @contextmanager
    def tensor_files(self) -> Iterator[tuple[Path, Path]]:
        """Two files for the tensors of one run."""
        self._numbers += 1
        inputs, outputs = (self._directory / f"{self._numbers}.{name}" for name in ("in", "out"))
        try:
            yield inputs, outputs
        finally:
            remove(inputs)
            remove(outputs)

    async def _ask(self, number: int, job: pb.WorkerRequest, limit_seconds: float, doing: str) -> pb.WorkerReply:
        self._check(number)
        await self._ready()
        if number not in self._loaded:
            await self._load(number, self._limits.run_seconds)
        return await self._tell(job, self._limit(limit_seconds), doing)

    def _limit(self, wanted_seconds: float) -> float:
        """What a client wants, but not more than the server allows."""
        most = self._limits.run_seconds
        return min(wanted_seconds, most) if wanted_seconds > 0 else most

    async def _tell(self, request: pb.WorkerRequest, limit_seconds: float, doing: str) -> pb.WorkerReply:
        try:
            reply: pb.WorkerReply = await self.worker.ask(request, limit_seconds, doing)
        except DeviceError:
            if self._closed:
                raise RemoteError(self._closed) from None
            raise
        return reply

    async def _ready(self) -> None:
        """Have a worker, with the session's config."""
        if self._closed:
            raise RemoteError(self._closed)
        if not self.worker.alive:
            self._loaded.clear()
            self._executed.clear()
            worker = await self._start_worker(self._hw, self._bitstream, self._design)
            self.worker = worker
            if self._closed:
                await worker.kill()
                raise RemoteError(self._closed)

    async def _load(self, number: int, limit_seconds: float) -> None:
        self._used = True
        request = pb.WorkerRequest(load=pb.WorkerLoad(module=number, path=str(self._files[number])))
        await self._tell(request, limit_seconds, "loading the file")
        self._loaded.add(number)

    async def _execute(self, number: int) -> None:
        self._used = True
        code = pb.WorkerCode(code=number, source=self._sources[number], memory_bytes=self._limits.code_bytes)
        await self._tell(pb.WorkerRequest(code=code), self._limits.run_seconds, "loading the code")
        self._executed.add(number)

    def _check(self, number: int) -> None:
        if number not in self._files:
            raise RemoteError(f"the session has no module {number}")

    def _forget(self, number: int) -> None:
        self._loaded.discard(number)
        remove(self._files.pop(number))
