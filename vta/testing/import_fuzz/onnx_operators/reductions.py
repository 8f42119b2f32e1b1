"""Reductions, softmax, and normalisations by statistics of the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal, Value
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["REDUCTIONS"]

_REDUCE = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    *("ReduceLogSum", "ReduceLogSumExp", "ReduceProd"),
)


def _ranked(value: Value) -> bool:
    return len(value.shape) > 0


def _reduce(net: OnnxNet) -> None:
    kind = net.rng.choice(_REDUCE)
    name = net.pick(where=_ranked)
    if kind == "ReduceLogSum":
        name = net.apply("Add", net.apply("Abs", name), net.constant(np.float32(0.25)))
    axes = net.axes(name)
    if net.opset < 11:
        axes = [axis % net.rank(name) for axis in axes]
    keepdims = net.rng.choice((None, 0, 1))
    noop = None
    since = 13 if kind == "ReduceSum" else 18
    everything = net.rng.random() < 0.15
    if net.opset >= since:
        noop = net.rng.choice((None, 0, 1))
        inputs = () if everything else (net.integers(*axes),)
        net.add(kind, name, *inputs, keepdims=keepdims, noop_with_empty_axes=noop)
    else:
        net.add(kind, name, keepdims=keepdims, axes=None if everything else axes)


def _arg(net: OnnxNet) -> None:
    name = net.pick("float32", "int32", where=lambda value: _ranked(value) and value.exact)
    axis = net.axis(name)
    if net.opset < 11:
        axis %= net.rank(name)
    last = net.rng.choice((None, 0, 1)) if net.opset >= 12 else None
    kind = net.rng.choice(("ArgMax", "ArgMin"))
    net.add(kind, name, axis=axis, keepdims=net.rng.choice((None, 0, 1)), select_last_index=last)


def _softmax(net: OnnxNet) -> None:
    name = net.pick(where=_ranked)
    axis = net.axis(name)
    if net.opset < 11:
        axis %= net.rank(name)
    kind = net.rng.choice(("Softmax", "Softmax", "LogSoftmax"))
    if net.rng.random() < 0.3 and net.rank(name) > 1:
        net.add(kind, name)
    else:
        net.add(kind, name, axis=axis)


def _layer_normalization(net: OnnxNet) -> None:
    if net.opset < 17:
        raise Illegal("since version 17")
    name = net.pick(where=_ranked)
    axis = net.axis(name)
    shape = net.shape(name)[axis % net.rank(name) :]
    if math.prod(shape) < 3:
        raise Illegal("statistics of one or two values")
    inputs = [name, net.floats(shape)] + ([net.floats(shape)] if net.rng.random() < 0.7 else [])
    epsilon = net.rng.choice((None, 1e-5, 1e-3))
    net.add("LayerNormalization", *inputs, axis=axis, epsilon=epsilon)


def _instance_normalization(net: OnnxNet) -> None:
    name = net.pick(where=lambda value: len(value.shape) >= 3 and math.prod(value.shape[2:]) > 2)
    channels = net.shape(name)[1]
    epsilon = net.rng.choice((None, 1e-3))
    net.add("InstanceNormalization", name, net.floats((channels,)), net.floats((channels,)), epsilon=epsilon)


def _group_normalization(net: OnnxNet) -> None:
    if net.opset < 18:
        raise Illegal("since version 18")
    name = net.pick(where=lambda value: len(value.shape) >= 3 and math.prod(value.shape[2:]) > 2)
    channels = net.shape(name)[1]
    groups = net.rng.choice([d for d in range(1, channels + 1) if channels % d == 0])
    count = channels if net.opset >= 21 else groups
    types = [(net.values[name].dtype, net.shape(name))]
    net.add("GroupNormalization", name, net.floats((count,)), net.floats((count,)), num_groups=groups, types=types)


def _lp_normalization(net: OnnxNet) -> None:
    name = net.pick(where=_ranked)
    net.add("LpNormalization", name, axis=net.axis(name), p=net.rng.choice((1, 2)))


def _mean_variance(net: OnnxNet) -> None:
    if net.opset < 9:
        raise Illegal("since version 9")
    name = net.pick(where=lambda value: len(value.shape) == 4 and math.prod(value.shape[2:]) > 2)
    net.add("MeanVarianceNormalization", name, axes=net.rng.choice((None, [0, 2, 3], [2, 3], [1, 2, 3])))


def _lrn(net: OnnxNet) -> None:
    name = net.pick(where=lambda value: len(value.shape) == 4)
    size = net.rng.choice((1, 3, 5))
    choices = {"alpha": 1e-2, "beta": 0.5, "bias": 2.0}
    options: dict[str, Any] = {key: item for key, item in choices.items() if net.rng.random() < 0.5}
    net.add("LRN", name, size=size, **options)


REDUCTIONS: tuple[Callable[[OnnxNet], None], ...] = (
    _reduce,
    _reduce,
    _reduce,
    _arg,
    _softmax,
    _softmax,
    _layer_normalization,
    _instance_normalization,
    _group_normalization,
    _lp_normalization,
    _mean_variance,
    _lrn,
)
