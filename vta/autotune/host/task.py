"""Tasks of the host: the distinct convolutions of a network, each with the tiles that its kernel can have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.autotune.host.space import TileSpace
from vta.autotune.tunable import layers_text, uses_of
from vta.host.kernels.products.convolution_shape import ConvolutionShape, convolution_shape
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.processors import CpuTarget
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.records.host.knobs import entity_of_tile, tile_of
from vta.records.host.target import matches, target_text
from vta.records.host.workload import host_workload
from vta.records.measurement import Measurement
from vta.records.record import Record, kernel_record
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["HOST_DEVICE", "HostTask", "data_layout", "host_tasks", "model_tiles"]

HOST_DEVICE = "llvm"
"""What records say where kernels of the host were measured."""
_PEAK_HZ = 4e9
_PRODUCTS_A_CYCLE = 2
_ITEM_BYTES = 4


@dataclass(frozen=True, eq=False)
class HostTask:
    """A convolution on a processor."""

    workload: Workload
    target: CpuTarget
    text: str
    """The target, as records write it."""
    node: Node
    weight: int = 1
    """How often the network has it."""
    layers: tuple[str, ...] = ()

    @cached_property
    def shape(self) -> ConvolutionShape:
        """What its tiles depend on."""
        return convolution_shape(self.node, data_layout(self.node, self.target), self.target)

    @cached_property
    def space(self) -> TileSpace:
        """The tiles to choose from."""
        return TileSpace(self.shape, self.target)

    @property
    def name(self) -> str:
        """A short name of the workload."""
        return self.workload.identity

    @property
    def label(self) -> str:
        """The layers that it is for, to be shown."""
        return layers_text(self.layers, self.name)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run."""
        return macs_of(self.node)

    @property
    def least_seconds(self) -> float:
        """With two vectors of products in each cycle, at a clock that few processors have."""
        return self.macs / (_PRODUCTS_A_CYCLE * self.target.lanes(_ITEM_BYTES) * _PEAK_HZ)

    def default(self) -> Tile:
        """The tile that the model ranks first."""
        return self.shape.default_tile(self.target)

    def features(self, kind: str, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `TileSpace.features`."""
        return self.space.features(kind, numbers)

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this workload and processor."""
        return record.workload == self.workload and matches(record.target, self.target)

    def schedule_of(self, record: Record) -> Tile:
        """The tile of a record. Raises `TuningError` naming the knob that does not fit."""
        return tile_of(record.entity, self.shape, self.target)

    def record(self, schedule: Tile, number: int, result: Measurement, device: str) -> Record:
        """The record of a trial."""
        entity = entity_of_tile(schedule, self.shape, self.target)
        return kernel_record(self.text, self.workload, entity, number, result, device)


def host_tasks(graph: Graph, target: CpuTarget, text: str = "") -> tuple[HostTask, ...]:
    """The distinct convolutions of a float network, in the order of their first use, with the number of uses as weight."""
    words = text or target_text(target)
    return tuple(
        HostTask(workload, target, words, nodes[0], len(nodes), tuple(node.name for node in nodes))
        for workload, nodes in uses_of(graph, host_workload).items()
    )


def data_layout(node: Node, target: CpuTarget) -> Layout:
    """How the data of a convolution lies in the middle of a network: in blocks, if it fills one."""
    lanes = target.lanes(_ITEM_BYTES)
    return Layout(lanes if node.inputs[0].shape[1] >= lanes else 0)


def model_tiles(task: HostTask, count: int = 6) -> Iterable[Tile]:
    """The tiles that the model ranks best: hints for `tune`."""
    return task.shape.best_tiles(task.target, count)
