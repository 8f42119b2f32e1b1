"""A compiled module on a leased device."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vta.errors import DeviceError, VTAError
from vta.ir.interpreter import check_inputs
from vta.rpc.client.replies import check_from_reply, report_from_reply
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.parts import receive_parts, send_parts
from vta.rpc.wire.tensors import header, split_tensors
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.loaded_module import LoadedModule, RunSettings
from vta.runtime.reports import CheckReport, RunReport
from vta.support.dataclass import dataclass
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


class RemoteModule(LoadedModule):
    """A module on the device of a `Session`, which has the reference compute there, too."""

    def __init__(self, session: Session, compiled: CompiledModule, number: int) -> None:
        self.compiled = compiled
        self._session = session
        self._number = number
        self._closed = False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # An error on its way says more than that the session which failed cannot unload either.
        with contextlib.suppress(VTAError) if error is not None else contextlib.nullcontext():
            self.close()

    def close(self) -> None:
        """See `LoadedModule.close`."""
        was_open, self._closed = not self._closed, True
        if was_open and not self._session.closed:
            request = pb.UnloadRequest(session=self._session.key, module=self._number)
            self._session.unary("Unload", request, 0.0, "unloading")

    def check_open(self) -> None:
        """See `LoadedModule.check_open`."""
        if self._closed:
            raise DeviceError("the module is closed")

    @property
    def number(self) -> int:
        """What the server knows the module by."""
        return self._number

    def run_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport:
        """See `LoadedModule.run_values`."""
        request = self._request(settings.limit_seconds)
        request.times, request.timeline = settings.times, settings.timeline
        if settings.seed is not None:
            request.seed = settings.seed
        return self._exchange(request, inputs)[0]

    def check_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> CheckReport:
        """See `LoadedModule.check_values`."""
        request = self._request(settings.limit_seconds)
        request.check = request.times = True
        request.timeline = settings.timeline
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
