"""A compiled module on a leased device: used like `vta.runtime.Module`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vta.codegen.region_program import CompiledModule
from vta.errors import DeviceError, VTAError
from vta.ir.batch import batch_size
from vta.ir.interpreter import check_inputs
from vta.rpc.client.replies import check_from_reply, report_from_reply
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.parts import receive_parts, send_parts
from vta.rpc.wire.tensors import header, split_tensors
from vta.runtime.evaluation.batches import Tick, have_no_batch_axis, map_batches, map_samples
from vta.runtime.module import BatchReport, CheckReport, RunReport, output_names
from vta.support.shorten import printable

if TYPE_CHECKING:
    from vta.rpc.client.session import Session

__all__ = ["Measured", "RemoteModule"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Measured:
    """What timing a module gave."""

    costs: tuple[float, ...]
    """Seconds on the device of one run, as the server's clock tells."""
    cycles: int | None
    """Clock cycles of one run, where the device counts them."""
    mismatch: str
    """What differs from the reference, if anything; only if that was asked."""


class RemoteModule:
    """A module that a `Session` loaded; unloaded on `close` or at the end of a ``with``.

    Threads may share it: the calls of a session take turns. Once it is closed, whatever needs the device raises `DeviceError`.
    """

    def __init__(self, session: Session, compiled: CompiledModule, number: int) -> None:
        self.compiled = compiled
        self._session = session
        self._number = number
        self._closed = False

    def __enter__(self) -> RemoteModule:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # An error on its way says more than that the session which failed cannot unload either.
        with contextlib.suppress(VTAError) if error is not None else contextlib.nullcontext():
            self.close()

    def close(self) -> None:
        """Unload the module, after a run of another thread has ended; it cannot run any more."""
        was_open, self._closed = not self._closed, True
        if was_open and not self._session.closed:
            request = pb.UnloadRequest(session=self._session.key, module=self._number)
            self._session.unary("Unload", request, 0.0, "unloading")

    def check_open(self) -> None:
        """Raise `DeviceError` if the module is closed."""
        if self._closed:
            raise DeviceError("the module is closed")

    @property
    def number(self) -> int:
        """What the server knows the module by."""
        return self._number

    def output_names(self) -> tuple[str, ...]:
        """See `Module.output_names`."""
        return output_names(self.compiled.graph)

    def run(
        self, inputs: Mapping[str, Array], seed: int | None = None, limit_seconds: float | None = None, timeline: bool = False
    ) -> RunReport:
        """See `Module.run`. A run that takes longer than `limit_seconds` (None: the server's limit) is ended.

        With `timeline` the results keep what each unit did when, from a device that knows it.
        Raises `RemoteError` if the session is lost, and whatever `Module.run` raises.
        """
        request = self._request(limit_seconds)
        request.times = request.timeline = timeline
        if seed is not None:
            request.seed = seed
        return self._exchange(request, inputs)[0]

    def run_batches(self, inputs: Mapping[str, Array], tick: Tick | None = None) -> BatchReport:
        """See `Module.run_batches`."""
        self.check_open()
        start = time.perf_counter()
        runs = 0

        def run(chunk: dict[str, Array]) -> tuple[Array, ...]:
            nonlocal runs
            report = self.run(chunk)
            runs += report.device_runs
            return report.outputs

        if have_no_batch_axis(self.compiled.graph, inputs):
            outputs = map_samples(run, inputs, tick)
        else:
            outputs = map_batches(run, inputs, batch_size(self.compiled.graph), tick)
        return BatchReport(tuple(outputs), runs, time.perf_counter() - start)

    def check(self, inputs: Mapping[str, Array], limit_seconds: float | None = None) -> CheckReport:
        """See `Module.check`; the server has the reference compute, too."""
        request = self._request(limit_seconds)
        request.check = True
        report, reply = self._exchange(request, inputs)
        return check_from_reply(report, reply.check)

    def measure(
        self,
        number: int = 1,
        repeat: int = 1,
        least_seconds: float = 0.0,
        limit_seconds: float | None = None,
        check: bool = False,
    ) -> Measured:
        """Time runs on inputs that are random and always the same: `repeat` costs, each the mean of `number` runs or more.

        A cost takes at least `least_seconds`. On a device that counts cycles one run stands for all. With `check` the
        outputs are compared with the reference first. Raises like `run`.
        """
        request = pb.MeasureRequest(
            session=self._session.key,
            module=self._number,
            number=number,
            repeat=repeat,
            least_seconds=least_seconds,
            limit_seconds=limit_seconds or 0.0,
            check=check,
        )
        seconds = limit_seconds or self._session.run_limit_seconds
        with self._session.turn():
            self.check_open()
            reply = self._session.unary("Measure", request, seconds, "measuring")
        cycles = reply.cycles if reply.HasField("cycles") else None
        return Measured(tuple(reply.costs), cycles, printable(reply.mismatch))

    def _request(self, limit_seconds: float | None) -> pb.RunRequest:
        return pb.RunRequest(session=self._session.key, module=self._number, limit_seconds=limit_seconds or 0.0)

    def _exchange(self, request: pb.RunRequest, inputs: Mapping[str, Array]) -> tuple[RunReport, pb.RunReply]:
        self.check_open()
        arrays = {node.name: array for node, array in check_inputs(self.compiled.graph, inputs).items()}
        request.inputs.extend(header(name, array) for name, array in arrays.items())
        seconds = request.limit_seconds or self._session.run_limit_seconds
        parts = send_parts(pb.RunPart, request, list(arrays.values()))
        with self._session.turn():
            self.check_open()
            reply, data = receive_parts(self._session.stream("Run", parts, seconds, "running the module"), "the run")
        return report_from_reply(self.compiled, reply, split_tensors(reply.tensors, data)), reply
