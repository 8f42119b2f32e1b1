"""Search tasks of a processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.autotune.auto.cpu.machine import CpuMachine
from vta.autotune.auto.sketch import Choice
from vta.autotune.auto.task import AutoTask, distinct_tasks, task_of_group
from vta.host.engine import default_kernel, host_groups, open_kernel
from vta.host.kernels.by_element.checked import is_checked
from vta.host.kernels.group import Group
from vta.host.kernels.products.convolution_shape import ConvolutionShape, TileSource, convolution_shape, has_tile
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.loop.compute import Kernel
from vta.host.processors import CpuTarget
from vta.ir.graph import Graph, Node

__all__ = ["cpu_tasks"]

_HINTS = 4
_FRAME = "prepared"
"""The stage that puts data into a border."""


def cpu_tasks(
    graph: Graph, calls: Sequence[Node], kept: Sequence[Node], machine: CpuMachine, tiles: TileSource | None = None
) -> tuple[AutoTask, ...]:
    """The distinct kernels of the operators `calls` of a graph, in the order of their first use.

    `kept` and `tiles` are as for `vta.host.engine.describe_host`.
    """
    target = machine.target
    found, layouts = host_groups(graph, calls, kept, target)
    groups = [group for group in found if not group.procedure and not any(map(is_checked, group.nodes))]

    def task_of(group: Group) -> AutoTask:
        kernel, default = open_kernel(group, layouts, target), default_kernel(group, layouts, target, tiles)
        return task_of_group(group, machine, kernel, default, _hints(group, layouts, target, kernel.kernel))

    return distinct_tasks(groups, lambda group: open_kernel(group, layouts, target).kernel, task_of)


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
