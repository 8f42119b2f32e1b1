"""Rewrites a float graph, layer by layer, with the scales and the plan that were chosen for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import MAX_TENSOR_MULTIPLIER
from vta.ir.graph import Graph, Node, attrs_of, call, constant
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes, transposed_weight
from vta.ir.ops.nn.pool import AvgPool2DAttributes
from vta.ir.ops.quantized.activation import SWISH_LIMIT
from vta.ir.ops.quantized.qnn import QnnAvgPool2DAttributes, uniform_window
from vta.ir.ops.shape import PadAttributes
from vta.ir.state import state_nodes
from vta.quantization.bounds import accumulator_bound, residual_bound
from vta.quantization.config import QuantizeConfig
from vta.quantization.float import scales
from vta.quantization.float.calibration.input_moments import Moments
from vta.quantization.float.levels import (
    Levels,
    clipped,
    dequantized,
    hard_swish,
    is_shift,
    level_of,
    narrowed,
    rebuilt,
    table_of,
)
from vta.quantization.float.plan.quant_groups import (
    LAYOUT_OPS,
    WEIGHTED_OPS,
    Plan,
    QuantGroup,
    scalar_factor,
    slopes_of,
)
from vta.quantization.float.scale_groups import ScaleGroups
from vta.quantization.float.weights.gptq import compensated
from vta.quantization.float.weights.weighted_layer import Rounder, WeightedLayer, bias_of, channel_scale_of

__all__ = ["AVERAGES", "PRODUCT_BITS", "Rewriter"]

Array = NDArray[Any]

_UNARY_INTEGER_OPS = LAYOUT_OPS | {ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D}
_LARGEST_PRODUCT = 128 * 128
"""Of two int8 values."""
PRODUCT_BITS = 32
"""Of an accumulator that holds the product of two tensors, rescaled."""
_FINEST_SHARE, _FINEST_NORM = 2.0**-15, 2.0**-10
"""Scales of softmaxes and of norms, at least."""
AVERAGES = (ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D)


class Rewriter:
    """Rewrites node by node; a value exists in the new graph as a float node, as an int8 tensor, or as both."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        scale_groups: ScaleGroups,
        config: QuantizeConfig,
        hw: HardwareConfig,
        means: dict[Node, Array],
        moments: dict[Node, Moments],
        rounder: Rounder = compensated,
    ) -> None:
        self.graph, self.plan, self.config, self.means = graph, plan, config, means
        self.moments, self.rounder = moments, rounder
        self.scale_groups = scale_groups
        self.multiplies = hw.capabilities.multiply and config.scales == "real"
        self.scales_values = hw.capabilities.multiply
        # Where tables are free, a hard swish is one.
        self.swishes = hw.capabilities.multiply and hw.acc_bits >= PRODUCT_BITS and not hw.capabilities.table
        self.users = graph.users()
        self.held = frozenset(held for held, _ in state_nodes(graph))
        self.shown = frozenset(node for output in graph.outputs for node in _moved_function(output, plan))
        """Outputs that are a function of a layer, moved: they are computed from the layer as real numbers."""
        self.real: dict[Node, Node] = {}
        self.integer: dict[Node, Levels] = {}
        self.wide: dict[Node, Levels] = {}
        """Values in int32, which hard swishes alone read."""

    def run(self) -> Graph:
        """Return the graph in the quantised dialect."""
        for node in self.graph.nodes():
            if not node.is_call:
                self.real[node] = node
            elif node in self.plan.groups:
                self._group(self.plan.groups[node])
            elif node in self.plan.inside:
                self._function(node)
            elif node not in self.plan.members and not self._integer_op(node):
                self._float_op(node)
        outputs = [self._float(output) for output in self.graph.outputs]
        users = replace(self.graph, outputs=tuple(outputs)).users()
        for state, (held, after) in zip(self.graph.states, state_nodes(self.graph), strict=True):
            # Nothing is lost by rounding a state to what all its readers take.
            if held in self.integer and users[held] == [self.integer[held].node] and held is not after:
                tensor = self._int8(after)
                outputs[state.output] = dequantized(tensor, after.name)
        return replace(self.graph, outputs=tuple(outputs))

    def _float(self, node: Node) -> Node:
        if node in self.plan.inside and node not in self.real and (node not in self.integer or node in self.shown):
            self._float_op(node)
        if node not in self.real:
            tensor = self.integer[node]
            self.real[node] = dequantized(tensor, node.name)
        return self.real[node]

    def _int8(self, node: Node) -> Levels:
        if node not in self.integer:
            scale = self.scale_groups.settle(node, self.scale_groups.finest(node))
            zero_point = self.scale_groups.zero_point(node)
            value = call(ops.QNN_QUANTIZE, [self._float(node)], node.name, scale=scale, zero_point=zero_point)
            self.integer[node] = Levels(value, scale, zero_point)
        return self.integer[node]

    def _float_op(self, node: Node) -> None:
        self.real[node] = rebuilt(node, [self._float(source) for source in node.inputs])

    def _function(self, node: Node) -> None:
        """A table for a function of an int8 value that integers want; what is wanted in float is computed where that is."""
        function = self.plan.functions.get(node)
        source = None if function is None else self.wide.get(function.root) or self.integer.get(function.root)
        if function is None or source is None or node not in self.plan.integer_use:
            return
        scale = self.scale_groups.settle(node, self.scale_groups.finest(node))
        value = hard_swish(function, source, scale) or table_of(function, narrowed(source), scale)
        self.integer[node] = Levels(value, scale)

    def _group(self, group: QuantGroup) -> None:
        anchor = group.anchor
        if anchor.op in WEIGHTED_OPS:
            weight, means = anchor.inputs[1].value, self.means.get(anchor.inputs[0])
            assert weight is not None
            if anchor.op == ops.CONV2D_TRANSPOSE:
                weight = transposed_weight(weight, attrs_of(anchor, Conv2DTransposeAttributes).groups)
            self._layer(
                WeightedLayer(
                    group,
                    self._int8(anchor.inputs[0]),
                    weight,
                    bias_of(group),
                    means=means,
                    moments=self.moments.get(anchor),
                    rounder=self.rounder,
                )
            )
        elif anchor.op == ops.MATMUL:
            self._matmul(group)
        elif not any(source in self.integer for source in anchor.inputs):
            for node in group.nodes:
                self._float_op(node)
        elif anchor.op == ops.ADD:
            left, right = (self._int8(source) for source in anchor.inputs)
            self._sum(group, anchor, left, right)
        else:
            factor, offset = channel_scale_of(anchor)
            weight = factor.reshape(-1, 1, 1, 1)
            means = self.means.get(anchor.inputs[0])
            self._layer(WeightedLayer(group, self._int8(anchor.inputs[0]), weight, offset + bias_of(group), len(factor), means))

    def _matmul(self, group: QuantGroup) -> None:
        """A product of matrices of two tensors; where the target does not multiply, its scale lets a shift bring sums there."""
        left, right = (self._int8(source) for source in group.anchor.inputs)
        product = call(ops.QNN_MATMUL, [left.node, right.node], group.anchor.name)
        factors = [scalar_factor(node, node.inputs[0]) for node in group.nodes[1:]]
        input_scale = float(np.prod([left.scale, right.scale, *(factor for factor in factors if factor is not None)]))
        finest = self.scale_groups.finest(group.result)
        bound = accumulator_bound(product)
        wanted = finest if self.multiplies else scales.shifted_scale(input_scale, finest)
        scale = max(wanted, scales.finest_reached(input_scale, bound))
        both = {"input_scale": input_scale, "output_scale": scale, "bound": bound}
        self._keep(group.result, Levels(call(ops.QNN_REQUANTIZE, [product], group.anchor.name, **both), scale))

    def _layer(self, layer: WeightedLayer) -> None:
        group = layer.group
        if group.addition is None or group.residual is None:
            if self._only_swished(group.result):
                self.wide[group.result] = self._widened(layer)
            elif group.rectifies and group.result in self.plan.integer_use:
                self._rectified(layer)
            elif group.result in self.plan.integer_use:
                zero_point = self.scale_groups.zero_point(group.result)
                self._finish(group, self._requantized(layer, self.scale_groups.finest(group.result), zero_point=zero_point))
            else:
                self._final(layer)
            return
        residual = self._int8(group.residual)
        if not self._fused_sum(layer, residual):
            before = self._requantized(layer, self.scale_groups.finest(group.before_addition))
            self._sum(group, group.addition, before, residual)

    def _only_swished(self, node: Node) -> bool:
        """Whether one hard swish is all that reads a value, so that both can be one operator of this target."""
        read = [function for function in self.plan.functions.values() if function.root is node]
        if (
            not self.swishes
            or len(read) != 1
            or read[0].swish is None
            or node in self.graph.outputs
            or read[0].result in self.shown
        ):
            return False
        return read[0].result in self.plan.integer_use and all(user in read[0].nodes for user in self.users[node])

    def _widened(self, layer: WeightedLayer) -> Levels:
        """A layer with more steps than int8 has, for a hard swish."""
        return self._requantized(layer, self.scale_groups.finest(layer.group.result) * 128 / SWISH_LIMIT, "int32")

    def _rectified(self, layer: WeightedLayer) -> None:
        """A layer with a slope below zero, which is applied before the result is cut to int8 where one operator can do both."""
        group = layer.group
        assert group.activation is not None
        alpha = slopes_of(group.activation)
        assert alpha is not None
        together = self.scales_values or (isinstance(alpha, float) and is_shift(alpha))
        finest = self.scale_groups.finest(group.result)
        # What is stored before the slope must hold the values that the slope makes smaller.
        wanted = finest if together else max(finest, self.scale_groups.finest(group.before_activation))
        before = self._requantized(layer, wanted, "int32" if together else "int8")
        value = call(ops.QNN_LEAKY_RELU, [before.node], group.activation.name, alpha=alpha)
        self._keep(group.result, Levels(value, before.scale))

    def _final(self, layer: WeightedLayer) -> None:
        """Only float operators read the layer: its accumulators become floats, without a rounding to int8."""
        group = layer.group
        kernel = scales.plain_kernel_scales(layer.weight, self.config.per_channel)
        if self.config.scales == "power_of_two":
            kernel = 2.0 ** np.ceil(np.log2(kernel))
        scale = scales.as_scale(layer.source.scale * kernel)
        value = call(ops.QNN_DEQUANTIZE, [layer.accumulator(kernel)], group.anchor.name, scale=scale)
        if group.activation is not None:
            value = rebuilt(group.activation, [value, *group.activation.inputs[1:]])
        self.real[group.result] = value

    def _requantized(self, layer: WeightedLayer, scale: float, out_dtype: str = "int8", zero_point: int = 0) -> Levels:
        """A layer at this scale, or at the finest one that 32 bits reach."""
        make = scales.multiplied_kernel_scales if self.multiplies and self.config.multipliers else scales.shifted_kernel_scales
        while True:
            kernel = make(layer.weight, layer.source.scale, scale, self.config.per_channel)
            accumulator = layer.accumulator(kernel)
            name, bound = layer.group.anchor.name, max(accumulator_bound(accumulator), 1)
            finest = scales.finest_reached(layer.source.scale * float(kernel.max()), bound)
            if scale >= finest:
                break
            scale *= 2.0 ** math.ceil(math.log2(finest / scale))
        input_scale = scales.as_scale(layer.source.scale * kernel)
        both = {"input_scale": input_scale, "output_scale": scale, "output_zero_point": zero_point}
        value = call(ops.QNN_REQUANTIZE, [accumulator], name, **both, bound=bound, out_dtype=out_dtype)
        return Levels(value, scale, zero_point)

    def _fused_sum(self, layer: WeightedLayer, residual: Levels) -> bool:
        """Add the residual to the accumulators; False if no scale lets the GEMM core do it accurately."""
        group, source = layer.group, layer.source
        assert group.addition is not None
        settled = self.scale_groups.settled(group.result)
        finest = self.scale_groups.finest(group.result)
        choices = scales.residual_output_scales(residual.scale, finest) if settled is None else [settled]
        for scale, exact in [*((choice, True) for choice in choices), (finest, False)]:
            kernel = scales.shifted_kernel_scales(layer.weight, source.scale, scale, self.config.per_channel)
            kernel = scales.widened_for_residual(kernel, source.scale, residual.scale)
            if scales.residual_representable(residual.scale, source.scale * kernel, exact):
                break
        else:
            return False
        accumulator = layer.accumulator(kernel)
        lhs_scale = scales.as_scale(source.scale * kernel)
        zero_point = self.scale_groups.zero_point(group.result)
        bound = residual_bound(accumulator, residual.scale, lhs_scale, residual.zero_point)
        if scale < scales.finest_reached(source.scale * float(kernel.max()), bound):
            return False
        value = call(
            ops.QNN_ADD,
            [accumulator, residual.node],
            group.addition.name,
            lhs_scale=lhs_scale,
            rhs_scale=residual.scale,
            rhs_zero_point=residual.zero_point,
            output_scale=scale,
            output_zero_point=zero_point,
            bound=bound,
        )
        self._finish(group, Levels(value, scale, zero_point))
        return True

    def _sum(self, group: QuantGroup, addition: Node, left: Levels, right: Levels) -> None:
        """Add two int8 tensors. Without a multiplier the first must be brought to the sum's scale by a shift."""
        settled = self.scale_groups.settled(group.result)
        scale = max(self.scale_groups.finest(group.result), max(left.scale, right.scale) / MAX_TENSOR_MULTIPLIER)
        if settled is None and not self.multiplies:
            steps = [np.ceil(np.log2(scale / tensor.scale) - 1e-9) for tensor in (left, right)]
            options = [tensor.scale * 2.0**step for tensor, step in zip((left, right), steps, strict=True)]
            if options[1] < options[0]:
                left, right = right, left
            scale = float(min(options))
        zero_point = self.scale_groups.zero_point(group.result)
        attributes: dict[str, Any] = {"lhs_scale": left.scale, "rhs_scale": right.scale, "output_scale": scale}
        zeros = {"lhs_zero_point": left.zero_point, "rhs_zero_point": right.zero_point, "output_zero_point": zero_point}
        value = call(ops.QNN_ADD, [left.node, right.node], addition.name, **attributes, **zeros)
        self._finish(group, Levels(value, scale, zero_point))

    def _finish(self, group: QuantGroup, value: Levels) -> None:
        if group.activation is not None:
            value = replace(value, node=clipped(group.activation, value.node, value.scale, value.zero_point))
        self._keep(group.result, value)

    def _keep(self, node: Node, value: Levels) -> None:
        """Take `value` for a node, at the scale that its group has or gets."""
        scale = self.scale_groups.settle(node, value.scale)
        at_scale = self._at_scale(value, scale, value.zero_point, node.name)
        self.integer[node] = Levels(at_scale, scale, value.zero_point)

    def _integer_op(self, node: Node) -> bool:
        """Compute a node in int8, if its input is int8 and the operator can; returns whether it did."""
        if node.name in self.config.skip_layers or (node in self.shown and node not in self.plan.integer_use):
            return False
        if node.op == ops.NORMALIZE:
            return node in self.plan.integer_use and self._normalize(node)
        # What joins a state to new values has its scale, so that the state can be kept in int8.
        joins_state = node.op == ops.CONCATENATE and not self.held.isdisjoint(node.inputs)
        if not joins_state and node not in self.plan.softmaxes and not any(source in self.integer for source in node.inputs):
            return False
        for joins, of in (
            (node.op == ops.CONCATENATE, self._concatenate),
            (node in self.plan.products, self._product),
            (node in self.plan.softmaxes, self._softmax),
        ):
            if joins:
                return node in self.plan.integer_use and of(node)
        source = self.integer.get(node.inputs[0])
        if source is None:
            return False
        if node.op in AVERAGES:
            return self._average(node, source)
        attrs, alpha = node.attrs, slopes_of(node) if node in self.plan.integer_use else None
        if alpha is not None:
            value = call(ops.QNN_LEAKY_RELU, [source.node], node.name, alpha=alpha)
        elif node.op in (ops.RELU, ops.CLIP):
            value = clipped(node, source.node, source.scale, source.zero_point)
        elif node.op in _UNARY_INTEGER_OPS:
            value = rebuilt(node, [source.node])
        elif isinstance(attrs, PadAttributes) and (level := level_of(attrs.pad_value, source)) is not None:
            value = call(ops.PAD, [source.node], node.name, pad_width=attrs.pad_width, pad_value=level)
        else:
            return False
        self.integer[node] = Levels(value, source.scale, source.zero_point)
        return True

    def _softmax(self, node: Node) -> bool:
        """A softmax of what a product of two tensors gives."""
        masked = self.plan.softmaxes[node]
        source = self.integer[masked.scores]
        scale = self.scale_groups.settle(node, max(self.scale_groups.finest(node), _FINEST_SHARE))
        read = [source.node]
        if masked.planes:
            read.append(constant(masked.levels(source.scale), node.name))
        roots = call(ops.QNN_SOFTMAX_TERMS, read, node.name, input_scale=source.scale)
        shares = call(ops.QNN_SOFTMAX_SHARES, [roots], node.name, output_scale=scale)
        if shares.shape != node.shape:
            shares = call(ops.RESHAPE, [shares], node.name, newshape=node.shape)
        self.integer[node] = Levels(shares, scale)
        return True

    def _normalize(self, node: Node) -> bool:
        source = self._int8(node.inputs[0])
        scale = self.scale_groups.settle(node, max(self.scale_groups.finest(node), _FINEST_NORM))
        scales_of = {"input_scale": source.scale, "output_scale": scale}
        value = call(ops.QNN_NORMALIZE, [source.node], node.name, **vars(node.attrs), **scales_of)
        self.integer[node] = Levels(value, scale)
        return True

    def _product(self, node: Node) -> bool:
        """The product of two tensors, one of which may have a value for each channel."""
        whole, other = sorted(node.inputs, key=lambda source: source.shape != node.shape)
        sides = [self._int8(source) for source in (whole, other)]
        input_scale = sides[0].scale * sides[1].scale
        scale = max(self.scale_groups.finest(node), scales.finest_reached(input_scale, _LARGEST_PRODUCT))
        wide = [call(ops.CAST, [side.node], node.name, dtype="int32") for side in sides]
        both = {"input_scale": input_scale, "output_scale": scale, "bound": _LARGEST_PRODUCT}
        value = call(ops.QNN_REQUANTIZE, [call(ops.MULTIPLY, wide, node.name)], node.name, **both)
        self._keep(node, Levels(value, scale))
        return True

    def _concatenate(self, node: Node) -> bool:
        scale = self.scale_groups.settle(node, self.scale_groups.finest(node))
        zero_point = self.scale_groups.zero_point(node)
        parts = [self._at_scale(self._int8(source), scale, zero_point, node.name) for source in node.inputs]
        self.integer[node] = Levels(rebuilt(node, parts), scale, zero_point)
        return True

    @staticmethod
    def _at_scale(tensor: Levels, scale: float, zero_point: int, name: str) -> Node:
        if (tensor.scale, tensor.zero_point) == (scale, zero_point):
            return tensor.node
        zeros = {"input_zero_point": tensor.zero_point, "output_zero_point": zero_point}
        bound = 128 + abs(tensor.zero_point)
        return call(ops.QNN_REQUANTIZE, [tensor.node], name, input_scale=tensor.scale, output_scale=scale, bound=bound, **zeros)

    def _average(self, node: Node, source: Levels) -> bool:
        """Average pooling, at an output scale that makes the division by the window exact."""
        pool = None if node.op == ops.GLOBAL_AVG_POOL2D else attrs_of(node, AvgPool2DAttributes)
        window = node.inputs[0].shape[2:] if pool is None else pool.pool_size
        scale = self.scale_groups.settled(node)
        if scale is None:
            finest = self.scale_groups.finest(node)
            scale = scales.pool_scale(source.scale, int(np.prod(window)), finest, self.multiplies)
        zero_point = self.scale_groups.zero_point(node)
        attributes: dict[str, Any] = {"input_scale": source.scale, "output_scale": scale}
        attributes |= {"input_zero_point": source.zero_point, "output_zero_point": zero_point}
        if pool is not None:
            attributes |= vars(pool)
        value = call(node.op.replace("nn.", "qnn."), [source.node], node.name, **attributes)
        if pool is not None and not uniform_window(attrs_of(value, QnnAvgPool2DAttributes), node.inputs[0].shape):
            return False
        self.integer[node] = Levels(value, self.scale_groups.settle(node, scale), zero_point)
        return True


def _moved_function(output: Node, plan: Plan) -> list[Node]:
    """The nodes from the result of a function to the output that it is, moved; none where it is something else."""
    nodes = [output]
    while nodes[-1].op in LAYOUT_OPS and nodes[-1] not in plan.inside:
        nodes.append(nodes[-1].inputs[0])
    return nodes if nodes[-1] in plan.inside else []
