"""When an operator of a graph runs on VTA, in a sentence each; the conditions on whole fused operators are in `support_rules`."""

from __future__ import annotations

from vta.ir import names as ops
from vta.partition.fused.fused_operator import ANCHORS, INT8_OPERATORS, STEPS
from vta.partition.fused.template_support import template_support

__all__ = ["on_vta_when"]

_SUM = "an average whose windows all hold the same number of values becomes a sum of int8 values and integer steps"
_RENAMES = "on int8 where it only renames (N, C, 1, 1) as (N, C) or back, or flattens an image for a dense layer"

_PRODUCT = "on int8 data with constant weights of 8 bits, or 9 where they have a zero point; a float one after quantisation"

_SENTENCES = {
    ops.CONV2D: _PRODUCT,
    ops.CONV2D_TRANSPOSE: _PRODUCT,
    ops.DENSE: _PRODUCT,
    ops.QNN_CONV2D: "with constant weights, as an integer convolution",
    ops.QNN_CONV2D_TRANSPOSE: "with constant weights, as an integer transposed convolution",
    ops.QNN_DENSE: "with constant weights, as an integer dense layer",
    ops.MATMUL: "of two tensors with as many matrices each, after quantisation, as qnn.matmul",
    ops.MATMUL2D: "with one of the tensors as weights, where the config has BATCH 1 and 32-bit accumulators",
    ops.QNN_MATMUL: "of two tensors with as many matrices each, as nn.matmul2d",
    ops.BIAS_ADD: "on int32 after a convolution or dense layer, along the channels",
    ops.QNN_REQUANTIZE: "from int32 or int8 to int8, as integer steps; by multipliers only where the target has MUL",
    ops.QNN_ADD: "of two tensors of one shape, as products with diagonal matrices and integer steps",
    ops.AVG_POOL2D: f"after quantisation: {_SUM}",
    ops.GLOBAL_AVG_POOL2D: f"after quantisation: {_SUM}",
    ops.QNN_AVG_POOL2D: _SUM,
    ops.QNN_GLOBAL_AVG_POOL2D: _SUM,
    ops.PAD: "on int8, where a result of VTA is padded in height and width, or by channels of one value; convolutions take it in",
    ops.BATCH_NORM: "folded into the layer before it, or as a multiply and addition for each channel; after quantisation",
    ops.CONCATENATE: "of int8 values along channels, rows or columns, where VTA computes at least one or it is a state; parts of "
    "whole blocks of channels are not copied",
    ops.STRIDED_SLICE: "of an int8 value that VTA computes, or of a state, forward along rows and columns; whole blocks are not "
    "copied",
    ops.LEAKY_RELU: "after quantisation, as part of the layer before it or on its own",
    ops.PRELU: "after quantisation, as part of the layer before it or on its own",
    ops.HARD_SWISH: "after quantisation, where the target has MUL",
    ops.HARD_SIGMOID: "after quantisation, as a table that is a line",
    ops.QNN_LEAKY_RELU: "with 32-bit accumulators; slopes on both sides of 1 take a target with MUL",
    ops.QNN_HARD_SWISH: "with 32-bit accumulators, where the target has MUL",
    ops.QNN_LOOKUP: "tables of one or two straight pieces, 32-bit accumulators; any table where the config has the table unit",
    ops.NORMALIZE: "after quantisation, as qnn.normalize",
    ops.SOFTMAX: "along the last axis between products of two tensors, also of their sums with constants, after quantisation, "
    "where the config has the requantize and table units",
    ops.RESCALE: "where the config has the requantize unit, by constants; with a table, where it has the table unit",
    ops.LEFT_SHIFT: "on int32 as a step of a fused operator, by constants",
    ops.RIGHT_SHIFT: "on int32 as a step of a fused operator, by constants",
    ops.CALL: "what an inner graph holds that is for VTA, or for no target yet",
    ops.CAST: "from int8 to int32 where a fused operator starts, from int32 to int8 where it ends",
    ops.RESHAPE: _RENAMES,
    ops.BATCH_FLATTEN: _RENAMES,
    ops.SQUEEZE: "on int8 where it only renames (N, C, 1, 1) as (N, C)",
    ops.EXPAND_DIMS: "on int8 where it only renames (N, C, ...) as (N, C, 1, 1)",
}


def on_vta_when(op: str) -> str | None:
    """Return when operator `op` can run on VTA, or None if it runs on the host always."""
    if op in _SENTENCES:
        return _SENTENCES[op]
    if op in ANCHORS:
        return "on int8 data; its result is int32"
    if (template := template_support(op)) is not None:
        return template.when
    if op in INT8_OPERATORS:
        return "on int8" + (", or on int32 as a step of a fused operator" if op in STEPS else "")
    if op in STEPS:
        return "on int32 as a step of a fused operator, with a constant or an int8 tensor"
    return None
