"""Timing schedules on another machine: compiled and linked here, run by a server that takes code of its clients."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.autotune.auto import timing as remote_code
from vta.autotune.auto.cpu.limits import Limits, limits_of, with_caches
from vta.autotune.auto.measure import BUILD_SECONDS, DIFFERS, THOROUGH, Timing, run_arrays
from vta.autotune.auto.space import Made
from vta.autotune.auto.task import AutoTask
from vta.autotune.measure.measure import Build
from vta.autotune.measure.outcomes import build_of
from vta.autotune.measure.workers import WorkerPool
from vta.errors import DeviceError, RemoteError, TimeLimitError
from vta.host.llvm.jit import compile_object
from vta.host.llvm.link import link_library
from vta.host.loop.nest import Program
from vta.host.processors import CpuTarget
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.rpc.client.connect import lease
from vta.rpc.client.remote_code import RemoteCode
from vta.rpc.client.session import Session
from vta.rpc.wire.security import Security

__all__ = ["RemoteMeasure"]

Array = NDArray[Any]

_ATTEMPTS = 2
"""How often a schedule whose session is lost is tried."""
_LEASE_SECONDS = 60.0


class RemoteMeasure:
    """Compiles for `target` in `n_parallel` processes, and times on a server that a tracker has under `key`, one after the other.

    A schedule takes `timeout` seconds at most. The server runs code of its clients, and needs neither a compiler nor a linker.
    One that goes away is replaced by another.
    """

    def __init__(
        self,
        tracker: str,
        key: str,
        target: CpuTarget,
        timing: Timing,
        timeout: float = 10.0,
        n_parallel: int = 1,
        priority: int = 0,
        security: Security | None = None,
    ) -> None:
        self._tracker, self._key, self._priority, self._security = tracker, key, priority, security
        self._target = target
        self._timing = timing
        self._timeout = timeout
        self._builders = WorkerPool(n_parallel)
        self._built: dict[int, tuple[Program, Build]] = {}
        self._session: Session | None = None
        self._code: RemoteCode | None = None
        self._kept = ""
        """The task whose inputs the server has."""

    def limits(self) -> Limits:
        """What the server's processor has room for. Raises `RemoteError` if no server is there."""
        near, far = self._remote().call("describe", limit_seconds=self._timeout)["caches"].tolist()
        return with_caches(limits_of(self._target), int(near), int(far))

    def default(self, task: AutoTask) -> Measurement:
        """See `Measurer.default`."""
        return self._all(task, [task.default], self._timing.times(THOROUGH), alone=True)[0]

    def measure(self, task: AutoTask, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        """See `Measurer.measure`."""
        programs = [item.program for item in made]
        return self._all(task, programs, self._timing.times(THOROUGH) if thorough else self._timing, alone=False)

    def close(self) -> None:
        """End the worker processes, and give the server back."""
        self._builders.close()
        self._forget()

    def _all(self, task: AutoTask, programs: Sequence[Program], timing: Timing, alone: bool) -> list[Measurement]:
        first, *builds = self._build([task.default, *programs])
        if first.product is None:
            return [failed(first.error, first.message)] * len(programs)
        found = []
        for program, build in zip(programs, builds, strict=True):
            if build.product is None:
                found.append(failed(build.error, build.message, build.seconds))
                continue
            pairs = [(program, build.product)] if alone else [(task.default, first.product), (program, build.product)]
            found.append(self._one(task, pairs, timing))
        return found

    def _build(self, programs: Sequence[Program]) -> list[Build]:
        new = [program for program in programs if id(program) not in self._built]
        outcomes = self._builders.map(_linked, [(program, self._target) for program in new], BUILD_SECONDS)
        self._built.update((id(program), (program, build_of(outcome))) for program, outcome in zip(new, outcomes, strict=True))
        return [self._built[id(program)][1] for program in programs]

    def _one(self, task: AutoTask, pairs: Sequence[tuple[Program, bytes]], timing: Timing) -> Measurement:
        """Time the last of some programs in parts of the first one's time, in seconds if it is alone."""
        started = time.monotonic()
        error: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                reply = self._times(task, pairs, timing)
            except DeviceError as problem:
                # The process over there begins anew, with nothing of what it had.
                self._kept = ""
                kind = ErrorKind.RUN_TIMEOUT if isinstance(problem, TimeLimitError) else ErrorKind.RUNTIME_DEVICE
                return failed(kind, str(problem), time.monotonic() - started)
            except RemoteError as problem:
                if self._session is None or self._session.lost is None:
                    raise
                error = problem
                self._forget()
                continue
            seconds = time.monotonic() - started
            if not bool(reply["right"]):
                return failed(ErrorKind.WRONG_ANSWER, DIFFERS, seconds)
            least = reply["least"].tolist()
            cost = least[-1] / least[0] if len(least) > 1 else least[0]
            return Measurement((cost,), seconds=seconds, timestamp=time.time())
        return failed(ErrorKind.RUNTIME_DEVICE, str(error), time.monotonic() - started)

    def _times(self, task: AutoTask, pairs: Sequence[tuple[Program, bytes]], timing: Timing) -> Mapping[str, Array]:
        code = self._remote()
        inputs = {f"{task.name} {at}": array for at, array in enumerate(run_arrays(task))}
        if self._kept != task.name:
            code.call("keep", inputs, limit_seconds=self._timeout)
            self._kept = task.name
        settings = {
            "inputs": list(inputs),
            "programs": [_described(program) for program, _ in pairs],
            "number": timing.number,
            "seconds": timing.min_repeat_ms / 1e3,
        }
        given = {"settings": np.frombuffer(json.dumps(settings).encode(), np.uint8)}
        given |= {f"library{at}": np.frombuffer(library, np.uint8) for at, (_, library) in enumerate(pairs)}
        return code.call("times", given, limit_seconds=self._timeout)

    def _remote(self) -> RemoteCode:
        """The code on a server, which is leased for it if there is none."""
        if self._code is None:
            self._session = lease(self._tracker, self._key, _LEASE_SECONDS, self._priority, security=self._security)
            self._code = self._session.load_code(Path(remote_code.__file__))
        return self._code

    def _forget(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session, self._code, self._kept = None, None, ""


def _linked(job: tuple[Program, CpuTarget]) -> bytes:
    """In a worker: a program as a shared library."""
    program, target = job
    return link_library([compile_object(program, target)], target.architecture)


def _described(program: Program) -> dict[str, Any]:
    """What whoever runs a program has to know."""
    buffers = [(buffer.shape, buffer.dtype) for buffer in (*program.workspace, program.output)]
    functions = [(program.symbol(function), function.shared_extent) for function in program.functions]
    return {"buffers": buffers, "functions": functions}
