"""What runs return, as messages and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import CompiledModule
from vta.devices.device import INTERVAL_DTYPE, Counters, InstructionTimes, RunResult, Tokens, UnitCycles
from vta.errors import RemoteError
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.tensors import header
from vta.runtime.evaluation.compare import Mismatch
from vta.runtime.module import CheckReport, RunReport, make_report
from vta.support.shorten import printable

__all__ = ["check_from_reply", "reply_of", "report_from_reply"]

Array = NDArray[Any]

_TIMES = tuple(field.name for field in fields(InstructionTimes))


def reply_of(
    compiled: CompiledModule, report: RunReport, request: pb.RunRequest, check: CheckReport | None
) -> tuple[pb.RunReply, list[Array]]:
    """The reply to a run, and the arrays whose bytes follow it."""
    arrays = {str(index): output for index, output in enumerate(report.outputs)}
    runs = []
    for index, (region, result) in enumerate(report.results):
        position = next(i for i, known in enumerate(compiled.regions) if known is region)
        runs.append(_run_message(position, result))
        arrays |= _details(index, result, request)
    reply = pb.RunReply(
        tensors=[header(name, array) for name, array in arrays.items()],
        outputs=len(report.outputs),
        runs=runs,
        device_seconds=report.device_seconds,
        host_seconds=report.host_seconds,
    )
    if check is not None:
        reply.check.CopyFrom(_check_message(check))
    return reply, list(arrays.values())


def report_from_reply(compiled: CompiledModule, reply: pb.RunReply, arrays: Mapping[str, Array]) -> RunReport:
    """The report of a run of `compiled`. Raises `RemoteError` if the reply cannot be one."""
    outputs = []
    if reply.outputs != len(compiled.graph.outputs):
        raise RemoteError(f"the server sent {reply.outputs} outputs; the module has {len(compiled.graph.outputs)}")
    for index, node in enumerate(compiled.graph.outputs):
        array = arrays.get(str(index))
        if array is None or array.shape != node.shape or array.dtype != node.dtype:
            raise RemoteError(f"the server sent no output {index} of type {node.type}")
        outputs.append(array)
    results = []
    for index, run in enumerate(reply.runs):
        if run.region >= len(compiled.regions):
            raise RemoteError(f"the server ran region {run.region}; the module has {len(compiled.regions)}")
        results.append((compiled.regions[run.region], _run_result(run, index, arrays)))
    return make_report(tuple(outputs), results, reply.device_seconds, reply.host_seconds)


def check_from_reply(report: RunReport, reply: pb.CheckReply) -> CheckReport:
    """What the server found when it compared a run with the reference."""
    if not reply.HasField("mismatch"):
        return CheckReport(True, None, reply.compared, report)
    found = reply.mismatch
    expected, got = (int(x) if x.is_integer() else x for x in (found.expected, found.got))
    operator, layer = printable(found.operator), printable(found.layer)
    mismatch = Mismatch(operator, layer, tuple(found.index), expected, got, found.differing, found.total)
    return CheckReport(False, mismatch, reply.compared, report)


def _details(index: int, result: RunResult, request: pb.RunRequest) -> dict[str, Array]:
    """Arrays about device run `index` that were asked for."""
    found: dict[str, Array] = {}
    if request.times and result.times is not None:
        found |= {f"{index}.{name}": getattr(result.times, name) for name in _TIMES}
    if request.timeline and result.timeline is not None:
        found[f"{index}.timeline"] = np.ascontiguousarray(result.timeline).view(np.uint8).reshape(-1)
    return found


def _run_message(region: int, result: RunResult) -> pb.DeviceRun:
    message = pb.DeviceRun(
        region=region,
        counters=_message(pb.Counters, result.counters),
        operators=[_message(pb.Counters, counters) for counters in result.operators],
        tokens=_message(pb.Tokens, result.tokens),
        seconds=result.seconds,
        units={name: _message(pb.UnitCycles, cycles) for name, cycles in result.units.items()},
        read_beats=result.read_beats,
        write_beats=result.write_beats,
        preset=result.preset or "",
    )
    if result.cycles is not None:
        message.cycles = result.cycles
    return message


def _run_result(run: pb.DeviceRun, index: int, arrays: Mapping[str, Array]) -> RunResult:
    timeline = arrays.get(f"{index}.timeline")
    if timeline is not None and (timeline.dtype != np.uint8 or timeline.size % INTERVAL_DTYPE.itemsize):
        raise RemoteError(f"the server sent a timeline of {timeline.nbytes} bytes, which is none")
    return RunResult(
        counters=_value(Counters, run.counters),
        operators=tuple(_value(Counters, counters) for counters in run.operators),
        tokens=_value(Tokens, run.tokens),
        seconds=run.seconds,
        cycles=run.cycles if run.HasField("cycles") else None,
        units={printable(name): _value(UnitCycles, cycles) for name, cycles in run.units.items()},
        read_beats=run.read_beats,
        write_beats=run.write_beats,
        preset=printable(run.preset) or None,
        times=_times(index, arrays),
        timeline=None if timeline is None else timeline.view(INTERVAL_DTYPE),
    )


def _times(index: int, arrays: Mapping[str, Array]) -> InstructionTimes | None:
    times = [arrays[f"{index}.{name}"] for name in _TIMES if f"{index}.{name}" in arrays]
    if len(times) < len(_TIMES):
        return None
    if any(array.dtype != np.int64 or array.ndim != 1 or array.shape != times[0].shape for array in times):
        raise RemoteError("the server sent times of instructions that do not go together")
    return InstructionTimes(*times)


def _check_message(check: CheckReport) -> pb.CheckReply:
    reply = pb.CheckReply(compared=check.compared)
    if check.mismatch is not None:
        reply.mismatch.CopyFrom(_message(pb.Mismatch, check.mismatch))
    return reply


def _message(kind: Any, value: Any) -> Any:
    """A message with the fields of a dataclass of the same shape."""
    return kind(**{field.name: getattr(value, field.name) for field in fields(value)})


def _value(kind: Any, message: Any) -> Any:
    """A dataclass with the fields of a message of the same shape."""
    return kind(**{field.name: getattr(message, field.name) for field in fields(kind)})
