"""Makes first convolutions of few channels fill their blocks: the host hands over windows, or parts of them, as channels.

A block of input channels holds 16 values, and an image three. The products of a convolution that reads it are mostly with
zeros. If the columns under a window become channels, a 3x3 convolution of three channels takes 3 products for each output in
place of 9.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant, rewrite
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.fused_operator import view_source
from vta.partition.fused.support_rules import broken_rule
from vta.support.dataclass import dataclass

__all__ = ["gather_windows"]

_OTHER_PASSES = 6
"""Passes over a row of results besides its products, about."""
_TRAFFIC_WEIGHT = 1 / 16
"""Of a cycle of transfers that computing hides."""


def gather_windows(graph: Graph, hw: HardwareConfig) -> Graph:
    """Return the graph with windows gathered on the host before each convolution that reads a value of the host, where it pays.

    It pays if fewer cycles are estimated. The graph computes what it did.
    """
    candidates = [node for node in graph.calls() if _may_gather(node, hw)]
    if not candidates:
        return graph
    found, _ = find_fused_operators(graph)
    # The operators of the candidates, and those that store what they read.
    near = {*candidates, *(view_source(node.inputs[0]) for node in candidates)}
    asked = (fused for fused in found.values() if fused.anchor in near or fused.result in near)
    fused_operators = [fused for fused in asked if broken_rule(fused, hw) is None]
    stored = {fused.result for fused in fused_operators}
    roots = {fused.anchor for fused in fused_operators}
    changes = {
        node: choice
        for node in candidates
        if node in roots and view_source(node.inputs[0]) not in stored and (choice := _best(node, hw)).gathers
    }
    if not changes:
        return graph
    by_name = {(node.name, node.inputs[1]): choice for node, choice in changes.items()}

    def change(node: Node) -> Node:
        choice = by_name.get((node.name, node.inputs[1])) if node.op == ops.CONV2D else None
        return node if choice is None else _gathered(node, choice)

    return rewrite(graph, change)


@dataclass(frozen=True)
class _Choice:
    """Which extents of the kernel become channels."""

    rows: int
    columns: int

    @property
    def gathers(self) -> bool:
        return self.rows * self.columns > 1


def _may_gather(node: Node, hw: HardwareConfig) -> bool:
    if node.op != ops.CONV2D or attrs_of(node, Conv2DAttributes).groups != 1 or node.inputs[1].value is None:
        return False
    channels, kernel = node.inputs[1].shape[1], node.inputs[1].shape[2:]
    return node.inputs[0].dtype == "int8" and channels < hw.block and prod(kernel) > 1


def _best(node: Node, hw: HardwareConfig) -> _Choice:
    kernel = node.inputs[1].shape[2:]
    choices = [_Choice(rows, columns) for rows in {1: 0, kernel[0]: 0} for columns in {1: 0, kernel[1]: 0}]
    return min(choices, key=lambda choice: _cycles(node, choice, hw))


def _cycles(node: Node, choice: _Choice, hw: HardwareConfig) -> float:
    """An estimate: products and other passes against the input's transfers, and those themselves."""
    batch, out_channels, out_height, out_width = node.shape
    _, channels, height, width = node.inputs[0].shape
    kernel = node.inputs[1].shape[2:]
    blocks = -(-channels * choice.rows * choice.columns // hw.block)
    products = blocks * (kernel[0] // choice.rows) * (kernel[1] // choice.columns)
    rows = -(-batch // hw.batch) * -(-out_channels // hw.block) * out_height * out_width
    positions = (out_height if choice.rows > 1 else height) * (out_width if choice.columns > 1 else width)
    beat = hw.platform.bus_bytes
    transfers = -(-batch // hw.batch) * blocks * positions * hw.elem_bytes(MemoryType.INP) / beat
    return max(rows * (products + _OTHER_PASSES), transfers) + transfers * _TRAFFIC_WEIGHT


def _gathered(node: Node, choice: _Choice) -> Node:
    """The convolution of the gathered windows."""
    data, weight = node.inputs
    attrs = attrs_of(node, Conv2DAttributes)
    assert weight.value is not None
    top, left, bottom, right = attrs.padding
    by_row, by_column = choice.rows > 1, choice.columns > 1
    windows = call(
        ops.WINDOWS,
        [data],
        node.name,
        kernel=(choice.rows, choice.columns),
        strides=(attrs.strides[0] if by_row else 1, attrs.strides[1] if by_column else 1),
        padding=(top * by_row, left * by_column, bottom * by_row, right * by_column),
        dilation=(attrs.dilation[0] if by_row else 1, attrs.dilation[1] if by_column else 1),
    )
    outputs, channels, height, width = weight.shape
    parts = weight.value.reshape(outputs, channels, height // choice.rows, choice.rows, width // choice.columns, choice.columns)
    matrix = parts.transpose(0, 3, 5, 1, 2, 4).reshape(outputs, -1, height // choice.rows, width // choice.columns)
    geometry = replace(
        attrs,
        strides=(1 if by_row else attrs.strides[0], 1 if by_column else attrs.strides[1]),
        padding=(top * (not by_row), left * (not by_column), bottom * (not by_row), right * (not by_column)),
        dilation=(1 if by_row else attrs.dilation[0], 1 if by_column else attrs.dilation[1]),
    )
    return call(ops.CONV2D, [windows, constant(matrix, weight.name)], node.name, **vars(geometry))
