"""A kernel from a few operators of a graph: at most one reduction, and what is computed element by element around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.convolution import Anchor, convolution, dense, is_depthwise
from vta.host.kernels.elementwise import elementwise
from vta.host.kernels.pooling import POOLS, pooling
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Coordinate, Layout, Point, Value, blocked_coordinate, plain_point, stored, stored_shape
from vta.host.llvm.target import CpuTarget
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Kernel, Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, loads, select, walk
from vta.host.loop.interpret import is_zero_of_zeros
from vta.host.loop.schedule import ComputeAt, Fuse, Parallel, Reorder, Split, Step, Transpose, Unroll, Vectorize
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn_conv import Conv2DAttributes
from vta.support.dataclass import dataclass

__all__ = ["Group", "GroupKernel", "build_kernel", "is_anchor"]

Array = NDArray[Any]
_IMAGE_RANK = 5
"""Dimensions of an image in blocks."""


@dataclass(frozen=True)
class Group:
    """Operators that become one kernel."""

    nodes: tuple[Node, ...]
    """In order; the last one is what the kernel gives."""
    anchor: Node | None = None

    @property
    def result(self) -> Node:
        """The value that the kernel gives."""
        return self.nodes[-1]

    def inputs(self) -> list[Node]:
        """Values that come from outside, constants left out."""
        inside = set(self.nodes)
        found = dict.fromkeys(source for node in self.nodes for source in node.inputs if source not in inside)
        return [node for node in found if node.op != ops.CONSTANT]


@dataclass(frozen=True)
class GroupKernel:
    """A kernel with its schedule, and where its inputs come from."""

    kernel: Kernel
    steps: tuple[Step, ...]
    sources: tuple[Node, ...]
    """Values of the kernel's first inputs."""
    constants: tuple[Array, ...]
    """Of the others."""


def is_anchor(node: Node) -> bool:
    """Whether an operator is a reduction that kernels are built around."""
    if node.dtype != "float32" or any(item.dtype != "float32" for item in node.inputs):
        return False
    if node.op in (ops.CONV2D, ops.DENSE):
        whole = node.op == ops.DENSE or attrs_of(node, Conv2DAttributes).groups == 1 or is_depthwise(node)
        return node.inputs[1].op == ops.CONSTANT and whole
    return node.op in POOLS


@dataclass
class _Builder:
    """What has been made so far."""

    target: CpuTarget
    lanes: int
    sources: list[Node] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    constants: list[tuple[Buffer, Array]] = field(default_factory=list)

    def constant(self, array: Any) -> Value:
        """A constant as an input: channels filled up to whole vectors, as lanes beyond the last one read them."""
        values = np.asarray(array)
        axis = {1: 0, 3: 0, 4: 1}.get(values.ndim)
        padded = values
        if axis is not None and values.shape[axis] > 1:
            more = -values.shape[axis] % self.lanes
            padded = np.pad(values, [(0, more if at == axis else 0) for at in range(values.ndim)])
        buffer = Buffer(f"constant{len(self.constants)}", padded.shape, values.dtype.name)
        self.constants.append((buffer, np.ascontiguousarray(padded)))
        return Value(values.shape, buffer.dtype, stored(buffer, padded.shape, Layout()).at)

    def source(self, node: Node, layout: Layout) -> Value:
        """A value from outside."""
        if node.op == ops.CONSTANT and node.value is not None:
            return _scalar(node) if node.value.size == 1 else self.constant(node.value)
        buffer = Buffer(f"input{len(self.sources)}", stored_shape(node.shape, layout), node.dtype)
        self.sources.append(node)
        self.buffers.append(buffer)
        return stored(buffer, node.shape, layout)


def _scalar(node: Node) -> Value:
    assert node.value is not None
    number = const(node.value.item(), node.dtype)
    return Value(node.shape, node.dtype, lambda point: number)


def build_kernel(
    group: Group, layouts: Mapping[Node, Layout], target: CpuTarget, name: str = "kernel", tile: Tile | None = None
) -> GroupKernel:
    """Return the kernel of a group; `layouts` says how its inputs and its result lie in memory, plain where nothing is said."""
    builder = _Builder(target, target.lanes(4))
    values: dict[Node, Value] = {}
    anchor: Anchor | None = None
    for node in group.nodes:
        inputs = [
            _input(source, values, builder, layouts, node is group.anchor and at > 0) for at, source in enumerate(node.inputs)
        ]
        if node is group.anchor:
            layout = layouts.get(node.inputs[0], Layout()) if node.inputs[0] not in group.nodes else Layout()
            anchor = _anchor(node, inputs, layout, builder, tile)
            values[node] = anchor.value
        else:
            values[node] = elementwise(node, [item for item in inputs if item is not None], builder.constant)
    result, layout = group.result, layouts.get(group.result, Layout())
    last, steps = _last_stages(values[result], result, layout, builder, anchor)
    stages = (*(anchor.stages if anchor else ()), *last)
    constants = (*builder.constants, *(anchor.constants if anchor else ()))
    kernel = Kernel(name, (*builder.buffers, *(buffer for buffer, _ in constants)), stages)
    before = anchor.steps if anchor else ()
    return GroupKernel(kernel, (*before, *steps), tuple(builder.sources), tuple(array for _, array in constants))


def _input(
    node: Node, values: dict[Node, Value], builder: _Builder, layouts: Mapping[Node, Layout], is_weight: bool
) -> Value | None:
    """The value of an operator's input; weights are laid out by the anchor."""
    if is_weight:
        return None
    if node not in values:
        values[node] = builder.source(node, layouts.get(node, Layout()))
    return values[node]


def _anchor(node: Node, inputs: Sequence[Value | None], layout: Layout, builder: _Builder, tile: Tile | None) -> Anchor:
    data = inputs[0]
    assert data is not None
    if node.op in POOLS:
        return pooling(node, data, layout, builder.constant, builder.target)
    weight = node.inputs[1].value
    assert weight is not None
    if node.op == ops.DENSE:
        return dense(node, data, weight, builder.target, tile)
    return convolution(node, data, layout, weight, builder.target, tile)


def _last_stages(
    value: Value, node: Node, layout: Layout, builder: _Builder, anchor: Anchor | None
) -> tuple[tuple[Stage, ...], tuple[Step, ...]]:
    """The stages that store the result, with the loops around everything."""
    if anchor is None and not layout.block:
        axes = axes_of({f"a{at}": extent for at, extent in enumerate(node.shape)})
        buffer = Buffer("result", node.shape, node.dtype)
        return (Stage(buffer, axes, value.at(plain_point([axis.var for axis in axes]))),), _plain_steps(axes, builder.lanes)
    block = Layout(builder.lanes)
    shape = stored_shape(node.shape, block)
    axes = axes_of(dict(zip("noyxc" if len(shape) == _IMAGE_RANK else "noc", shape, strict=True)))
    point = _blocked_point(axes, block.block)
    buffer = Buffer("result" if layout.block else "blocks", shape, node.dtype)
    first = Stage(buffer, axes, _masked(value.at(point), point, node, block.block))
    steps = _blocked_steps(buffer.name, axes, anchor)
    if layout.block:
        return (first,), steps
    axes = axes_of({f"a{at}": extent for at, extent in enumerate(node.shape)})
    steps += _unblocking_steps(len(node.shape), block.block)
    held = stored(buffer, node.shape, block)
    plain = Stage(Buffer("result", node.shape, node.dtype), axes, held.at(plain_point([axis.var for axis in axes])))
    return (first, plain), steps


def _blocked_steps(name: str, axes: Sequence[Axis], anchor: Anchor | None) -> tuple[Step, ...]:
    """Threads share blocks and rows; a tile of columns and blocks is computed at a time."""
    image = len(axes) == _IMAGE_RANK
    if anchor is None:
        return (Fuse(name, "n", "o", "no"), Fuse(name, "no", "y", "noy"), Parallel(name, "noy"), Vectorize(name, "c"))
    steps: list[Step] = []
    blocks = min(anchor.tile.blocks, axes[1].extent)
    steps.append(Split(name, "o", blocks, "oo", "oi"))
    if image:
        steps.append(Split(name, "x", min(anchor.tile.columns, axes[3].extent), "xo", "xi"))
        steps.append(Reorder(name, ("n", "oo", "y", "xo", "xi", "oi", "c")))
    else:
        steps.append(Reorder(name, ("n", "oo", "oi", "c")))
    steps += [Unroll(name, "oi"), Vectorize(name, "c"), ComputeAt(anchor.sums, name, "xo" if image else "oo")]
    if image:
        steps.append(Unroll(name, "xi"))
    if axes[1].extent % blocks == 0:
        steps += [
            Fuse(name, "n", "oo", "noo"),
            *([Fuse(name, "noo", "y", "nooy")] if image else []),
            Parallel(name, "nooy" if image else "noo"),
        ]
        if not image:
            steps = [replace(step, loop="noo") if isinstance(step, ComputeAt) else step for step in steps]
            steps.sort(key=lambda step: isinstance(step, ComputeAt))
    return tuple(steps)


def _unblocking_steps(rank: int, block: int) -> tuple[Step, ...]:
    """A block of channels after the other, as many columns at a time as a vector holds."""
    split = Split("result", "a1", block, "a1o", "a1i")
    if rank != len("nchw"):
        return (split, Vectorize("result", "a1i"))
    return (
        split,
        Split("result", "a3", block, "a3o", "a3i"),
        Reorder("result", ("a0", "a1o", "a2", "a3o", "a1i", "a3i")),
        Transpose("result", "a1i"),
        Vectorize("result", "a3i"),
    )


def _plain_steps(axes: Sequence[Axis], lanes: int) -> tuple[Step, ...]:
    if not axes:
        return ()
    last = axes[-1].name
    return (Split("result", last, lanes, f"{last}o", f"{last}i"), Vectorize("result", f"{last}i"))


def _blocked_point(axes: Sequence[Axis], block: int) -> Point:
    n, o, *rest, c = (axis.var for axis in axes)
    return (Coordinate(n), blocked_coordinate(o, c, block), *(Coordinate(item) for item in rest))


def _masked(value: Expr, point: Point, node: Node, block: int) -> Expr:
    """Zeros in the lanes beyond the last channel; these are there anyway where zeros of the same lanes give zero."""
    channels = node.shape[1]
    own = all(point[1].lane in [part for place in item.indices for part in walk(place)] for item in loads(value))
    if channels % block == 0 or (own and is_zero_of_zeros(value)):
        return value
    return select(binary("lt", point[1].whole, index(channels)), value, const(0, node.dtype))
