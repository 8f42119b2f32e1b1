"""What processors do with whole vectors, beside arithmetic: turning blocks of them, and loading a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

__all__ = ["masked_load", "transposed_vectors"]

_INT = ir.IntType(32)


def transposed_vectors(builder: ir.IRBuilder, rows: Sequence[Any]) -> list[Any]:
    """Return the columns of a matrix of vectors, in log2(n) rounds of interleaving."""
    count = rows[0].type.count
    size = 1 << (max(len(rows), count) - 1).bit_length()
    kind = ir.VectorType(rows[0].type.element, size)
    square = [_lanes(builder, row, range(size)) for row in rows] + [ir.Constant(kind, ir.Undefined)] * (size - len(rows))
    low = [at // 2 + size * (at % 2) for at in range(size)]
    high = [at + size // 2 for at in low]
    for _ in range(size.bit_length() - 1):
        pairs = zip(square[: size // 2], square[size // 2 :], strict=True)
        square = [builder.shuffle_vector(a, b, _mask(places)) for a, b in pairs for places in (low, high)]
    return [_lanes(builder, column, range(len(rows))) for column in square[:count]]


def _lanes(builder: ir.IRBuilder, vector: Any, wanted: range) -> Any:
    """The first lanes of a vector; those that it lacks are undefined."""
    if vector.type.count == len(wanted):
        return vector
    return builder.shuffle_vector(
        vector, ir.Constant(vector.type, ir.Undefined), _mask([min(at, vector.type.count) for at in wanted])
    )


def _mask(places: Sequence[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INT, len(places)), list(places))


def masked_load(builder: ir.IRBuilder, place: Any, mask: Any, kind: ir.VectorType, alignment: int) -> Any:
    """Load the lanes of a vector that a mask lets through; the others are undefined and not read."""
    symbol = f"llvm.masked.load.v{kind.count}{_suffix(kind.element)}.p0"
    function = builder.module.globals.get(symbol) or ir.Function(
        builder.module, ir.FunctionType(kind, [place.type, _INT, mask.type, kind]), symbol
    )
    return builder.call(function, [place, ir.Constant(_INT, alignment), mask, ir.Constant(kind, ir.Undefined)])


def _suffix(item: Any) -> str:
    return f"i{item.width}" if isinstance(item, ir.IntType) else {"half": "f16", "float": "f32", "double": "f64"}[str(item)]
