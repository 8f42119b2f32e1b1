"""Kernels for GPUs from groups of operators."""

from __future__ import annotations

from vta.host.gpu.anchors import TiledAnchor, gpu_anchor
from vta.host.gpu.schedule import is_thin, kernel_steps
from vta.host.gpu.splitting import GpuChoice, GpuSplit, default_split, split_choices
from vta.host.gpu.tiles import best_tiles, tile_fits
from vta.host.gpu.tiling import TiledSums
from vta.host.kernels.group import Group, GroupKernel, traced_group
from vta.host.kernels.values import Coordinate, Point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Stage, axes_of
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import index
from vta.host.loop.grid import GridLimits
from vta.host.processors import CpuTarget
from vta.ir.graph import Node

__all__ = ["build_gpu_kernel", "tiled_sums"]

_SCALAR = CpuTarget(triple="", cpu="", features="", vector_bytes=4, vector_registers=16, has_vnni=False)
"""What kernels are described for: blocks of one channel."""


def build_gpu_kernel(group: Group, limits: GridLimits, tile: GpuChoice | None = None, name: str = "kernel") -> GroupKernel:
    """Return the kernel of a group, all of whose values lie row by row. `tile` overrules the choice for its sums, if it fits."""
    traced = traced_group(group, {}, _SCALAR, gpu_anchor)
    node = group.result
    axes = axes_of({f"a{at}": extent for at, extent in enumerate(node.shape)})
    result = Stage(Buffer("result", node.shape, node.dtype), axes, traced.value.at(_point(axes)))
    plain = traced.kernel(name, (result,), ())
    tiled = traced.anchor.tiled if isinstance(traced.anchor, TiledAnchor) else None
    if tiled is not None and tile is not None and not _fits(tiled, tile, limits):
        tile = None
    if tiled is not None and tile is None and is_thin(tiled.sums):
        tile = default_split(tiled, limits)
        tiled = None if tile is None else tiled
    if tiled is not None and node.shape != tiled.sums.output.shape:
        tiled = None
    chosen = None if tiled is None else tile or best_tiles(tiled, limits, 1)[0]
    return traced.kernel(name, (result,), kernel_steps(plain.kernel, limits, tiled, chosen))


def _fits(tiled: TiledSums, tile: GpuChoice, limits: GridLimits) -> bool:
    if isinstance(tile, GpuSplit):
        return tile.parts in split_choices(tiled, limits)
    return tile_fits(tiled, tile, limits)


def tiled_sums(node: Node) -> TiledSums:
    """What is tiled of an operator's kernel; raises `LoopError` if that has no tile."""
    anchor = traced_group(Group((node,), node), {}, _SCALAR, gpu_anchor).anchor
    if not isinstance(anchor, TiledAnchor) or anchor.tiled is None:
        raise LoopError(f"{node.op}: its kernel has no tile")
    return anchor.tiled


def _point(axes: tuple[Axis, ...]) -> Point:
    """A place in the result, whose channels are blocks of one."""
    point = [Coordinate(axis.var) for axis in axes]
    if len(axes) > 1:
        point[1] = Coordinate(axes[1].var, axes[1].var, index(0), 1)
    return tuple(point)
