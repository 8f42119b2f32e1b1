"""What runs return, as messages."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import InstructionTimes, RunResult
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.tensors import header
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.reports import CheckReport, RunReport

__all__ = ["reply_of"]

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


def _check_message(check: CheckReport) -> pb.CheckReply:
    reply = pb.CheckReply(compared=check.compared)
    if check.mismatch is not None:
        reply.mismatch.CopyFrom(_message(pb.Mismatch, check.mismatch))
    return reply


def _message(kind: Any, value: Any) -> Any:
    """A message with the fields of a dataclass of the same shape."""
    return kind(**{field.name: getattr(value, field.name) for field in fields(value)})
