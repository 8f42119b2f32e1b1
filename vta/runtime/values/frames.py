"""A stream through a network, frame by frame."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import DeviceError, GraphError, UsageError
from vta.ir.graph import Graph, Node
from vta.runtime.values.batches import Tick
from vta.runtime.values.cost import cost_text
from vta.runtime.values.outputs import Outputs
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.runtime.loaded_module import LoadedModule
    from vta.runtime.reports import RunReport

__all__ = ["FramesReport", "frame_count", "frames_of", "run_frames"]

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class FramesReport:
    """What running a stream gave."""

    outputs: Outputs
    """The results of all frames, with an axis of time in front."""
    frames: int
    device_runs: int
    seconds: float
    device_seconds: float
    cycles: tuple[int, ...] | None = None
    """Clock cycles of each frame, on devices that count them."""

    def __repr__(self) -> str:
        cycles = None if self.cycles is None else sum(self.cycles)
        return f"FramesReport: {cost_text(cycles, self.device_runs, self.seconds)}; {self.outputs!r}"


def frame_count(graph: Graph, inputs: Mapping[str, Array]) -> int:
    """Frames that the arrays of a graph's arguments hold; raises as `frames_of`."""
    return _count(_streams(graph, inputs))


def frames_of(graph: Graph, inputs: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """The values of a graph's arguments in each frame.

    Raises `GraphError` naming an input that is missing or unknown, or whose array holds no frames of it, and `UsageError` for
    none, or not as many of each. A state is passed on to the module, which refuses it.
    """
    streams = _streams(graph, inputs)
    others = {name: array for name, array in inputs.items() if name not in streams}
    return ({**others, **{name: stream[at] for name, stream in streams.items()}} for at in range(_count(streams)))


def _streams(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    known = {node.name for node in graph.inputs}
    for name in inputs:
        if name not in known:
            wanted = ", ".join(node.name for node in graph.arguments)
            raise GraphError(f"{name!r} is no input of graph {graph.name!r}; its inputs are: {wanted}")
    for node in graph.arguments:
        if node.name not in inputs:
            raise GraphError(f"input {node.name!r} ({node.type}) of graph {graph.name!r} is missing")
    return {node.name: _stream(node, inputs[node.name]) for node in graph.arguments}


def _count(streams: Mapping[str, Array]) -> int:
    counts = {name: len(stream) for name, stream in streams.items()}
    total = min(counts.values(), default=0)
    if not total or any(count != total for count in counts.values()):
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(f"inputs must hold one or more frames, each as many as the others; got {listed or 'no inputs'}")
    return total


def _stream(node: Node, array: Array) -> Array:
    if array.shape[1:] == node.shape and array.ndim == len(node.shape) + 1:
        return array
    if node.shape[:1] == (1,) and array.ndim == len(node.shape) and array.shape[1:] == node.shape[1:]:
        return array[:, None]
    wanted = ", ".join(["time", *map(str, node.shape)])
    raise GraphError(f"input {node.name!r} is {node.type}, so its frames are of shape ({wanted}); got {array.shape}")


def run_frames(module: LoadedModule, inputs: Mapping[str, Array], tick: Tick | None, check: bool) -> FramesReport:
    """See `LoadedModule.run_frames`."""
    start = time.perf_counter()
    frames = frames_of(module.compiled.graph, inputs)
    results, cycles = list[Outputs](), list[int]()
    device_runs, device_seconds = 0, 0.0
    with module.state.turn:
        for at, frame in enumerate(frames):
            report = _checked(module, frame, at) if check else module.run(frame)
            results.append(report.outputs)
            cycles += [] if report.cycles is None else [report.cycles]
            device_runs, device_seconds = device_runs + report.device_runs, device_seconds + report.device_seconds
            if tick:
                tick(at + 1)
    stacked = Outputs((np.stack(values) for values in zip(*results, strict=True)), module.output_names())
    seconds = time.perf_counter() - start
    return FramesReport(stacked, len(results), device_runs, seconds, device_seconds, tuple(cycles) if cycles else None)


def _checked(module: LoadedModule, frame: Mapping[str, Array], at: int) -> RunReport:
    found = module.check(frame)
    if found.mismatch is not None:
        raise DeviceError(f"frame {at} differs from the reference, first in {found.mismatch}")
    return found.run
