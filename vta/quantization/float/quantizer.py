"""Rewrites a canonical float graph into the quantised dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import CompileError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.passes.linear_resizes import resizes_as_convolutions
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.calibrate import ChannelMeans, Progress, batches_of, calibrate
from vta.quantization.float.calibration.input_moments import PatchMoments
from vta.quantization.float.one_thread import on_one_thread
from vta.quantization.float.plan.masks import ranges_with_masks
from vta.quantization.float.plan.quant_groups import (
    WEIGHTED_OPS,
    Plan,
    make_plan,
)
from vta.quantization.float.plan.rows import longest_rows, with_norms
from vta.quantization.float.rewriter import AVERAGES, PRODUCT_BITS, Rewriter
from vta.quantization.float.scale_groups import ScaleGroups
from vta.quantization.float.unsigned import unsigned_values
from vta.quantization.float.weights.cross_layer_equalization import equalize, evens_out
from vta.quantization.float.weights.factors_ahead import FactorsAhead
from vta.quantization.float.weights.gptq import compensated
from vta.quantization.float.weights.weighted_layer import ROUNDERS
from vta.support.dataclass import dataclass

__all__ = ["equalized", "equalizes", "quantize"]

Array = NDArray[Any]


def quantize(
    graph: Graph,
    data: Mapping[str, Array] | None,
    config: QuantizeConfig,
    hw: HardwareConfig,
    progress: Progress | None = None,
) -> Graph:
    """Return `graph` in the quantised dialect, for `hw`.

    `graph` is canonical: batch norms folded where possible. `data` maps each input's name to calibration samples along the first
    axis; without it every activation gets the range ``config.global_scale``. `progress` is called after each calibration batch.
    """
    with on_one_thread():
        return _quantized(graph, data, config, hw, progress)


def _quantized(
    graph: Graph,
    data: Mapping[str, Array] | None,
    config: QuantizeConfig,
    hw: HardwareConfig,
    progress: Progress | None,
) -> Graph:
    if config.equalize != "none" and data is not None:
        graph = equalized(graph, data, config)
    graph = with_norms(resizes_as_convolutions(graph, config.skip_layers), config, hw)
    planned = partial(
        make_plan,
        multiplies=hw.capabilities.multiply and hw.acc_bits >= PRODUCT_BITS,
        multiplies_matrices=hw.batch == 1 and hw.acc_bits >= PRODUCT_BITS,
        longest_rows=longest_rows(hw),
    )
    found = _calibrated(graph, data, config, hw, planned, progress)
    ranges = ranges_with_masks(found.ranges, found.plan.softmaxes)
    groups = ScaleGroups(graph, found.plan, ranges, config.scales, found.unsigned, found.late)
    met = found.moments.values()
    with FactorsAhead(met.values() if config.rounding == "compensated" else ()) as factors:
        own = {"compensated": factors.compensated}
        rounder = own.get(config.rounding) or ROUNDERS.get(config.rounding, compensated)
        return Rewriter(graph, found.plan, groups, config, hw, found.means.values(), met, rounder).run()


@dataclass(frozen=True)
class _Calibration:
    """What calibration data show of a network, and what of it is quantised by that."""

    plan: Plan
    ranges: dict[Node, float]
    unsigned: frozenset[Node]
    means: ChannelMeans
    moments: PatchMoments
    late: Callable[[], dict[Node, float]] = dict
    """Ranges that are hardly ever asked for: of values within groups."""


def _calibrated(
    graph: Graph,
    data: Mapping[str, Array] | None,
    config: QuantizeConfig,
    hw: HardwareConfig,
    planned: Callable[..., Plan],
    progress: Progress | None,
) -> _Calibration:
    plan = planned(graph, config)
    observed = _observed(graph, plan)
    if data is None or config.calibration == "global_scale":
        ranges = dict.fromkeys(observed, config.global_scale)
        return _Calibration(plan, ranges, frozenset(), ChannelMeans(()), PatchMoments(()))
    means = ChannelMeans({group.anchor.inputs[0] for group in plan.groups.values()} if config.bias_correction else ())
    moments = PatchMoments([group.anchor for group in plan.groups.values()] if config.rounding in ROUNDERS else ())
    unsigned = scaled = unsigned_values(graph, plan, config.zero_points if hw.acc_bits >= PRODUCT_BITS else "none")
    inner = plan.inner.intersection(observed)
    ranges = calibrate(graph, batches_of(graph, data), config, observed, progress, [means, moments], unsigned, inner)
    unbounded = frozenset(node for node, largest in ranges.items() if np.isinf(largest))
    if unbounded:
        _check_weighted(plan, unbounded)
        plan = planned(graph, config, unbounded)
        unsigned &= unsigned_values(graph, plan)
    more = [node for node in dict.fromkeys([*observed, *_observed(graph, plan)]) if node not in ranges]

    def late() -> dict[Node, float]:
        return calibrate(graph, batches_of(graph, data), config, more, unsigned=scaled)

    if unbounded or not all(ranges.values()):
        # Another plan scales other values; and what was zero has its range from those beside it.
        ranges |= late()
    return _Calibration(plan, ranges, unsigned, means, moments, late)


def _check_weighted(plan: Plan, unbounded: frozenset[Node]) -> None:
    """Raise `CompileError` naming a layer whose products are of values without bounds; masks and maxima can have such."""
    for group in plan.groups.values():
        if group.anchor.op in WEIGHTED_OPS and group.anchor.inputs[0] in unbounded:
            raise CompileError(f"layer {group.anchor.name!r}: what it reads is infinite somewhere on the calibration data")


def equalized(graph: Graph, data: Mapping[str, Array], config: QuantizeConfig) -> Graph:
    """Return the float network that ``config.equalise`` quantises: the same function, with even ranges of channels."""
    return equalize(graph, make_plan(graph, config), batches_of(graph, data), config.equalize, _whole_plan(graph, config))


def equalizes(graph: Graph, config: QuantizeConfig) -> bool:
    """Whether a network has channels that ``config.equalise`` would even out."""
    return evens_out(graph, make_plan(graph, config), config.equalize, _whole_plan(graph, config))


def _whole_plan(graph: Graph, config: QuantizeConfig) -> Plan:
    """What groups there are with those layers that stay in float as well."""
    return make_plan(graph, replace(config, skip_conv_layers=(), skip_layers=(), skip_dense=False))


def _observed(graph: Graph, plan: Plan) -> list[Node]:
    """The values that may get a scale."""
    wanted = plan.integer_use | plan.partial
    floats = [node for node in graph.nodes() if node.op != ops.CONSTANT and node.dtype == "float32"]
    return [node for node in floats if node in wanted or node.op in AVERAGES]
