"""Reductions over any axes, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from vta.host.kernels.anchor import PlainAnchor, Site
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Combine, Stage, axes_of
from vta.host.loop.expression import Expr, Var, binary, cast, const, index, load, select
from vta.host.loop.steps import Fuse, Parallel, Reorder, Split, Step, Vectorize
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.reduce import ArgAttributes, ReduceAttributes
from vta.support.dataclass import dataclass

__all__ = ["REDUCTIONS", "Reduced", "arg_extreme", "reduced", "reduced_rows", "reduction"]

_VECTORS = (4, 2, 1)
_LATENCY_CYCLES = 4
"""Of one step of a reduction."""
REDUCTIONS: dict[str, Combine] = {ops.SUM: "add", ops.MEAN: "add", ops.PROD: "mul", ops.MAX: "max", ops.MIN: "min"}


@dataclass(frozen=True)
class Reduced:
    """A reduction's value over the axes that stay, each in its place, and the stages that compute it."""

    value: Value
    """The reduced axes have size 1."""
    stages: tuple[Stage, ...]
    steps: tuple[Step, ...]


def reduction(node: Node, site: Site) -> PlainAnchor:
    """One of `REDUCTIONS`."""
    data = site.value(0)
    axes = attrs_of(node, ReduceAttributes).axes(len(data.shape))
    found = reduced("reduced", data, axes, REDUCTIONS[node.op], site.lanes)
    value = found.value
    if node.op == ops.MEAN:
        count = const(prod(data.shape[axis] for axis in axes), data.dtype)
        value = Value(value.shape, value.dtype, lambda point: binary("div", found.value.at(point), count))
    return PlainAnchor(found.stages, _without_axes(value, node.shape, axes), found.steps)


def _without_axes(value: Value, shape: tuple[int, ...], axes: Sequence[int]) -> Value:
    """A value whose axes of size 1 are not there in `shape`."""
    if len(shape) == len(value.shape):
        return value

    def at(point: Point) -> Expr:
        left = iter(point)
        return value.at(tuple(Coordinate(index(0)) if axis in axes else next(left) for axis in range(len(value.shape))))

    return Value(shape, value.dtype, at)


def identity(combine: Combine, dtype: str) -> float:
    """What changes nothing."""
    if combine in ("add", "mul"):
        return 0 if combine == "add" else 1
    if dtype == "bool":
        return combine == "min"
    if dtype.startswith("float"):
        return -np.inf if combine == "max" else np.inf
    limits = np.iinfo(dtype)
    return int(limits.min if combine == "max" else limits.max)


def reduced(name: str, data: Value, axes: Sequence[int], combine: Combine, lanes: int) -> Reduced:
    """Reduce a tensor over axes; `name` is what the stages are called by."""
    rank = len(data.shape)
    if rank - 1 in axes and data.shape[-1] >= lanes:
        return _along_rows(name, data, axes, combine, lanes)
    stage = _stage(name, data, axes, combine, const(identity(combine, data.dtype), data.dtype), data.shape)
    return Reduced(_kept(stage.output, data, axes), (stage,), reduced_rows(stage, lanes))


def _stage(
    name: str, data: Value, axes: Sequence[int], combine: Combine, first: Expr, ends: Sequence[int], start: int = 0
) -> Stage:
    """Reduce positions up to `ends`; those of the last axis are counted from `start`."""
    kept = axes_of({f"k{at}": size for at, size in enumerate(data.shape) if at not in axes})
    gone = axes_of({f"r{at}": size - (start if at == len(ends) - 1 else 0) for at, size in enumerate(ends) if at in axes})
    names = {axis.name: axis.var for axis in (*kept, *gone)}
    places: list[Expr] = [names[f"r{at}" if at in axes else f"k{at}"] for at in range(len(data.shape))]
    if start:
        places[-1] = binary("add", places[-1], index(start))
    output = Buffer(name, tuple(axis.extent for axis in kept), data.dtype)
    return Stage(output, kept, data.at(tuple(map(Coordinate, places))), gone, combine, first)


def _kept(buffer: Buffer, data: Value, axes: Sequence[int]) -> Value:
    shape = tuple(1 if at in axes else size for at, size in enumerate(data.shape))

    def at(point: Point) -> Expr:
        return load(buffer, [place.whole for axis, place in enumerate(point) if axis not in axes])

    return Value(shape, buffer.dtype, at)


def reduced_rows(stage: Stage, lanes: int) -> tuple[Step, ...]:
    """Vectors along the last axis that stays, around which is the reduction; threads share the others."""
    name, kept = stage.name, [axis.name for axis in stage.axes]
    if not kept:
        return ()
    last, gone = kept[-1], [axis.name for axis in stage.reduce]
    outer = kept[:-1]
    steps: tuple[Step, ...] = (
        Split(name, last, lanes, "lo", "li"),
        Reorder(name, (*outer, "lo", *gone, "li")),
        Vectorize(name, "li"),
    )
    return (*steps, *shared_loops(name, outer))


def shared_loops(name: str, loops: Sequence[str]) -> tuple[Step, ...]:
    """Steps that let threads share loops, which are the outermost ones."""
    steps: list[Step] = []
    fused = loops[0] if loops else ""
    for loop in loops[1:]:
        steps.append(Fuse(name, fused, loop, f"{fused}_{loop}"))
        fused = f"{fused}_{loop}"
    return (*steps, Parallel(name, fused)) if loops else ()


def _along_rows(name: str, data: Value, axes: Sequence[int], combine: Combine, lanes: int) -> Reduced:
    """Reduce rows by vectors: each lane by itself, then the lanes, and what is left of a row before them."""
    size = data.shape[-1]
    lanes *= _vectors(size, lanes)
    whole = size - size % lanes
    first: Expr = const(identity(combine, data.dtype), data.dtype)
    stages: list[Stage] = []
    steps: list[Step] = []
    kept = axes_of({f"k{at}": extent for at, extent in enumerate(data.shape) if at not in axes})
    places = [axis.var for axis in kept]
    if whole < size:
        rest = _stage(f"{name}_rest", data, axes, combine, first, data.shape, whole)
        stages.append(rest)
        steps += shared_loops(rest.name, [axis.name for axis in kept])
    lane = Axis("lane", lanes)
    gone = axes_of({f"r{at}": extent for at, extent in enumerate(data.shape[:-1]) if at in axes} | {"row": whole // lanes})
    names = {axis.name: axis.var for axis in (*kept, *gone)}
    point = [Coordinate(names[f"r{at}" if at in axes else f"k{at}"]) for at in range(len(data.shape) - 1)]
    last = Coordinate(binary("add", binary("mul", Var("row"), index(lanes)), lane.var))
    parts = Buffer(f"{name}_lanes", (*(axis.extent for axis in kept), lanes), data.dtype)
    stages.append(Stage(parts, (*kept, lane), data.at((*point, last)), gone, combine, first))
    steps += (
        Reorder(parts.name, (*(axis.name for axis in kept), *(axis.name for axis in gone), "lane")),
        Vectorize(parts.name, "lane"),
        *shared_loops(parts.name, [axis.name for axis in kept]),
    )
    halved, halving = _halved(name, parts, kept, combine)
    source = halved[-1].output if halved else parts
    lanes_left = Axis("lane", source.shape[-1])
    start = load(stages[0].output, places) if whole < size else first
    total = Buffer(name, tuple(axis.extent for axis in kept), data.dtype)
    stages += [*halved, Stage(total, kept, load(source, [*places, lanes_left.var]), (lanes_left,), combine, start)]
    steps += [*halving, *shared_loops(total.name, [axis.name for axis in kept])]
    return Reduced(_kept(total, data, axes), tuple(stages), tuple(steps))


def _vectors(size: int, lanes: int) -> int:
    """Vectors of a row that are reduced side by side: so many that they need not wait for each other, and little is left over."""

    def cycles(count: int) -> int:
        together, left = divmod(size, count * lanes)
        return together * max(count, _LATENCY_CYCLES) + left * _LATENCY_CYCLES

    fitting = [count for count in _VECTORS if size >= count * lanes and lanes > 1]
    return min(fitting, key=cycles, default=1)


def _halved(name: str, parts: Buffer, kept: Sequence[Axis], combine: Combine) -> tuple[list[Stage], list[Step]]:
    """Combine the one half of some lanes with the other, until one is left: one by one each would wait for the last."""
    stages: list[Stage] = []
    steps: list[Step] = []
    source, places = parts, [axis.var for axis in kept]
    while (width := source.shape[-1] // 2) > 0 and source.shape[-1] % 2 == 0:
        lane = Axis("lane", width)
        low, high = (load(source, [*places, binary("add", lane.var, index(start))]) for start in (0, width))
        stage = Stage(
            Buffer(f"{name}_{width}", (*source.shape[:-1], width), source.dtype), (*kept, lane), binary(combine, low, high)
        )
        stages.append(stage)
        steps += (Vectorize(stage.name, "lane"), *shared_loops(stage.name, [axis.name for axis in kept]))
        source = stage.output
    return stages, steps


def arg_extreme(node: Node, site: Site) -> PlainAnchor:
    """The position of the largest or smallest value along an axis; NaN counts as either."""
    attrs = attrs_of(node, ArgAttributes)
    data = site.value(0)
    axis = attrs.axis % len(data.shape)
    extreme = reduced("extreme", data, [axis], "max" if node.op == ops.ARGMAX else "min", site.lanes)
    size = data.shape[axis]

    def at(point: Point) -> Expr:
        value = data.at(point)
        most = extreme.value.at((*point[:axis], Coordinate(index(0)), *point[axis + 1 :]))
        none = select(binary("eq", value, value), const(False, "bool"), const(True, "bool"))
        found = binary("or", binary("eq", value, most), none)
        return select(found, cast(point[axis].whole, "int64"), const(-1 if attrs.select_last else size, "int64"))

    places = Value(data.shape, "int64", at)
    combine: Combine = "max" if attrs.select_last else "min"
    stage = _stage("place", places, [axis], combine, const(identity(combine, "int64"), "int64"), data.shape)
    value = _without_axes(_kept(stage.output, places, [axis]), node.shape, [axis])
    return PlainAnchor((*extreme.stages, stage), value, extreme.steps)
