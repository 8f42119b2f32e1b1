"""Where `vta tune --auto` times kernels of a GPU."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from vta.cli.tuning.tune_gpu import remote_runner, target_of
from vta.support.dataclass import dataclass
from vta.support.on_cores import usable_cores

if TYPE_CHECKING:
    from vta.autotune.auto.measure import Measurer
    from vta.autotune.auto.network import NetworkTimer
    from vta.autotune.auto.task import AutoTask
    from vta.autotune.gpu.task import GpuTarget
    from vta.config.target_list import TargetEntry
    from vta.ir.graph import Graph, Node

__all__ = ["Place", "on_gpu"]


@dataclass(frozen=True)
class Place:
    """Where kernels are timed."""

    measurer: Measurer
    tasks: Callable[[Graph, Sequence[Node], Sequence[Node]], tuple[AutoTask, ...]]
    """Those of some operators of a graph, some values of which are wanted by others."""
    network: Callable[[Graph], NetworkTimer] | None = None
    """Times whole networks; None where they are not here."""


@contextmanager
def on_gpu(options: argparse.Namespace, entry: TargetEntry) -> Iterator[Place]:
    """On a GPU of this machine, or on all that a tracker has under a key."""
    target = target_of(options, entry)
    with closing(_measurer(options, entry, target)) as measurer:
        network = None if options.tracker else partial(_network, entry)
        yield Place(measurer, lambda graph, calls, kept: _tasks(graph, calls, kept, target), network)


def _network(entry: TargetEntry, graph: Graph) -> NetworkTimer:
    from vta.autotune.auto.network_timers import GpuNetworkTimer
    from vta.host.gpu.drivers.open import shared_gpu
    from vta.runtime.artifact.gpu_host import gpu_host_of

    gpu = gpu_host_of(entry)
    return GpuNetworkTimer(graph, shared_gpu(gpu.kind, gpu.ordinal, gpu.platform))


def _measurer(options: argparse.Namespace, entry: TargetEntry, target: GpuTarget) -> Measurer:
    from vta.autotune.auto.measure import LocalMeasure, Timing
    from vta.runtime.artifact.gpu_host import gpu_host_of

    if options.tracker:
        from vta.autotune.auto.gpu.remote import RemoteGpuMeasure
        from vta.cli.options import DEFAULT_CONFIG
        from vta.config.hardware import HardwareConfig

        hw = HardwareConfig.named(options.config or DEFAULT_CONFIG)
        return RemoteGpuMeasure(remote_runner(options, Timing().min_repeat_ms), gpu_host_of(entry), hw)
    from vta.autotune.auto.gpu.engine import GPU_BUILD_SECONDS, GpuEngine

    timing = Timing(options.number, options.min_repeat_ms or Timing().min_repeat_ms)
    gpu = gpu_host_of(entry)
    engine = GpuEngine(target, gpu.ordinal, gpu.platform)
    return LocalMeasure(engine, timing, options.timeout, usable_cores(), GPU_BUILD_SECONDS)


def _tasks(graph: Graph, calls: Sequence[Node], kept: Sequence[Node], target: GpuTarget) -> tuple[AutoTask, ...]:
    from vta.autotune.auto.gpu.machine import GpuMachine
    from vta.autotune.auto.gpu.tasks import gpu_auto_tasks
    from vta.runtime.host_part.gpu_kernels import TileChoices

    return gpu_auto_tasks(graph, calls, kept, GpuMachine(target), TileChoices((), target.kind, target.model))
