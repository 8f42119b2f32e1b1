"""What runs on a server returned, from its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import INTERVAL_DTYPE, Counters, InstructionTimes, RunResult, Tokens, UnitCycles
from vta.errors import RemoteError
from vta.host.gpu.description import GpuDescription
from vta.host.loop.grid import GridLimits
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.runtime.compare import Mismatch
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.reports import CheckReport, RunReport
from vta.runtime.values.outputs import Outputs, output_names
from vta.support.shorten import printable

__all__ = ["check_from_reply", "gpu_from_reply", "report_from_reply"]

Array = NDArray[Any]

_TIMES = tuple(field.name for field in fields(InstructionTimes))


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
    named = Outputs(outputs, output_names(compiled.graph))
    return RunReport(named, reply.device_seconds, reply.host_seconds, tuple(results))


def check_from_reply(report: RunReport, reply: pb.CheckReply) -> CheckReport:
    """What the server found when it compared a run with the reference."""
    if not reply.HasField("mismatch"):
        return CheckReport(True, None, reply.compared, report)
    found = reply.mismatch
    expected, got = (int(x) if x.is_integer() else x for x in (found.expected, found.got))
    operator, layer = printable(found.operator), printable(found.layer)
    mismatch = Mismatch(operator, layer, tuple(found.index), expected, got, found.differing, found.total)
    return CheckReport(False, mismatch, reply.compared, report)


def gpu_from_reply(reply: pb.GpuReply) -> GpuDescription:
    """What a server says of a GPU. Raises `RemoteError` if a limit is missing."""
    block, grid = tuple(reply.block), tuple(reply.grid)
    limits: GridLimits = replace(_value(GridLimits, reply), block=block, grid=grid)
    if len(block) != 3 or len(grid) != 3 or not all((*block, *grid, *asdict(replace(limits, tensor=True)).values())):
        raise RemoteError(f"the server describes its GPU in an unknown way: {printable(str(limits))}")
    return GpuDescription(printable(reply.name), limits)


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


def _value(kind: Any, message: Any) -> Any:
    """A dataclass with the fields of a message of the same shape."""
    return kind(**{field.name: getattr(message, field.name) for field in fields(kind)})
