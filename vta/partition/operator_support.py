"""When an operator of a graph runs on VTA, in a sentence each; the conditions on whole chains are in `support_rules`."""

from __future__ import annotations

from vta.partition.fused_operator import INT8_OPERATORS, ROOTS, STEPS

__all__ = ["on_vta_when"]

_SUM = "an average whose windows all hold the same number of values becomes a sum of int8 values and integer steps"
_RENAMES = "on int8 where it only renames (N, C, 1, 1) as (N, C) or back, or flattens an image for a dense layer"

_PRODUCT = "on int8 data with constant weights of 8 bits, or 9 where they have a zero point; a float one after quantisation"

_SENTENCES = {
    "nn.conv2d": _PRODUCT,
    "nn.conv2d_transpose": _PRODUCT,
    "nn.dense": _PRODUCT,
    "qnn.conv2d": "with constant weights, as an integer convolution",
    "qnn.conv2d_transpose": "with constant weights, as an integer transposed convolution",
    "qnn.dense": "with constant weights, as an integer dense layer",
    "nn.bias_add": "on int32 after a convolution or dense layer, along the channels",
    "qnn.requantize": "from int32 or int8 to int8, as integer steps; by multipliers only where the target has MUL",
    "qnn.add": "of two tensors of one shape, as products with diagonal matrices and integer steps",
    "nn.avg_pool2d": f"after quantisation: {_SUM}",
    "nn.global_avg_pool2d": f"after quantisation: {_SUM}",
    "qnn.avg_pool2d": _SUM,
    "qnn.global_avg_pool2d": _SUM,
    "nn.pad": "on int8, where a result of VTA is padded in height and width, or by channels of zeros; a convolution takes it in",
    "nn.batch_norm": "folded into the layer before it, or as a multiply and addition for each channel; after quantisation",
    "concatenate": "of int8 values along the channels, where VTA computes at least one; parts of whole blocks are not copied",
    "strided_slice": "of an int8 value that VTA computes, forward along rows and columns; whole blocks are not copied",
    "nn.upsampling": "on int8",
    "nn.leaky_relu": "after quantisation, as part of the layer before it or on its own",
    "nn.prelu": "after quantisation, as part of the layer before it or on its own",
    "nn.hard_swish": "after quantisation, where the target has MUL",
    "nn.hard_sigmoid": "after quantisation, as a table that is a line",
    "qnn.leaky_relu": "with 32-bit accumulators; slopes on both sides of 1 take a target with MUL",
    "qnn.hard_swish": "with 32-bit accumulators, where the target has MUL",
    "qnn.lookup": "of a table that is one line or the larger or smaller of two, cut to levels, with 32-bit accumulators",
    "left_shift": "on int32 as a step of a chain, by constants",
    "right_shift": "on int32 as a step of a chain, by constants",
    "call": "what an inner graph holds that is for VTA, or for no target yet",
    "cast": "from int8 to int32 where a chain starts, from int32 to int8 where it ends",
    "reshape": _RENAMES,
    "nn.batch_flatten": _RENAMES,
    "squeeze": "on int8 where it only renames (N, C, 1, 1) as (N, C)",
    "expand_dims": "on int8 where it only renames (N, C, ...) as (N, C, 1, 1)",
}


def on_vta_when(op: str) -> str | None:
    """Return when operator `op` can run on VTA, or None if it runs on the host always."""
    if op in _SENTENCES:
        return _SENTENCES[op]
    if op in ROOTS:
        return "on int8 data; its result is int32"
    if op in INT8_OPERATORS:
        return "on int8" + (", or on int32 as a step of a chain" if op in STEPS else "")
    if op in STEPS:
        return "on int32 as a step of a chain, with a constant or an int8 tensor"
    return None
