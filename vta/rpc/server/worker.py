"""The process that has the device: loads `.vta` files and runs them, as its server asks over a pipe.

It can be killed at any time. Nothing but `.vta` files and numbers comes in, no code and no pickles; unless the server was
started to take the code of its clients, which is executed here and nowhere else. Host libraries in files are such code.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import Device, ProgrammableDevice, RunOptions
from vta.devices.open_device import DeviceSpec, open_device
from vta.errors import ArtifactError, DeviceError, GpuFaultError, RemoteError, VTAError
from vta.files.atomic_file import writing
from vta.ir.graph import Node
from vta.ir.interpreter import evaluate
from vta.ir.macs import macs_of
from vta.rpc.server.host_code import Host, HostCode, confine, limit_memory
from vta.rpc.server.pipe import frame, receive
from vta.rpc.server.process import RUN_LIBRARIES
from vta.rpc.server.replies import reply_of
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.service import reason_of
from vta.rpc.wire.tensors import chunks, header, split_tensors
from vta.rpc.wire.transfer import SCRATCH
from vta.runtime.compare import find_difference, find_mismatch
from vta.runtime.compiled_module import load
from vta.runtime.evaluation.random_inputs import random_inputs
from vta.runtime.host_part.gpu_check import GPU_ROUNDING
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.loaded_module import RunSettings
from vta.runtime.module import Module
from vta.runtime.values.outputs import output_names

__all__ = ["OpenDevice", "serve"]

OpenDevice = Callable[[HardwareConfig, DeviceSpec], Device]

_PR_SET_PDEATHSIG = 1
_NO_LIBRARIES = "nothing of the module runs on the device, and this server runs no code of its clients (allow_host_code)"
_LEAST_DEVICE_SECONDS = 1e-6
_MOST_COSTS = 10_000
# The server ends a run at its limit by killing this process, whatever the run is doing.
_OPTIONS = RunOptions(limit_seconds=None)


class Worker:
    """Answers requests with the one device that it opens."""

    def __init__(self, opener: OpenDevice, runs_libraries: bool = False) -> None:
        """`runs_libraries` says whether the machine code that comes in files may be run."""
        self._opener = opener
        self._host = HostOptions(compiled=True, trusted=True, refuses_foreign=True) if runs_libraries else HostOptions()
        self._device: Device | None = None
        self._modules: dict[int, Module] = {}
        self._codes: dict[int, HostCode] = {}
        self._limit = ""
        """What to say where memory is short."""

    def answer(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        """Do what is asked; an error becomes a reply, too."""
        try:
            kind = request.WhichOneof("request")
            if kind is None:
                raise RemoteError("an empty request")
            reply: pb.WorkerReply = getattr(self, f"_{kind}")(request)
        except GpuFaultError as error:
            # The device does nothing more in this process: another one takes its place.
            raise SystemExit(str(error)) from None
        except Exception as error:  # The server lives on, and the client learns what it was.
            cause = error.__context__ if isinstance(error, ArtifactError) else error
            if isinstance(cause, MemoryError):
                error = DeviceError(f"out of memory{self._limit}")
            kind = type(error).__name__ if isinstance(error, VTAError) else "RemoteError"
            reply = pb.WorkerReply(error=pb.WorkerError(kind=kind, message=reason_of(error)))
        return reply

    def _open(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        given = request.open
        hw = HardwareConfig.from_json(json.loads(given.config_json))
        timing = TimingParameters.from_json(json.loads(given.timing_json)) if given.timing_json else None
        self._device = device = self._opener(hw, _spec_of(given, timing))
        description = pb.Description(
            device=device.name,
            config_json=json.dumps(device.hw.to_json()),
            timing_json="" if device.timing is None else json.dumps(device.timing.to_json()),
            memory_bytes=device.memory_bytes,
        )
        if isinstance(device, ProgrammableDevice):
            description.needs_proof = True
            state = device.board_state
            # Of a file on this machine its name alone says something to others.
            description.board.CopyFrom(pb.BoardState(**asdict(replace(state, bitstream=Path(state.bitstream).name))))
        if given.process_bytes:
            limit_memory(given.process_bytes)
            self._limit = f"; this server gives a session {given.process_bytes} bytes"
        return pb.WorkerReply(description=description)

    def _load(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        if self._device is None:
            raise RemoteError("no device is open")
        try:
            # The C++ core, which has the verifier, is nothing that a board needs.
            compiled = load(request.load.path, contained=isinstance(self._device, ProgrammableDevice))
        except VTAError as error:
            # The name of the file here says nothing to who sent it.
            raise type(error)(str(error).replace(f"{request.load.path}: ", "")) from None
        host = self._host if compiled.host is not None and _has_core() else HostOptions()
        self._modules[request.load.module] = Module(compiled, self._device, _OPTIONS, host)
        return pb.WorkerReply(loaded=pb.UploadReply(module=request.load.module))

    def _run(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        run = request.run
        module = self._module(run.module)
        data = np.fromfile(request.input_path, dtype=np.uint8)
        inputs = split_tensors(run.inputs, data)
        if run.check and run.HasField("seed"):
            raise RemoteError("a check runs in program order: it takes no seed")
        settings = RunSettings(seed=run.seed if run.HasField("seed") else None, timeline=run.timeline)
        # Whoever asks keeps the states of a network, and sends and gets them with its inputs and outputs.
        check = module.check_values(inputs, settings) if run.check else None
        report = check.run if check else module.run_values(inputs, settings)
        reply, arrays = reply_of(module.compiled, report, run, check)
        with writing(SCRATCH, "the outputs", request.output_path), open(request.output_path, "wb") as stream:
            stream.writelines(chunks(arrays))
        return pb.WorkerReply(run=reply)

    def _measure(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        module, given = self._module(request.measure.module), request.measure
        inputs = random_inputs(module.compiled.graph, 0, _small_value)
        report = module.run_values(inputs, RunSettings())
        mismatch = _mismatch(module, inputs, report.outputs) if given.check else ""
        if mismatch:
            return pb.WorkerReply(measure=pb.MeasureReply(mismatch=mismatch))
        repeat = min(max(1, given.repeat), _MOST_COSTS)
        if report.cycles is not None:
            return pb.WorkerReply(measure=pb.MeasureReply(costs=[report.device_seconds] * repeat, cycles=report.cycles))
        if module.host.gpu is not None and not module.compiled.regions:
            return pb.WorkerReply(measure=pb.MeasureReply(costs=_gpu_costs(module, given, repeat)))
        if module.compiled.host is not None and not module.compiled.regions:
            if not module.host.compiled:
                raise RemoteError(_NO_LIBRARIES)
            return pb.WorkerReply(measure=pb.MeasureReply(costs=_kernel_costs(module, inputs, given, repeat)))
        number = max(1, given.number, int(given.least_seconds / max(report.device_seconds, _LEAST_DEVICE_SECONDS)))
        costs = [_device_seconds(module, inputs, number) / number for _ in range(repeat)]
        return pb.WorkerReply(measure=pb.MeasureReply(costs=costs))

    def _gpu(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        # Boards have no use for it.
        from vta.host.gpu.drivers.open import shared_gpu

        given = request.gpu
        device = shared_gpu(given.kind, given.ordinal, given.platform)
        return pb.WorkerReply(gpu=pb.GpuReply(name=device.name, **asdict(device.limits)))

    def _unload(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        self._module(request.unload.module).close()
        del self._modules[request.unload.module]
        return pb.WorkerReply(unloaded=pb.UnloadReply())

    def _code(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        given = request.code
        if not self._codes:
            confine(given.memory_bytes)
        self._codes[given.code] = HostCode(given.code, given.source)
        return pb.WorkerReply(code=pb.LoadCodeReply(code=given.code))

    def _call(self, request: pb.WorkerRequest) -> pb.WorkerReply:
        given = request.call
        if self._device is None or given.code not in self._codes:
            raise RemoteError(f"no code {given.code} is loaded")
        module = self._module(given.module) if given.HasField("module") else None
        inputs = split_tensors(given.inputs, np.fromfile(request.input_path, dtype=np.uint8))
        arrays = self._codes[given.code].call(given.function, Host(self._device, module), inputs)
        headers = [header(name, array) for name, array in arrays.items()]
        with writing(SCRATCH, "the outputs", request.output_path), open(request.output_path, "wb") as stream:
            stream.writelines(chunks(list(arrays.values())))
        return pb.WorkerReply(call=pb.CallReply(tensors=headers))

    def _module(self, number: int) -> Module:
        if number not in self._modules:
            raise RemoteError(f"no module {number} is loaded")
        return self._modules[number]


def _spec_of(given: pb.WorkerOpen, timing: TimingParameters | None) -> DeviceSpec:
    return DeviceSpec(
        given.device,
        given.memory_bytes,
        timing,
        given.preset or "rtl",
        kernel=Path(given.kernel) if given.kernel else None,
        platform=given.platform,
        design=given.design,
        bitstream=Path(given.bitstream) if given.bitstream else None,
        bitstreams=Path(given.bitstreams) if given.bitstreams else None,
        link=given.link,
    )


def serve(opener: OpenDevice = open_device) -> None:
    """Answer requests from standard input on standard output until that ends; the process's arguments say what it may run."""
    end_with_parent()
    requests, replies = sys.stdin.buffer, _take_standard_output()
    worker = Worker(opener, RUN_LIBRARIES in sys.argv[1:])
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        while (request := receive(requests, pb.WorkerRequest)) is not None:
            replies.write(_framed(worker.answer(request)))
            replies.flush()


def end_with_parent() -> None:
    """Have the system kill this process when its parent ends, whatever it is doing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _framed(reply: pb.WorkerReply) -> bytes:
    try:
        return frame(reply)
    except RemoteError as error:
        return frame(pb.WorkerReply(error=pb.WorkerError(kind="RemoteError", message=f"the reply is too long: {error}")))


def _take_standard_output() -> BinaryIO:
    """The pipe to the server. Whatever else prints goes to standard error from now on."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return pipe


def _small_value(rng: np.random.Generator, node: Node) -> NDArray[Any]:
    """Integers of the range of int8, floats of a normal distribution."""
    if np.issubdtype(node.dtype, np.integer):
        return rng.integers(-128, 128, node.shape).astype(node.dtype)
    return rng.standard_normal(node.shape).astype(node.dtype)


def _device_seconds(module: Module, inputs: Mapping[str, NDArray[Any]], number: int) -> float:
    """Of `number` runs."""
    return sum(module.run_values(inputs, RunSettings()).device_seconds for _ in range(number))


def _gpu_costs(module: Module, given: pb.MeasureRequest, repeat: int) -> list[float]:
    """Seconds of the kernels of a GPU, without what it takes to start them from here."""
    once = max(module.gpu_seconds(1), _LEAST_DEVICE_SECONDS)
    number = max(1, given.number, int(given.least_seconds / once))
    return [module.gpu_seconds(number) for _ in range(repeat)]


def _has_core() -> bool:
    """Whether the C++ core is here, which runs host libraries; a board may do without."""
    try:
        import vta.native  # noqa: F401
    except DeviceError:
        return False
    return True


def _kernel_costs(module: Module, inputs: Mapping[str, NDArray[Any]], given: pb.MeasureRequest, repeat: int) -> list[float]:
    """Seconds of the kernels of this processor, each the least of some runs."""
    once = max(_kernel_seconds(module, inputs), _LEAST_DEVICE_SECONDS)
    number = max(1, given.number, int(given.least_seconds / once))
    return [min(_kernel_seconds(module, inputs) for _ in range(number)) for _ in range(repeat)]


def _kernel_seconds(module: Module, inputs: Mapping[str, NDArray[Any]]) -> float:
    """Of the kernels with products; those without only bring data to and from them, unless there are no others."""
    steps = module.run_values(inputs, RunSettings()).steps
    products = [step.seconds for step in steps if step.node is not None and macs_of(step.node)]
    return sum(products or [step.seconds for step in steps])


def _mismatch(module: Module, inputs: Mapping[str, NDArray[Any]], outputs: tuple[NDArray[Any], ...]) -> str:
    expected = evaluate(module.compiled.graph, inputs)
    for name, wanted, got in zip(output_names(module.compiled.graph), expected, outputs, strict=True):
        rounding = 0.0 if module.host.by_references else GPU_ROUNDING
        found = find_difference("output", name, wanted, got, rounding) if rounding else find_mismatch("output", name, wanted, got)
        if found:
            return str(found)
    return ""


if __name__ == "__main__":
    serve()
