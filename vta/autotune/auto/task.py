"""Search tasks: the distinct kernels of a network, each with how often the network has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from vta.autotune.auto.limits import Limits
from vta.autotune.auto.sketch import Choice
from vta.autotune.auto.space import Made, ScheduleSpace
from vta.autotune.auto.structure import operations
from vta.autotune.tunable import layers_text
from vta.errors import TuningError
from vta.host.engine import default_kernel, host_groups, open_kernel
from vta.host.kernels.convolution_shape import ConvolutionShape, TileSource, convolution_shape, has_tile
from vta.host.kernels.group import Group
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_text
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.processors import CpuTarget
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.records.host.schedules import compute_workload
from vta.records.host.steps import DEFAULT_SKETCH, entity_of_steps, sketch_of
from vta.records.host.target import matches, target_text
from vta.records.measurement import Measurement
from vta.records.record import Record
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["AutoTask", "auto_tasks"]

_HINTS = 4
_FRAME = "prepared"
"""The stage that puts data into a border."""
_DIGITS = 6
"""Of the digest in a task's name."""


@dataclass(frozen=True, eq=False)
class AutoTask:
    """A kernel on a processor, whose schedule is searched for."""

    workload: Workload
    kernel: Kernel
    default: Program
    """As the rules of kernels make it."""
    constants: tuple[NDArray[Any], ...]
    """The last inputs."""
    target: CpuTarget
    text: str
    """The target, as records write it."""
    limits: Limits
    operations: int
    """Arithmetic ones of a run."""
    operators: tuple[str, ...]
    weight: int = 1
    """How often the network has it."""
    layers: tuple[str, ...] = ()
    hints: tuple[Mapping[str, Choice], ...] = ()
    """Choices that are known to be good, the best first."""

    @cached_property
    def space(self) -> ScheduleSpace:
        """The schedules to choose from."""
        return ScheduleSpace(self.kernel, self.limits)

    @property
    def name(self) -> str:
        """A short name: what is computed, the shapes, and the first digits of the digest."""
        _, *shapes = self.workload.identity.split(":")
        return ":".join(["+".join(self.operators), shapes[0], shapes[-1], str(self.workload.args[-1])[:_DIGITS]])

    @property
    def label(self) -> str:
        """The layers that it is for, to be shown."""
        return layers_text(self.layers, self.name)

    @property
    def compute(self) -> str:
        """What it computes, as text."""
        return compute_text(self.kernel)

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this kernel and processor."""
        return record.workload == self.workload and matches(record.target, self.target)

    def made_of(self, record: Record) -> Made | None:
        """The schedule of a record; None for the default. Raises `TuningError` where it is not in the space."""
        sketch, choices = sketch_of(record.entity)
        if sketch == DEFAULT_SKETCH:
            return None
        genome = self.space.genome(sketch, choices)
        made = None if genome is None else self.space.make(genome)
        if made is None:
            raise TuningError(f"a schedule by sketch {sketch!r} that this version does not make")
        return made

    def record(self, made: Made | None, result: Measurement, device: str) -> Record:
        """The record of a trial, of the default without `made`."""
        if made is None:
            entity = entity_of_steps(DEFAULT_SKETCH, (), ())
        else:
            entity = entity_of_steps(made.genome.sketch, tuple(self.space.choices(made.genome).items()), made.steps)
        error, seconds, when = int(result.error), result.seconds, result.timestamp
        return Record(self.text, self.workload, entity, -1, result.costs, error, seconds, when, None, device)


def auto_tasks(
    graph: Graph,
    calls: Sequence[Node],
    kept: Sequence[Node],
    target: CpuTarget,
    limits: Limits,
    text: str = "",
    tiles: TileSource | None = None,
) -> tuple[AutoTask, ...]:
    """The distinct kernels of the operators `calls` of a graph, in the order of their first use.

    `kept` and `tiles` are as for `vta.host.engine.describe_host`.
    """
    found: dict[Workload, AutoTask] = {}
    groups, layouts = host_groups(graph, calls, kept, target)
    for group in groups:
        kernel = open_kernel(group, layouts, target)
        workload = compute_workload(kernel.kernel)
        layers = (group.result.name,) if group.anchor is None else (group.anchor.name,)
        if workload in found:
            task = found[workload]
            found[workload] = replace(task, weight=task.weight + 1, layers=(*task.layers, *layers))
            continue
        default = default_kernel(group, layouts, target, tiles)
        program = lower(scheduled(default.kernel, default.steps))
        words = text or target_text(target)
        operators = tuple(node.op.rpartition(".")[2] for node in group.nodes)
        found[workload] = AutoTask(
            workload,
            kernel.kernel,
            program,
            kernel.constants,
            target,
            words,
            limits,
            _operations(group, kernel.kernel),
            operators,
            layers=layers,
            hints=_hints(group, layouts, target, kernel.kernel),
        )
    return tuple(found.values())


def _hints(group: Group, layouts: Mapping[Node, Layout], target: CpuTarget, kernel: Kernel) -> tuple[Mapping[str, Choice], ...]:
    """Convolutions as the tiles make them that the model of kernels ranks first."""
    if group.anchor is None or not has_tile(group.anchor):
        return ()
    shape = convolution_shape(group.anchor, layouts.get(group.anchor.inputs[0], Layout()), target)
    framed: dict[str, Choice] = {}
    if shape.depthwise and any(stage.name == _FRAME for stage in kernel.stages):
        framed = {f"at.{_FRAME}": "shared"}
    return tuple({**_hint(shape, tile), **framed} for tile in shape.best_tiles(target, _HINTS))


def _hint(shape: ConvolutionShape, tile: Tile) -> dict[str, Choice]:
    """A tile as choices for the axes of a convolution, those that have one value left out."""
    sizes = {"o": (shape.blocks, tile.blocks, tile.blocks), "y": (shape.rows, 1, tile.rows)}
    sizes["x"] = (shape.columns, tile.columns, shape.columns)
    found: dict[str, Choice] = {}
    for axis, (count, inner, outer) in sizes.items():
        if count > 1:
            found |= {f"tile.{axis}": inner, f"outer.{axis}": outer}
    found["unroll"] = tile.unrolled
    found["inner"] = tuple(axis for axis in ("y", "x", "o") if sizes[axis][0] > 1)
    return {**found, "part": ("ib", tile.chunk)} if tile.chunk else found


def _operations(group: Group, kernel: Kernel) -> int:
    macs = sum(macs_of(node) for node in group.nodes)
    return 2 * macs if macs else sum(map(operations, kernel.stages))
