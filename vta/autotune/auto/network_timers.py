"""Networks on this machine, by schedules of their kernels."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from vta.host.gpu.drivers.device import GpuDevice
from vta.ir.graph import Graph
from vta.records.gpu.schedules import best_schedules
from vta.records.log import RecordLog
from vta.records.record import Record
from vta.runtime.artifact.gpu_host import GpuScheduleChoice
from vta.runtime.evaluation.random_inputs import any_value, random_inputs
from vta.runtime.host_part.gpu_kernels import gpu_seconds
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions

__all__ = ["CpuNetworkTimer", "GpuNetworkTimer"]

_FEWEST_TURNS = 5


class CpuNetworkTimer:
    """A network on one thread of this machine; see `NetworkTimer`."""

    def __init__(self, graph: Graph, seconds: float = 1.0) -> None:
        """Runs of the choices that are compared take so many seconds together, at least."""
        self._graph = graph
        self._seconds = seconds
        self._feed = random_inputs(graph, 0, any_value)

    def seconds(self, choices: Sequence[Sequence[Record]]) -> list[float]:
        """See `NetworkTimer.seconds`: by the thread's own clock."""
        with tempfile.TemporaryDirectory(prefix="vta-network-") as folder:
            runs = [self._run(records, Path(folder) / f"{at}.log") for at, records in enumerate(choices)]
            return _in_turns(runs, self._seconds)

    def _run(self, records: Sequence[Record], path: Path) -> Callable[[], float]:
        path.touch()
        RecordLog(path).append(list(records))
        compiled = host_graph(self._graph, HostOptions(compiled=True, records=(path,)))
        compiled.run(self._feed)

        def timed() -> float:
            started = time.thread_time()
            compiled.run(self._feed)
            return time.thread_time() - started

        return timed


class GpuNetworkTimer:
    """A network on a GPU of this machine; see `NetworkTimer`."""

    def __init__(self, graph: Graph, device: GpuDevice, seconds: float = 0.2) -> None:
        """Runs of the choices that are compared take so many seconds together, at least."""
        self._graph = graph
        self._device = device
        self._seconds = seconds
        self._feed = random_inputs(graph, 0, any_value)

    def seconds(self, choices: Sequence[Sequence[Record]]) -> list[float]:
        """See `NetworkTimer.seconds`: by the device's own clock."""
        return _in_turns([self._run(records) for records in choices], self._seconds)

    def _run(self, records: Sequence[Record]) -> Callable[[], float]:
        schedules = tuple(GpuScheduleChoice(*pair) for pair in best_schedules(list(records), self._device.kind).items())
        compiled = host_graph(self._graph, HostOptions(gpu=self._device, gpu_schedules=schedules))
        compiled.run(self._feed)
        once = max(gpu_seconds(compiled.plan, 1), 1e-6)
        number = max(1, math.ceil(self._seconds / _FEWEST_TURNS / once / 2))
        return lambda: gpu_seconds(compiled.plan, number)


def _in_turns(runs: Sequence[Callable[[], float]], seconds: float) -> list[float]:
    """The least of what each of some runs says that it took, all of them again and again."""
    least, end, turns = [math.inf] * len(runs), time.monotonic() + seconds, 0
    while turns < _FEWEST_TURNS or time.monotonic() < end:
        for at, run in enumerate(runs):
            least[at] = min(least[at], run())
        turns += 1
    return least
