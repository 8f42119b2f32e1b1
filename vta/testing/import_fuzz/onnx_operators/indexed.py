"""Operators on positions: gathers, scatters, the largest values, sequences in reverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vta.testing.import_fuzz.description import Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["INDEXED"]

_ANY = ("float32", "float32", "int8", "uint8", "int32", "int64")


def _since(net: OnnxNet, opset: int) -> None:
    if net.opset < opset:
        raise Illegal(f"since version {opset}")


def _places(net: OnnxNet, size: int, shape: tuple[int, ...]) -> str:
    """Positions on an axis of `size`, from the front or from the back."""
    return net.constant(net.numbers.integers(-size, size, shape).astype(net.rng.choice(("int32", "int64"))))


def _gather_elements(net: OnnxNet) -> None:
    _since(net, 11)
    name = net.pick(*_ANY)
    axis = net.axis(name)
    shape = [net.rng.randint(1, dim) for dim in net.shape(name)]
    shape[axis] = net.rng.randint(1, 4)
    net.add("GatherElements", name, _places(net, net.shape(name)[axis], tuple(shape)), axis=axis)


def _gather_nd(net: OnnxNet) -> None:
    _since(net, 12)
    name = net.pick(*_ANY)
    if not net.rank(name):
        raise Illegal("a scalar has no positions")
    shape = net.shape(name)
    depth, lead = net.rng.randint(1, len(shape)), net.rng.choice(((), (2,), (2, 3)))
    columns = [net.numbers.integers(-dim, dim, lead) for dim in shape[:depth]]
    net.add("GatherND", name, net.constant(np.stack(columns, axis=-1).astype(np.int64)))


def _scatter(net: OnnxNet) -> None:
    """Positions along the axis are different ones: which of two equal ones counts is open."""
    _since(net, 9)
    name = net.pick(*_ANY)
    axis = net.axis(name) if net.opset >= 11 else net.axis(name) % net.rank(name)
    size = net.shape(name)[axis]
    shape = [net.rng.randint(1, dim) for dim in net.shape(name)]
    places = np.argsort(net.numbers.random([*shape[: axis % len(shape)], size, *shape[axis % len(shape) + 1 :]]), axis=axis)
    chosen = np.take(places, range(shape[axis]), axis=axis).astype(np.int64)
    updates = net.numbers.integers(0, 9, chosen.shape).astype(net.values[name].dtype)
    net.add("ScatterElements" if net.opset >= 11 else "Scatter", name, net.constant(chosen), net.constant(updates), axis=axis)


def _scatter_nd(net: OnnxNet) -> None:
    _since(net, 11)
    name = net.pick(*_ANY)
    if not net.rank(name):
        raise Illegal("a scalar has no positions")
    first, *rest = net.shape(name)
    rows = net.numbers.permutation(first)[: net.rng.randint(1, first)]
    updates = net.numbers.integers(0, 9, (len(rows), *rest)).astype(net.values[name].dtype)
    net.add("ScatterND", name, net.constant(rows[:, None].astype(np.int64)), net.constant(updates))


def _top_k(net: OnnxNet) -> None:
    """Of values that every engine computes alike: one that is a little off may change places."""
    name = net.pick("float32", where=lambda value: value.exact)
    axis = net.axis(name) if net.opset >= 11 else net.axis(name) % net.rank(name)
    count = net.rng.randint(1, net.shape(name)[axis])
    if net.opset < 10:
        net.add("TopK", name, outputs=2, axis=axis, k=count)
        return
    largest = net.rng.choice((None, 0, 1)) if net.opset >= 11 else None
    net.add("TopK", name, net.integers(count), outputs=2, axis=axis, largest=largest)


def _reverse_sequence(net: OnnxNet) -> None:
    _since(net, 10)
    name = net.pick(*_ANY, where=lambda value: len(value.shape) >= 2)
    time = net.rng.randrange(2)
    shape = net.shape(name)
    lengths = net.numbers.integers(1, shape[time] + 1, shape[1 - time]).astype(np.int64)
    net.add("ReverseSequence", name, net.constant(lengths), time_axis=time, batch_axis=1 - time)


INDEXED: tuple[Callable[[OnnxNet], None], ...] = (_gather_elements, _gather_nd, _scatter, _scatter_nd, _top_k, _reverse_sequence)
