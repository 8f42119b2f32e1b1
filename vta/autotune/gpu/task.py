"""Tasks of a GPU: the distinct convolutions and dense layers of a network, each with the tiles that its kernel can have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.autotune.gpu.space import GpuTileSpace
from vta.autotune.gpu.splits import GpuSplitSpace
from vta.autotune.tunable import layers_text, uses_of
from vta.errors import TuningError
from vta.host.gpu.build import tiled_sums
from vta.host.gpu.schedule import is_thin
from vta.host.gpu.splitting import GpuChoice, best_splits
from vta.host.gpu.tiles import best_tiles
from vta.host.gpu.tiling import TiledSums
from vta.host.loop.grid import GridLimits
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.records.gpu.knobs import entity_of_tile, tile_of
from vta.records.gpu.tiles import device_text
from vta.records.gpu.workload import DENSE_FEW, gpu_workload, node_of
from vta.records.measurement import Measurement
from vta.records.record import Record, kernel_record
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["GpuTarget", "GpuTask", "gpu_task", "gpu_tasks", "model_tiles"]

_PEAK_PRODUCTS = 35e12
"""Multiply-accumulates of float32 in a second that few devices do."""


@dataclass(frozen=True)
class GpuTarget:
    """A device to tune for."""

    kind: str
    """``cuda`` or ``opencl``."""
    model: str
    """As its maker calls it."""
    limits: GridLimits = GridLimits()
    architecture: str = ""
    """That machine code is made for before a device is there, such as ``90``."""

    def __str__(self) -> str:
        return device_text(self.kind, self.model)

    def matches(self, text: str) -> bool:
        """Whether a record's target is this device."""
        return text == str(self)


@dataclass(frozen=True, eq=False)
class GpuTask:
    """An operator on a GPU."""

    workload: Workload
    target: GpuTarget
    weight: int = 1
    """How often the network has it."""
    layers: tuple[str, ...] = ()

    @cached_property
    def node(self) -> Node:
        """An operator of the workload, with random weights."""
        return node_of(self.workload)

    @cached_property
    def tiled(self) -> TiledSums:
        """What is tiled."""
        return tiled_sums(self.node)

    @cached_property
    def space(self) -> GpuTileSpace | GpuSplitSpace:
        """The tiles, or splits, to choose from."""
        if self.workload.name == DENSE_FEW:
            return GpuSplitSpace(self.tiled, self.target.limits)
        return GpuTileSpace(self.workload.name, self.tiled, self.target.limits)

    @property
    def has_choice(self) -> bool:
        """Whether its kernel has tiles, or splits; long sums of few elements in convolutions are cut in a way of their own."""
        if is_thin(self.tiled.sums) and self.workload.name != DENSE_FEW:
            return False
        try:
            return self.space.size > 0
        except TuningError:
            return False

    @property
    def name(self) -> str:
        """A short name of the workload."""
        return self.workload.identity

    @property
    def label(self) -> str:
        """The layers that it is for, to be shown."""
        return layers_text(self.layers, self.name)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of one run."""
        return macs_of(self.node)

    @property
    def least_seconds(self) -> float:
        """By a rate that few devices reach."""
        return max(self.macs, 1) / _PEAK_PRODUCTS

    def default(self) -> GpuChoice:
        """The tile that the model ranks first."""
        return next(iter(model_tiles(self, 1)))

    def features(self, kind: str, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `GpuTileSpace.features`."""
        return self.space.features(kind, numbers)

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this workload and device."""
        return record.workload == self.workload and self.target.matches(record.target)

    def schedule_of(self, record: Record) -> GpuChoice:
        """The tile of a record. Raises `TuningError` naming the knob that does not fit."""
        extents = {axis.name: axis.extent for axis in self.tiled.sums.reduce}
        return tile_of(record.entity, self.workload.name, [extents[axis] for axis in self.tiled.reduce])

    def record(self, schedule: GpuChoice, number: int, result: Measurement, device: str) -> Record:
        """The record of a trial."""
        entity = entity_of_tile(schedule, self.workload.name)
        return kernel_record(str(self.target), self.workload, entity, number, result, device)


def gpu_task(node: Node, target: GpuTarget) -> GpuTask | None:
    """The task of one operator; None if there is nothing to choose."""
    workload = gpu_workload(node)
    return None if workload is None else GpuTask(workload, target, 1, (node.name,))


def gpu_tasks(graph: Graph, target: GpuTarget) -> tuple[GpuTask, ...]:
    """The distinct tasks of a network, in the order of their first use, with the number of uses as weight."""
    uses = uses_of(graph, gpu_workload).items()
    tasks = (GpuTask(workload, target, len(nodes), tuple(node.name for node in nodes)) for workload, nodes in uses)
    return tuple(task for task in tasks if task.has_choice)


def model_tiles(task: GpuTask, count: int = 12) -> Iterable[GpuChoice]:
    """The tiles that the model ranks best: hints for `tune`."""
    if task.workload.name == DENSE_FEW:
        return best_splits(task.tiled, task.target.limits, count)
    return best_tiles(task.tiled, task.target.limits, count)
