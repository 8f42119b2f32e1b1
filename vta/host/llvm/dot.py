"""Dot products of four unsigned and four signed bytes, added to sums of 32 bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from vta.host.processors import CpuTarget

__all__ = ["by_fours", "dot_product"]

_BYTE, _WORD = ir.IntType(8), ir.IntType(32)


def dot_product(builder: ir.IRBuilder, target: CpuTarget, total: Any, data: Any, weights: Any) -> Any:
    """Return `total` plus, for each lane, the sum of products of four bytes.

    `total` and `data` are vectors of n int32, `data` with four uint8 in each; `weights` is a vector of 4 n int8.
    """
    lanes = total.type.count
    bits = 32 * lanes
    if target.has_vnni and bits in (128, 256, 512):
        kind = ir.VectorType(_BYTE, 4 * lanes)
        name = f"llvm.x86.avx512.vpdpbusd.{bits}"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(total.type, [total.type, kind, kind]), name
        )
        return builder.call(function, [total, builder.bitcast(data, kind), weights])
    return _by_widening(builder, total, data, weights)


def by_fours(builder: ir.IRBuilder, columns: Any, lanes: int, apart: int) -> Any:
    """Of four vectors of bytes, which begin `apart` bytes from each other, those of each lane together as an int32."""
    places = [lane + apart * at for lane in range(lanes) for at in range(4)]
    mask = ir.Constant(ir.VectorType(_WORD, 4 * lanes), places)
    turned = builder.shuffle_vector(columns, ir.Constant(columns.type, ir.Undefined), mask)
    return builder.bitcast(turned, ir.VectorType(_WORD, lanes))


def _by_widening(builder: ir.IRBuilder, total: Any, data: Any, weights: Any) -> Any:
    """The same by products of 32 bits, which every processor has."""
    lanes = total.type.count
    kind = total.type
    words = builder.bitcast(weights, kind)
    for at in range(4):
        low = ir.Constant(kind, [8 * at] * lanes)
        high = ir.Constant(kind, [24 - 8 * at] * lanes)
        unsigned = builder.and_(builder.lshr(data, low), ir.Constant(kind, [255] * lanes))
        signed = builder.ashr(builder.shl(words, high), ir.Constant(kind, [24] * lanes))
        total = builder.add(total, builder.mul(unsigned, signed))
    return total
