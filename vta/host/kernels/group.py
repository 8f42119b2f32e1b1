"""A kernel from a few operators of a graph: at most one reduction, and what is computed element by element around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import AnyAnchor, PlainAnchor, Site
from vta.host.kernels.anchors import build_anchor
from vta.host.kernels.by_element.pointwise import is_elementwise, pointwise_value
from vta.host.kernels.checks import Checks, RangeCheck, checks_of
from vta.host.kernels.results import result_stages
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import PLAIN, Layout, Value, stored, stored_shape
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel, Stage
from vta.host.loop.expression import const
from vta.host.loop.steps import Step
from vta.host.processors import CpuTarget
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["AnchorRule", "Group", "GroupKernel", "TracedGroup", "build_kernel", "traced_group"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Group:
    """Operators that become one kernel."""

    nodes: tuple[Node, ...]
    """In order; the last one is what the kernel gives."""
    anchor: Node | None = None
    procedure: bool = False
    """Whether its one operator is a procedure."""

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
    checks: tuple[RangeCheck, ...] = ()


AnchorRule = Callable[[Node, Site], AnyAnchor]
"""Builds the anchor of a kernel."""


@dataclass(frozen=True)
class TracedGroup:
    """What a group computes, before it is said how its result is stored."""

    value: Value
    anchor: AnyAnchor | None
    sources: tuple[Node, ...]
    buffers: tuple[Buffer, ...]
    """Of the sources."""
    constants: tuple[tuple[Buffer, Array], ...]
    checks: Checks = Checks()

    def kernel(self, name: str, last: Sequence[Stage], steps: Sequence[Step]) -> GroupKernel:
        """The kernel that ends with some stages."""
        inputs = (*self.buffers, *(buffer for buffer, _ in self.constants))
        stages = (*self.checks.stages, *(self.anchor.stages if self.anchor else ()), *last)
        arrays = tuple(array for _, array in self.constants)
        steps = (*self.checks.steps, *steps)
        return GroupKernel(Kernel(name, inputs, stages), steps, self.sources, arrays, self.checks.ranges)


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
        if axis is not None and values.shape[axis] > 1 and (more := -values.shape[axis] % self.lanes):
            padded = np.pad(values, [(0, more if at == axis else 0) for at in range(values.ndim)])
        buffer = Buffer(f"constant{len(self.constants)}", padded.shape, values.dtype.name)
        self.constants.append((buffer, np.ascontiguousarray(padded)))
        return Value(values.shape, buffer.dtype, stored(buffer, padded.shape, PLAIN).at)

    def source(self, node: Node, layout: Layout) -> Value:
        """A value from outside."""
        if node.op == ops.CONSTANT and node.value is not None:
            return _scalar(node) if node.value.size == 1 else self.constant(node.value)
        buffer = Buffer(f"input{len(self.sources)}", stored_shape(node.shape, layout), layout.dtype(node.dtype))
        self.sources.append(node)
        self.buffers.append(buffer)
        return stored(buffer, node.shape, layout)


def _scalar(node: Node) -> Value:
    assert node.value is not None
    number = const(node.value.item(), node.dtype)
    return Value(node.shape, node.dtype, lambda point: number)


def build_kernel(
    group: Group,
    layouts: Mapping[Node, Layout],
    target: CpuTarget,
    name: str = "kernel",
    tile: Tile | None = None,
    rule: AnchorRule = build_anchor,
) -> GroupKernel:
    """Return the kernel of a group; `layouts` says how its inputs and its result lie in memory, plain where nothing is said."""
    traced = traced_group(group, layouts, target, rule, tile)
    traced = _by_rows(traced, group)
    result, layout = group.result, layouts.get(group.result, PLAIN)
    in_blocks = any(layouts.get(node, PLAIN).block for node in group.inputs())
    last, steps = result_stages(traced.value, result, layout, target.lanes(4), traced.anchor, in_blocks)
    return traced.kernel(name, last, (*(traced.anchor.steps if traced.anchor else ()), *steps))


def _by_rows(traced: TracedGroup, group: Group) -> TracedGroup:
    """The group with an anchor that is computed a row at a time, if it has one and what follows it leaves rows as they are."""
    anchor = traced.anchor
    if not isinstance(anchor, PlainAnchor) or anchor.by_row is None:
        return traced
    by_row = replace(anchor.by_row, by_row=anchor.by_row) if _stays(group) else replace(anchor, by_row=None)
    return replace(traced, anchor=by_row)


def traced_group(
    group: Group, layouts: Mapping[Node, Layout], target: CpuTarget, rule: AnchorRule, tile: Tile | None = None
) -> TracedGroup:
    """What a group computes, its anchor built by a rule."""
    builder = _Builder(target, target.lanes(4))
    values: dict[Node, Value] = {}

    def value_of(node: Node) -> Value:
        if node not in values:
            values[node] = builder.source(node, layouts.get(node, PLAIN))
        return values[node]

    anchor: AnyAnchor | None = None
    for node in group.nodes:
        if node is group.anchor:
            anchor = rule(node, _site(group, value_of, layouts, builder, tile))
            values[node] = anchor.value
        else:
            values[node] = pointwise_value(node, [value_of(source) for source in node.inputs], builder.constant)
    constants = (*builder.constants, *(anchor.constants if anchor else ()))
    checks = checks_of(group.nodes, value_of, builder.lanes)
    return TracedGroup(values[group.result], anchor, tuple(builder.sources), tuple(builder.buffers), constants, checks)


def _site(
    group: Group, value_of: Callable[[Node], Value], layouts: Mapping[Node, Layout], builder: _Builder, tile: Tile | None
) -> Site:
    node = group.anchor
    assert node is not None
    layout = layouts.get(node.inputs[0], PLAIN)
    plain = _stays(group) and not any(layouts.get(item, PLAIN).block for item in (group.result, *group.inputs()))
    return Site(lambda at: value_of(node.inputs[at]), layout, builder.constant, builder.target, tile, plain)


def _stays(group: Group) -> bool:
    """Whether what follows the anchor leaves elements at their places."""
    return all(is_elementwise(node) for node in group.nodes if node is not group.anchor)
