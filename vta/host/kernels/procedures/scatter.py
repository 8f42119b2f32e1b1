"""Values put at computed positions, one after the other: of two for one place the last one counts, or both are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from typing import cast as typed

from vta.host.kernels.by_element.checked import counted_from_front
from vta.host.kernels.procedures.procedure import Procedure
from vta.host.kernels.procedures.statements import Writer, put
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, index, load
from vta.host.loop.nest import Function, Statement, Store
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import ScatterElementsAttributes, ScatterNdAttributes

__all__ = ["scatter_elements", "scatter_nd"]

_Combine = Literal["add", "mul", "min", "max"]


def scatter_elements(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """Values put at positions along one axis."""
    attrs = attrs_of(node, ScatterElementsAttributes)
    data, indices, updates = inputs
    axis = attrs.axis % len(data.shape)
    result = Buffer("result", node.shape, node.dtype)

    def one(places: list[Expr]) -> list[Statement]:
        found = counted_from_front(load(indices, places), data.shape[axis])
        to = [found if at == axis else place for at, place in enumerate(places)]
        return [_put(result, to, load(updates, places), attrs.reduction)]

    writer = Writer()
    return _after_copy(writer, data, result, writer.over(indices.shape, one, shared=False))


def scatter_nd(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """Values, or slices, put at rows of coordinates."""
    attrs = attrs_of(node, ScatterNdAttributes)
    data, indices, updates = inputs
    *rows, depth = indices.shape
    result = Buffer("result", node.shape, node.dtype)
    writer = Writer()

    def one(places: list[Expr]) -> list[Statement]:
        row, inner = places[: len(rows)], places[len(rows) :]
        to = [counted_from_front(load(indices, [*row, index(at)]), data.shape[at]) for at in range(depth)]
        return [_put(result, [*to, *inner], load(updates, places), attrs.reduction)]

    return _after_copy(writer, data, result, writer.over((*rows, *data.shape[depth:]), one, shared=False))


def _after_copy(writer: Writer, data: Buffer, result: Buffer, body: Statement) -> Procedure:
    copy = writer.over(data.shape, lambda places: [put(result, places, load(data, places))], shared=True)
    functions = (Function("copy", copy, ()), Function("scatter", body, ()))
    return Procedure(functions, (), result)


def _put(result: Buffer, places: Sequence[Expr], value: Expr, reduction: str) -> Store:
    return Store(result, tuple(places), value, None if reduction == "none" else typed(_Combine, reduction))
