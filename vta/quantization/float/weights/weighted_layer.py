"""The layers with weights of a float network: what an int8 product and its biases are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of, call, constant
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes, transposed_weight
from vta.ir.ops.nn.norm import BatchNormAttributes
from vta.quantization.float import scales
from vta.quantization.float.calibration.input_moments import Moments
from vta.quantization.float.levels import Levels
from vta.quantization.float.plan.quant_groups import WEIGHTED_OPS, QuantGroup, channel_vector
from vta.quantization.float.weights.adaround import adaptively_rounded
from vta.quantization.float.weights.bias_correction import mean_loss
from vta.quantization.float.weights.gptq import compensated
from vta.support.dataclass import dataclass

__all__ = ["ROUNDERS", "Rounder", "WeightedLayer", "bias_of", "channel_scale_of"]

Array = NDArray[Any]

Rounder = Callable[[Array, Array, Moments], NDArray[np.int8]]
"""Rounds weights (output channel first) at the scale of each channel, for values of such moments."""

ROUNDERS: dict[str, Rounder] = {"adaround": adaptively_rounded, "compensated": compensated}
"""By the names in `ROUNDINGS`."""


@dataclass(frozen=True)
class WeightedLayer:
    """The weights and biases of a group, in float, and the input that they meet."""

    group: QuantGroup
    source: Levels
    weight: Array
    """Output channel first."""
    bias: Array
    scaled_channels: int | None = None
    """For a multiply of each channel, the number of channels."""
    means: Array | None = None
    """The mean of each channel of the input, where the bias makes up for what rounding the weights adds on average."""
    moments: Moments | None = None
    """How what the weights meet varies, where rounding them makes up for that."""
    rounder: Rounder = compensated
    """Rounds them then."""

    def accumulator(self, kernel: Array) -> Node:
        """The int32 product and bias, for the weight scales `kernel`."""
        anchor, name = self.group.anchor, self.group.anchor.name
        values = self._rounded(kernel)
        if anchor.op == ops.CONV2D_TRANSPOSE:
            stored = transposed_weight(values, attrs_of(anchor, Conv2DTransposeAttributes).groups)
        else:
            stored = values
        # They are nobody else's: the constant is made without a copy.
        stored.setflags(write=False)
        attributes: dict[str, Any] = {
            "input_scale": self.source.scale,
            "kernel_scale": scales.as_scale(kernel),
            "input_zero_point": self.source.zero_point,
        }
        if self.scaled_channels is not None:
            attributes["groups"] = self.scaled_channels
        elif anchor.op != ops.DENSE:
            attributes |= vars(anchor.attrs)
        op = anchor.op.replace("nn.", "qnn.") if anchor.op in WEIGHTED_OPS else ops.QNN_CONV2D
        product = call(op, [self.source.node, constant(stored, name)], name, **attributes)
        lost = 0 if self.means is None else mean_loss(anchor, self.weight, values, kernel, self.means)
        bias = scales.quantized_bias(self.bias + lost, self.source.scale * kernel)
        return call(ops.BIAS_ADD, [product, constant(bias, name)], name) if bias.any() else product

    def _rounded(self, kernel: Array) -> Array:
        """The weights as int8."""
        if self.moments is None:
            return scales.quantized_weight(self.weight, kernel)
        return self.rounder(self.weight, kernel, self.moments)


def bias_of(group: QuantGroup) -> Array:
    """The sum of the group's biases, one value for each channel."""
    channels = group.anchor.shape[1]
    total = np.zeros(channels)
    for node in group.biases:
        rank = 1 if node.op == ops.BIAS_ADD else len(node.shape)
        operand = node.inputs[1]
        vector = operand.value.astype(np.float64) if rank == 1 and operand.value is not None else None
        vector = channel_vector(operand, rank, channels) if vector is None else vector
        assert vector is not None
        total = total + vector
    return total


def channel_scale_of(node: Node) -> tuple[Array, Array]:
    """Factor and offset of each channel of a multiply by constants or an inference batch norm."""
    channels = node.shape[1]
    if node.op == ops.MULTIPLY:
        factor = channel_vector(node.inputs[1], len(node.shape), channels)
        assert factor is not None
        return factor, np.zeros(channels)
    values = [source.value.astype(np.float64) for source in node.inputs[1:] if source.value is not None]
    gamma, beta, mean, variance = values
    factor = gamma / np.sqrt(variance + attrs_of(node, BatchNormAttributes).epsilon)
    return factor, beta - mean * factor
