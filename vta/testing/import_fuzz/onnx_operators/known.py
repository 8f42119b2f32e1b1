"""Operators on constants alone, which exporters leave to whoever reads the model, and what reads their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["KNOWN"]

Known = Callable[[OnnxNet], str]


def _since(net: OnnxNet, version: int) -> None:
    if net.opset < version:
        raise Illegal(f"since version {version}")


def _triangle(net: OnnxNet) -> str:
    """A causal mask."""
    _since(net, 14)
    size = net.rng.randint(2, 5)
    return net.apply("Trilu", net.floats((size, size), "eighths"), upper=net.rng.choice((None, 0, 1)), exact=True)


def _sums(net: OnnxNet) -> str:
    _since(net, 11)
    axis = net.constant(np.int64(net.rng.choice((0, 1, -1))))
    options: dict[str, Any] = {"exclusive": net.rng.choice((None, 1)), "reverse": net.rng.choice((None, 1))}
    return net.apply("CumSum", net.floats((3, 4), "eighths"), axis, exact=True, **options)


def _waves(net: OnnxNet) -> str:
    """Sines of positions, as transformers add them."""
    positions = net.constant(np.arange(net.rng.randint(2, 6), dtype=np.float32) / 4)
    return net.apply(net.rng.choice(("Sin", "Cos")), positions)


def _one_hot(net: OnnxNet) -> str:
    _since(net, 9)
    indices = net.constant(net.numbers.integers(0, 4, 3).astype(np.int64))
    values = net.constant(np.array([0.0, 1.0], np.float32))
    return net.apply("OneHot", indices, net.constant(np.int64(4)), values, axis=net.rng.choice((None, -1)), exact=True)


def _eye(net: OnnxNet) -> str:
    _since(net, 9)
    size = net.rng.randint(2, 5)
    return net.apply("EyeLike", net.floats((size, size), "eighths"), dtype=1, exact=True)


def _range(net: OnnxNet) -> str:
    _since(net, 11)
    bounds = [net.constant(np.int64(value)) for value in (0, net.rng.randint(2, 6), net.rng.choice((1, 2)))]
    return net.apply("Cast", net.apply("Range", *bounds, exact=True), to=1)


def _scattered(net: OnnxNet) -> str:
    _since(net, 11)
    data, updates = net.floats((2, 4), "eighths"), net.floats((1, 2), "eighths")
    indices = net.constant(np.array([[1, 0]], np.int64))
    return net.apply("ScatterElements", data, indices, updates, axis=0, exact=True)


def _product(net: OnnxNet) -> str:
    since = 18
    data = net.floats((3, 2), "eighths")
    axes = net.opset >= since
    inputs = (data, net.integers(0)) if axes else (data,)
    return net.apply("ReduceProd", *inputs, axes=None if axes else [0], exact=True)


_CONSTANTS: tuple[Known, ...] = (_triangle, _sums, _waves, _one_hot, _eye, _range, _scattered, _product)


def _known(net: OnnxNet) -> None:
    """Add or multiply what is known to an input that it broadcasts with."""
    found = net.rng.choice(_CONSTANTS)(net)
    data = net.input((net.rng.randint(1, 3), *net.shape(found)), draw="eighths")
    net.add(net.rng.choice(("Add", "Mul")), data, found)


KNOWN: tuple[Callable[[OnnxNet], None], ...] = (_known,)
