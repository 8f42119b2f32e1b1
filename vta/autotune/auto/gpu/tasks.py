"""Search tasks of a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.matrices import TENSOR
from vta.autotune.auto.sketch import Choice
from vta.autotune.auto.task import AutoTask, distinct_tasks, task_of_group
from vta.host.gpu.build import build_gpu_kernel, tiled_sums
from vta.host.gpu.engine import GpuTileSource
from vta.host.gpu.schedule import is_thin
from vta.host.gpu.splitting import GpuChoice, GpuSplit, best_splits, block_columns
from vta.host.gpu.tiles import best_tiles
from vta.host.gpu.tiling import TiledSums
from vta.host.groups import find_groups
from vta.host.kernels.group import Group
from vta.host.loop.compute import Axis, Kernel
from vta.host.loop.errors import LoopError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, graph_input

__all__ = ["gpu_auto_tasks", "group_graph"]

_HINTS = 6


def gpu_auto_tasks(
    graph: Graph, calls: Sequence[Node], kept: Sequence[Node], machine: GpuMachine, tiles: GpuTileSource | None = None
) -> tuple[AutoTask, ...]:
    """The distinct kernels of the operators `calls` of a graph, in the order of their first use.

    `kept` and `tiles` are as for `vta.host.gpu.engine.describe_gpu`.
    """
    limits = machine.target.limits

    def task_of(group: Group) -> AutoTask:
        tile = None if tiles is None or group.anchor is None else tiles(group.anchor)
        kernel = build_gpu_kernel(group, limits, tile)
        hints = _hints(group, kernel.kernel, machine, tile)
        return task_of_group(group, machine, kernel, kernel, hints, group_graph(group))

    return distinct_tasks(
        find_groups(calls, graph.users(), kept, procedures=False), lambda group: build_gpu_kernel(group, limits).kernel, task_of
    )


def group_graph(group: Group) -> Graph:
    """The operators of a group as a network of their own."""
    made: dict[Node, Node] = {node: graph_input(f"value{at}", node.shape, node.dtype) for at, node in enumerate(group.inputs())}
    inputs = tuple(made.values())
    for node in group.nodes:
        made[node] = replace(node, inputs=tuple(item if item.op == ops.CONSTANT else made[item] for item in node.inputs))
    return Graph(inputs, (made[group.result],), "task")


def _hints(group: Group, kernel: Kernel, machine: GpuMachine, tile: GpuChoice | None) -> tuple[Mapping[str, Choice], ...]:
    """The tile of records, and those that the model of templates ranks first."""
    try:
        sums = None if group.anchor is None else tiled_sums(group.anchor)
    except LoopError:
        sums = None
    if sums is None:
        return ()
    limits = machine.target.limits
    best: Sequence[GpuChoice] = best_splits(sums, limits, _HINTS) if is_thin(sums.sums) else best_tiles(sums, limits, _HINTS)
    return tuple(_hint(item, kernel.stages[-1].axes, sums) for item in ([tile] if tile is not None else []) + [*best])


def _hint(tile: GpuChoice, axes: Sequence[Axis], tiled: TiledSums) -> Mapping[str, Choice]:
    """A tile, or split, as choices for axes of more than one value."""
    found: dict[str, Choice] = {}
    if isinstance(tile, GpuSplit):
        (axis,) = tiled.sums.reduce
        return {"part": (axis.name, axis.extent // tile.parts), "columns": block_columns(tiled.sums)}
    for axis, cut in zip(axes[-len(tile.spatial) :], tile.spatial, strict=True):
        if axis.extent > 1:
            found |= {f"virtual.{axis.name}": cut.virtual, f"threads.{axis.name}": cut.threads, f"inner.{axis.name}": cut.inner}
    extents = {axis.name: axis.extent for axis in tiled.sums.reduce}
    sums = {f"sum.{axis}": count for axis, count in zip(tiled.reduce, tile.reduce, strict=True) if extents[axis] > 1}
    tensor = {TENSOR: tile.parts} if tile.tensor else {}
    return {**found, **sums, **tensor, "unroll": len(sums)} | {f"width.{name}": 4 for name in tiled.vectors}
