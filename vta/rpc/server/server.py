"""The server of one device: one session at a time, its work in a process that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.devices.open_device import DeviceSpec
from vta.errors import RemoteError, UsageError
from vta.rpc.server.device_configurator import DeviceConfigurator
from vta.rpc.server.process import RUN_LIBRARIES, WORKER_COMMAND, WorkerProcess
from vta.rpc.server.registration import Registration
from vta.rpc.server.server_session import ServerSession
from vta.rpc.server.temp_dir import TempDir, remove, remove_abandoned
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address, is_loopback
from vta.rpc.wire.limits import Limits
from vta.rpc.wire.listen import Listener
from vta.rpc.wire.reading import read
from vta.rpc.wire.security import Security, check_allowed
from vta.rpc.wire.service import DEVICE, handler, reason_of
from vta.rpc.wire.transfer import receive_file, receive_tensors, send_tensors

__all__ = ["DeviceServer"]

_RETRY_SECONDS = (0.5, 30.0)
_CANCEL_SECONDS = 0.5
_PATIENCE = 0.8
"""Part of the silence that a client takes for the server's death."""


class DeviceServer:
    """Listens from `start` to `stop`; both run in one event loop.

    With a `tracker` it registers there under `key`, and takes only clients that the tracker sent.
    """

    def __init__(
        self,
        address: Address,
        hw: HardwareConfig,
        spec: DeviceSpec,
        tracker: Address | None = None,
        key: str = "",
        security: Security | None = None,
        limits: Limits | None = None,
        advertise: str = "",
        worker_command: Sequence[str] = WORKER_COMMAND,
        allow_host_code: bool = False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Raises `UsageError` if other machines reach `address`, or the tracker is one, and nothing protects that.

        With `allow_host_code` clients may send Python code, and host libraries in their files are run; other machines must then
        prove who they are. `say` is told, in one line, what whoever runs the server should know.
        """
        if allow_host_code and not is_loopback(address.host) and (security is None or security.certificates is None):
            text = f"{address.host} is not loopback: allow_host_code needs certificates there"
            raise UsageError(text, parameters=("allow_host_code", "certificates"))
        self._allow_host_code = allow_host_code
        self.limits = limits or Limits()
        self._configurator = DeviceConfigurator(hw, spec, self.limits)
        self._command = (*worker_command, *((RUN_LIBRARIES,) if allow_host_code else ()))
        security = security or Security()
        self._listener = Listener(address, security, handler(DEVICE, self))
        self._registration: Registration | None = None
        if tracker is not None:
            check_allowed(tracker.host, security)
            self._registration = Registration(tracker, security, self.limits, self._status, self._renew_ticket, say)
        self._key = key
        self._advertise = advertise
        self._ticket = ""
        self._worker: WorkerProcess | None = None
        self._temp_dir: TempDir | None = None
        """Where the files of the next session go."""
        self._session: ServerSession | None = None
        self._known = pb.Description()
        self._reason = ""
        self._ended = asyncio.Event()
        self._renewed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.last_used = time.monotonic()

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._listener.address

    @property
    def problem(self) -> str:
        """Why clients cannot come although it listens; empty if they can."""
        return self._registration.problem if self._registration is not None else ""

    async def start(self) -> None:
        """Listen, and open the device.

        Raises `RemoteError` if the port is taken or no folder for files can be had, and `VTAError` if there is no device.
        """
        remove_abandoned()
        try:
            await self._prepare()
            await self._listener.start()
        except BaseException as error:
            await self._let_go()
            if isinstance(error, OSError):
                raise RemoteError(reason_of(error)) from None
            raise
        self._tasks = [asyncio.ensure_future(self._keep_device())]
        if self._registration is not None:
            self._tasks.append(asyncio.ensure_future(self._registration.keep()))
            # Whoever started this finds it at the tracker; one that does not answer yet is tried again and again.
            await self._registration.wait(self.limits.register_seconds)

    async def stop(self) -> None:
        """End the session and all calls, and the device's process."""
        while self._tasks:
            # Once need not be enough: a wait that ends in the same moment swallows it.
            for task in self._tasks:
                task.cancel()
            self._tasks = list((await asyncio.wait(self._tasks, timeout=_CANCEL_SECONDS))[1])
        try:
            await self._listener.stop()
            if self._session is not None:
                await self._session.close()
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        """Leave no process and no files behind."""
        if self._temp_dir is not None:
            self._temp_dir.close()
        self._configurator.close()
        if self._worker is not None:
            await self._worker.kill()

    async def describe(self, request: pb.DescribeRequest, context: Any) -> pb.Description:
        """See the protocol."""
        self.last_used = time.monotonic()
        return self._description()

    async def hold(self, context: Any) -> None:
        """See the protocol."""
        first = await read(context, self.limits.silence_seconds, "client")
        if first is None:
            return
        await self._wait_for_device()
        session, reason = self._open_session(first), "the session has ended"
        most = self.limits.session_seconds
        limit = min(first.limit_seconds, most) if first.limit_seconds > 0 else most
        deadline = time.monotonic() + limit
        try:
            await context.write(pb.SessionUpdate(session=session.key, description=self._description()))
            while await self._read_beat(context, deadline, limit):
                await context.write(pb.SessionUpdate())
        except RemoteError as error:
            reason = str(error)
            raise
        finally:
            await asyncio.shield(asyncio.ensure_future(self._close_session(session, reason)))

    async def configure(self, request: pb.ConfigureRequest, context: Any) -> pb.Description:
        """See the protocol."""
        session = self._session_of(request.session)
        hw = _config(request.config_json)
        async with session.turn:
            await session.configure(hw)
        return self._description()

    async def program(self, context: Any) -> pb.Description:
        """See the protocol."""
        first = await read(context, self.limits.silence_seconds, "client")
        if first is None or not first.HasField("header"):
            raise RemoteError("a bitstream starts with its header")
        header = first.header
        session, hw = self._session_of(header.session), _config(header.config_json)
        self._configurator.check(header)
        async with session.turn:
            path = self._configurator.new_file(header)
            try:
                await receive_file(context, header, path, self.limits)
                design = self._configurator.design(header, path)
                await session.program(hw, path, design)
            except BaseException:
                remove(path)
                raise
            if header.keep:
                self._configurator.keep(hw, path, design)
                self._known = session.worker.description
        return self._description()

    async def upload(self, context: Any) -> pb.UploadReply:
        """See the protocol."""
        first = await read(context, self.limits.silence_seconds, "client")
        if first is None or not first.HasField("header"):
            raise RemoteError("an upload starts with its header")
        session = self._session_of(first.header.session)
        async with session.turn:
            path = session.new_file(first.header.nbytes)
            try:
                await receive_file(context, first.header, path, self.limits)
                return pb.UploadReply(module=await session.load(path))
            except BaseException:
                remove(path)
                raise

    async def run(self, context: Any) -> None:
        """See the protocol."""
        first = await read(context, self.limits.silence_seconds, "client")
        if first is None or not first.HasField("request"):
            raise RemoteError("a run starts with its request")
        session = self._session_of(first.request.session)
        async with session.turn:
            await self._run(session, first.request, context)

    async def _run(self, session: ServerSession, request: pb.RunRequest, context: Any) -> None:
        with session.tensor_files() as (inputs, outputs):
            await receive_tensors(context, request.inputs, inputs, self.limits)
            reply = await session.run(request, inputs, outputs)
            await send_tensors(context, pb.RunReplyPart, reply, outputs)

    async def loadcode(self, request: pb.LoadCodeRequest, context: Any) -> pb.LoadCodeReply:
        """See the protocol."""
        session = self._session_of(request.session)
        if not self._allow_host_code:
            raise RemoteError("this server runs no code of its clients: it was not started with allow_host_code")
        async with session.turn:
            return pb.LoadCodeReply(code=await session.load_code(request.source))

    async def call(self, context: Any) -> None:
        """See the protocol."""
        first = await read(context, self.limits.silence_seconds, "client")
        if first is None or not first.HasField("request"):
            raise RemoteError("a call starts with its request")
        session = self._session_of(first.request.session)
        async with session.turn:
            with session.tensor_files() as (inputs, outputs):
                await receive_tensors(context, first.request.inputs, inputs, self.limits)
                reply = await session.call(first.request, inputs, outputs)
                await send_tensors(context, pb.CallReplyPart, reply, outputs)

    async def measure(self, request: pb.MeasureRequest, context: Any) -> pb.MeasureReply:
        """See the protocol."""
        session = self._session_of(request.session)
        async with session.turn:
            return await session.measure(request)

    async def describegpu(self, request: pb.GpuRequest, context: Any) -> pb.GpuReply:
        """See the protocol."""
        session = self._session_of(request.session)
        async with session.turn:
            return await session.describe_gpu(request)

    async def unload(self, request: pb.UnloadRequest, context: Any) -> pb.UnloadReply:
        """See the protocol."""
        session = self._session_of(request.session)
        async with session.turn:
            await session.unload(request.module)
        return pb.UnloadReply()

    async def _wait_for_device(self) -> None:
        """After a session the next process takes a moment to start, and longer on a board. Whoever comes then waits for it."""
        if self._session is None and not self._reason and not self._ticket:
            self._renewed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._renewed.wait(), _PATIENCE * self.limits.silence_seconds)

    def _open_session(self, beat: pb.Beat) -> ServerSession:
        self.last_used = time.monotonic()
        if self._reason:
            raise RemoteError(f"the device is down: {self._reason}")
        if self._session is not None or self._worker is None or not self._worker.alive or not self._ticket:
            raise RemoteError("the device is busy")
        if self._registration is not None and not beat.ticket:
            raise RemoteError("this server takes only clients that its tracker sends: ask that for a device, with a key")
        if self._registration is not None and not secrets.compare_digest(beat.ticket.encode(), self._ticket.encode()):
            raise RemoteError("the ticket is not good any more: ask the tracker for another")
        self._ticket = ""
        try:
            self._session = ServerSession(self._worker, self._start_worker, self._take_temp_dir(), self.limits)
        except OSError as error:
            # What watches over the device tries again.
            self._reason = reason_of(error)
            self._ended.set()
            raise RemoteError(f"the device is down: {self._reason}") from None
        finally:
            self._notify()
        return self._session

    def _take_temp_dir(self) -> TempDir:
        """The directory for a session; another, if somebody has cleaned up since it was made."""
        temp_dir, self._temp_dir = self._temp_dir, None
        if temp_dir is not None and temp_dir.usable:
            return temp_dir
        if temp_dir is not None:
            temp_dir.close()
        return TempDir()

    async def _read_beat(self, context: Any, deadline: float, limit: float) -> bool:
        """Whether another beat came. Raises `RemoteError` if the client is silent, or the session is over."""
        left = deadline - time.monotonic()
        try:
            return await read(context, min(max(left, 0.0), self.limits.silence_seconds), "client") is not None
        except RemoteError:
            if time.monotonic() < deadline:
                raise
            raise RemoteError(f"the session reached its limit of {limit:g} s") from None

    async def _close_session(self, session: ServerSession, reason: str) -> None:
        self.last_used = time.monotonic()
        try:
            self._worker = await session.close(reason)
        except Exception as error:  # Whatever it is, the server must not stay busy.
            self._worker, self._reason = None, reason_of(error)
        self._session = None
        self._ended.set()

    def _session_of(self, key: str) -> ServerSession:
        session = self._session
        if session is None or not secrets.compare_digest(key.encode(), session.key.encode()):
            raise RemoteError("the session has ended")
        self.last_used = time.monotonic()
        return session

    def _description(self) -> pb.Description:
        worker = self._session.worker if self._session is not None else self._worker
        description = pb.Description()
        # Between two sessions there may be no process for a moment; the device is still what it was.
        description.CopyFrom(self._known if worker is None else worker.description)
        description.busy = self._session is not None
        description.host_code = self._allow_host_code
        limits = self.limits
        description.limits.CopyFrom(
            pb.Limits(
                heartbeat_seconds=limits.heartbeat_seconds,
                silence_seconds=limits.silence_seconds,
                session_seconds=limits.session_seconds,
                run_seconds=limits.run_seconds,
                upload_bytes=limits.upload_bytes,
            )
        )
        return description

    async def _start_worker(
        self, hw: HardwareConfig | None = None, bitstream: Path | None = None, design: str = ""
    ) -> WorkerProcess:
        opened = self._configurator.opened(hw, bitstream, design)
        worker = await WorkerProcess.start(self._command, *opened, self.limits)
        if hw is None:
            self._known = worker.description
        return worker

    async def _keep_device(self) -> None:
        """Have all that a session needs ready whenever none is open; where that fails, be down with the reason, and try again."""
        delay = _RETRY_SECONDS[0]
        while True:
            self._ended.clear()
            try:
                if self._session is None:
                    await self._prepare()
                    self._reason = ""
                    self._renew_ticket()
                delay = _RETRY_SECONDS[0]
                await self._wait_for_change()
            except Exception as error:  # Whatever it is, the server must not stay busy.
                self._reason = reason_of(error)
                self._notify()
                await asyncio.sleep(delay)
                delay = min(2 * delay, _RETRY_SECONDS[1])

    async def _prepare(self) -> None:
        """Have a directory for the files of a session, and a fresh process with an open device."""
        self._temp_dir = self._take_temp_dir()
        if self._worker is None or not self._worker.alive:
            self._worker = None
            self._worker = await self._start_worker()

    async def _wait_for_change(self) -> None:
        """Wait for the end of a session, or of an idle process."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._ended.wait())]
        if self._session is None and self._worker is not None:
            waits.append(asyncio.ensure_future(self._worker.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if self._session is not None:
                await self._ended.wait()
        finally:
            for task in waits:
                task.cancel()

    def _renew_ticket(self) -> None:
        if self._session is None:
            self._ticket = secrets.token_hex(16)
            self._renewed.set()
            self._notify()

    def _notify(self) -> None:
        if self._registration is not None:
            self._registration.changed()

    def _status(self) -> pb.ServerStatus:
        up = self._worker is not None and self._worker.alive
        # Until the process for the next session is ready, or fails to start, the device is as good as taken.
        state = pb.DOWN if self._reason else pb.FREE if up and self._ticket else pb.BUSY
        host = self._advertise or ("" if self.address.is_wildcard else self.address.host)
        return pb.ServerStatus(
            key=self._key,
            host=host,
            port=self.address.port,
            state=state,
            ticket=self._ticket if state == pb.FREE else "",
            reason=self._reason if state == pb.DOWN else "",
            device=self._configurator.kind,
        )


def _config(text: str) -> HardwareConfig:
    """The config that a client sent."""
    try:
        return HardwareConfig.from_json(json.loads(text), "the new config")
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"the new config is not JSON: {error}") from None
