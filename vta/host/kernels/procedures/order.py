"""The positions of the largest or smallest values in order, by sorting."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from vta.host.kernels.procedures.procedure import MOST_WORKSPACE_BYTES, Procedure
from vta.host.kernels.procedures.sorting import Sorter
from vta.host.kernels.procedures.statements import Writer, put
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, binary, cast, index, load
from vta.host.loop.nest import Function, Statement
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import TopKAttributes

__all__ = ["sorted_top_k"]


def sorted_top_k(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """`top_k`: of equal values the first comes first, and NaN last."""
    attrs = attrs_of(node, TopKAttributes)
    (data,) = inputs
    axis = attrs.axis % len(data.shape)
    count = data.shape[axis]
    others = [size for at, size in enumerate(data.shape) if at != axis]
    rows = prod(others)
    sorter = Sorter.make("order", rows, count, data.dtype)
    shared = sum(buffer.nbytes for buffer in sorter.workspace) <= MOST_WORKSPACE_BYTES
    if not shared:
        sorter = Sorter.make("order", 1, count, data.dtype)
    result = Buffer("result", node.shape, "int64")
    writer = Writer()

    def sorted_row(places: list[Expr]) -> list[Statement]:
        row = _number(places, others) if shared else index(0)

        def of(place: Expr) -> tuple[Expr, ...]:
            return (*places[:axis], place, *places[axis:])

        return [
            writer.loop(count, lambda at: sorter.put(row, at, load(data, of(at)), at, attrs.largest)),
            sorter.sort(writer, row),
            writer.loop(attrs.k, lambda at: [put(result, of(at), cast(load(sorter.sorted_places, (row, at)), "int64"))]),
        ]

    body = writer.over(others, sorted_row, shared)
    return Procedure((Function("order", body, sorter.local),), sorter.workspace, result)


def _number(places: Sequence[Expr], sizes: Sequence[int]) -> Expr:
    """Which of all positions one is."""
    total: Expr = index(0)
    for place, size in zip(places, sizes, strict=True):
        total = binary("add", binary("mul", total, index(size)), place)
    return total
