"""Norms that are not those of a transformer's tokens, from a float network to the device."""

from __future__ import annotations

import numpy as np
import pytest

import vta
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization.config import QuantizeConfig

MOVES = {ops.RESHAPE, ops.TRANSPOSE, ops.SQUEEZE, ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE}


def number(rng: np.random.Generator, *shape: int, factor: float = 1.0, offset: float = 0.0) -> Node:
    return constant((rng.standard_normal(shape) * factor + offset).astype(np.float32))


def norm(x: Node, axis: int, rng: np.random.Generator, name: str) -> Node:
    mean = call("mean", [x], name, axis=(axis,), keepdims=True)
    centered = call("subtract", [x, mean], name)
    variance = call("mean", [call("multiply", [centered, centered], name)], name, axis=(axis,), keepdims=True)
    deviation = call("sqrt", [call("add", [variance, constant(np.float32(1e-5))], name)], name)
    along = [1] * len(x.shape)
    along[axis] = x.shape[axis]
    scaled = call("multiply", [call("divide", [centered, deviation], name), number(rng, *along, factor=0.2, offset=1)], name)
    return call("add", [scaled, number(rng, *along, factor=0.1)], name)


def dense(x: Node, outputs: int, rng: np.random.Generator, name: str) -> Node:
    return call("nn.dense", [x, number(rng, outputs, x.shape[-1], factor=x.shape[-1] ** -0.5)], name)


def sequence_net() -> Graph:
    """Rows of features side by side, a norm over places, a convolution along these, its largest values, and a norm of them."""
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 96, 20))
    rows = dense(call("reshape", [x], "embedding", newshape=(96, 20)), 16, rng, "embedding")
    rows = call("nn.relu", [rows], "embedding")
    together = call("reshape", [rows], "together", newshape=(24, 64))
    value = call("reshape", [norm(together, 0, rng, "places")], "places", newshape=(1, 24, 64, 1))
    value = call("transpose", [value], "places", axes=(0, 2, 1, 3))
    value = call("nn.conv2d", [value, number(rng, 48, 64, 3, 1, factor=0.07)], "conv")
    value = call("squeeze", [value], "conv", axis=(3,))
    value = call("nn.relu", [call("add", [value, number(rng, 1, 48, 1, factor=0.1)], "conv")], "conv")
    value = call("nn.global_max_pool2d", [call("reshape", [value], "pool", newshape=(1, 48, 1, 22))], "pool")
    value = call("reshape", [value], "pool", newshape=(1, 48))
    return Graph((x,), (dense(norm(value, 1, rng, "features"), 10, rng, "classes"),))


@pytest.mark.parametrize("config", ["sim_rq", "sim_rq_1x8"])
def test_a_network_of_sequences_is_one_region(config: str):
    graph = sequence_net()
    samples = np.random.default_rng(1).standard_normal((8, 96, 20)).astype(np.float32)
    module = vta.compile(graph, config, calibration={"x": samples}, quantize=QuantizeConfig(skip_conv_layers=()))
    assert len(module.regions) == 1
    assert {placement.op for placement in module.placements if placement.where == "host"} <= MOVES
    with vta.open_device("sim", module.hw) as device, device.load(module) as loaded:
        assert loaded.check(x=samples[:1]).bit_exact
    wanted, got = (
        np.concatenate([evaluate(each, {"x": sample[None]})[0] for sample in samples]) for each in (graph, module.graph)
    )
    assert decibels(wanted, got) > 25
