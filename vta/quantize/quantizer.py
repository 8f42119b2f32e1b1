"""Rewrites a canonical float graph into the quantised dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config import HardwareConfig
from vta.ir.fixed_point import INT32_MAX
from vta.ir.graph import INPUT, Graph, Node, call, constant
from vta.ir.ops.qnn import base_attributes, uniform_window
from vta.quantize import scales
from vta.quantize.bounds import accumulator_bound, residual_bound
from vta.quantize.calibrate import Progress, batches_of, calibrate
from vta.quantize.chains import LAYOUT_OPS, Chain, Plan, channel_vector, make_plan
from vta.quantize.config import QuantizeConfig
from vta.quantize.groups import ScaleGroups

__all__ = ["quantize"]

Array = NDArray[Any]

_UNARY_INTEGER_OPS = LAYOUT_OPS | {"nn.max_pool2d", "nn.global_max_pool2d", "nn.pad"}


@dataclass(frozen=True)
class _Tensor:
    """An int8 value that stands for itself times `scale`."""

    node: Node
    scale: float


def quantize(
    graph: Graph,
    data: Mapping[str, Array] | None,
    config: QuantizeConfig,
    hw: HardwareConfig,
    progress: Progress | None = None,
) -> Graph:
    """Return `graph` in the quantised dialect, for `hw`.

    `graph` is canonical: batch norms folded where possible. `data` maps each input's name to calibration samples along the first
    axis; without it every activation gets the range ``config.global_scale``. `progress` is called with each calibration batch.
    """
    plan = make_plan(graph, config)
    observed = [node for node in graph.nodes() if node in plan.integer_use or node in plan.chains or node.op == INPUT or node.is_call]
    if data is None or config.calibration == "global_scale":
        ranges = dict.fromkeys(observed, config.global_scale)
    else:
        ranges = calibrate(graph, batches_of(graph, data), config, observed, progress)
    return _Quantizer(graph, plan, ranges, config, hw).run()


class _Quantizer:
    """Rewrites node by node; a value exists in the new graph as a float node, as an int8 tensor, or as both."""

    def __init__(self, graph: Graph, plan: Plan, ranges: dict[Node, float], config: QuantizeConfig, hw: HardwareConfig) -> None:
        self.graph, self.plan, self.config = graph, plan, config
        self.groups = ScaleGroups(graph, plan, ranges, config.scales)
        self.multiplies = hw.capabilities.multiply
        self.real: dict[Node, Node] = {}
        self.integer: dict[Node, _Tensor] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes():
            if not node.is_call:
                self.real[node] = node
            elif node in self.plan.chains:
                self._chain(self.plan.chains[node])
            elif node not in self.plan.members and not self._integer_op(node):
                self._float_op(node)
        return Graph(self.graph.inputs, tuple(self._float(output) for output in self.graph.outputs), self.graph.name)

    def _float(self, node: Node) -> Node:
        if node not in self.real:
            tensor = self.integer[node]
            self.real[node] = call("qnn.dequantize", [tensor.node], node.name, scale=tensor.scale)
        return self.real[node]

    def _int8(self, node: Node) -> _Tensor:
        if node not in self.integer:
            scale = self.groups.settle(node, self.groups.finest(node))
            self.integer[node] = _Tensor(call("qnn.quantize", [self.real[node]], node.name, scale=scale), scale)
        return self.integer[node]

    def _float_op(self, node: Node) -> None:
        self.real[node] = _rebuilt(node, [self._float(source) for source in node.inputs])

    def _chain(self, chain: Chain) -> None:
        root = chain.root
        if root.op == "add":
            done = any(source in self.integer for source in root.inputs) and self._addition(chain)
        elif root.op in ("nn.conv2d", "nn.dense"):
            done = self._weighted(chain, root.inputs[1].value, {})
        else:
            done = root.inputs[0] in self.integer and self._scaling(chain)
        if not done:
            for node in chain.nodes:
                self._float_op(node)

    def _scaling(self, chain: Chain) -> bool:
        """A multiply for each channel is a convolution of one tap for each channel."""
        root = chain.root
        channels = root.shape[1]
        factor, bias = _affine(root)
        offset: dict[str, Any] = {"bias": bias} if bias.any() else {}
        return self._weighted(chain, factor.reshape(channels, 1, 1, 1), {"groups": channels, **offset})

    def _weighted(self, chain: Chain, weight: Array | None, extra: dict[str, Any]) -> bool:
        assert weight is not None
        weight = weight.astype(np.float64)
        bias = extra.pop("bias", np.zeros(chain.root.shape[1])) + _bias(chain)
        source = self._int8(chain.root.inputs[0])
        if chain.addition is None and chain.end not in self.plan.integer_use:
            self._final(chain, source, weight, bias, extra)
            return True
        if chain.residual is not None and self._residual(chain, source, weight, bias, extra):
            return True
        last = chain.end if chain.addition is None else chain.nodes[chain.nodes.index(chain.addition) - 1]
        scale = self.groups.settle(chain.end, self.groups.finest(chain.end)) if last is chain.end else self.groups.finest(last)
        kernel = self._kernel_scales(weight, source.scale, scale)
        value = self._requantised(self._accumulator(chain, source, weight, bias, kernel, extra), source.scale * kernel, scale)
        if chain.residual is None or chain.addition is None:
            self._finish(chain, value, scale)
        else:
            self._sum(chain, chain.addition, _Tensor(value, scale), self._int8(chain.residual))
        return True
