"""Operators that move values, on all data types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["LAYOUT", "reshape_to", "transpose"]

_ANY = ("float32", "float32", "int8", "uint8", "int32", "int64", "bool")


def _pick(net: OnnxNet) -> str:
    return net.pick(*_ANY)


def transpose(net: OnnxNet, name: str, *perm: int) -> str:
    """Add a transposition."""
    return net.apply("Transpose", name, perm=list(perm))


def reshape_to(net: OnnxNet, name: str, *shape: int) -> str:
    """Add a reshape to a constant shape."""
    return net.apply("Reshape", name, net.integers(*shape))


def _transpose(net: OnnxNet) -> None:
    name = _pick(net)
    perm = list(range(net.rank(name)))
    net.rng.shuffle(perm)
    net.add("Transpose", name, perm=None if net.rng.random() < 0.2 else perm)


def _factors(net: OnnxNet, count: int) -> list[int]:
    """Some dimensions whose product is `count`."""
    dims = list[int]()
    for _ in range(net.rng.randint(0, 3)):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        dims.append(net.rng.choice(divisors))
        count //= dims[-1]
    return [*dims, count]


def _reshape(net: OnnxNet) -> None:
    name = _pick(net)
    shape = net.shape(name)
    dims = _factors(net, math.prod(shape))
    if net.rng.random() < 0.4:
        dims[net.rng.randrange(len(dims))] = -1
    for axis, dim in enumerate(dims):
        if axis < len(shape) and shape[axis] == dim and net.rng.random() < 0.5:
            dims[axis] = 0
    net.add("Reshape", name, net.integers(*dims))


def _flatten(net: OnnxNet) -> None:
    name = _pick(net)
    rank = net.rank(name)
    axis = net.rng.randint(-rank if net.opset >= 11 else 0, rank)
    net.add("Flatten", name, axis=net.rng.choice((None, axis)))


def _squeeze(net: OnnxNet) -> None:
    name = _pick(net)
    ones = [axis for axis, dim in enumerate(net.shape(name)) if dim == 1]
    if not ones:
        raise Illegal("nothing to squeeze")
    chosen = net.rng.sample(ones, net.rng.randint(1, len(ones)))
    if net.opset >= 11 and net.rng.random() < 0.4:
        chosen = [axis - net.rank(name) for axis in chosen]
    if net.rng.random() < 0.2:
        net.add("Squeeze", name)
    elif net.opset >= 13:
        net.add("Squeeze", name, net.integers(*chosen))
    else:
        net.add("Squeeze", name, axes=chosen)


def _unsqueeze(net: OnnxNet) -> None:
    name = _pick(net)
    count = net.rng.randint(1, 2)
    if net.rank(name) + count > 6:
        raise Illegal("too many dimensions")
    rank = net.rank(name) + count
    chosen = net.rng.sample(range(rank), count)
    if net.opset >= 11:
        chosen = [axis - rank if net.rng.random() < 0.3 else axis for axis in chosen]
    if net.opset >= 13:
        net.add("Unsqueeze", name, net.integers(*chosen))
    else:
        net.add("Unsqueeze", name, axes=chosen)


def _concat(net: OnnxNet) -> None:
    name = _pick(net)
    value, axis = net.values[name], net.axis(name)
    if net.opset < 11:
        axis %= net.rank(name)
    parts = [name]
    for _ in range(net.rng.randint(0, 2)):
        shape = list(value.shape)
        shape[axis] = net.rng.randint(1, 3)
        parts.append(name if net.rng.random() < 0.2 else _constant_like(net, tuple(shape), value.dtype))
    net.rng.shuffle(parts)
    net.add("Concat", *parts, axis=axis)


def _constant_like(net: OnnxNet, shape: tuple[int, ...], dtype: str) -> str:
    if dtype == "float32":
        return net.floats(shape)
    least, most = (0, 1) if dtype == "bool" else (0, 255) if dtype == "uint8" else (-100, 100)
    return net.constant(net.numbers.integers(least, most + 1, shape).astype(dtype))


def _split(net: OnnxNet) -> None:
    name = _pick(net)
    axis = net.axis(name)
    if net.opset < 11:
        axis %= net.rank(name)
    size = net.shape(name)[axis]
    parts = net.rng.randint(1, min(3, size))
    cuts = sorted(net.rng.sample(range(1, size), parts - 1))
    sizes = [end - begin for begin, end in zip([0, *cuts], [*cuts, size], strict=True)]
    if net.rng.random() < 0.3 and size % parts == 0:
        net.add("Split", name, outputs=parts, axis=axis, num_outputs=parts if net.opset >= 18 else None)
    elif net.opset >= 13:
        net.add("Split", name, net.integers(*sizes), outputs=parts, axis=axis)
    else:
        net.add("Split", name, outputs=parts, axis=axis, split=sizes)


def _bounds(net: OnnxNet, size: int, backwards: bool) -> tuple[int, int, int]:
    """Start, end and step of a slice that is not empty, in some of the ways that they can be written."""
    begin = net.rng.randrange(size)
    last = net.rng.randint(begin, size - 1)
    step = net.rng.choice((1, 1, 1, 2, 3))
    if backwards:
        end = begin - 1 if begin else -(2**31) if net.rng.random() < 0.5 else -size - 1
        return last, end, -step
    end = last + 1 if last + 1 < size or net.rng.random() < 0.5 else net.rng.choice((2**31 - 1, 2**63 - 1, size + 3))
    if end < size and net.rng.random() < 0.4:
        end -= size
    if net.rng.random() < 0.3:
        begin -= size
    return begin, end, step


def _slice(net: OnnxNet) -> None:
    name = _pick(net)
    if not net.rank(name):
        raise Illegal("a scalar cannot be sliced")
    axes = net.axes(name)
    given = [_bounds(net, net.shape(name)[axis], net.opset >= 10 and net.rng.random() < 0.15) for axis in axes]
    starts, ends, steps = ([bound[part] for bound in given] for part in range(3))
    if net.opset < 10:
        if any(step != 1 for step in steps) or any(axis < 0 for axis in axes):
            raise Illegal("no steps before version 10")
        net.add("Slice", name, starts=starts, ends=ends, axes=axes)
        return
    inputs = [net.integers(*starts), net.integers(*ends), net.integers(*axes)]
    if any(step != 1 for step in steps) or net.rng.random() < 0.3:
        inputs.append(net.integers(*steps))
    net.add("Slice", name, *inputs)


def _gather(net: OnnxNet) -> None:
    name = net.pick(*_ANY)
    axis = net.axis(name)
    size, least = net.shape(name)[axis], -net.shape(name)[axis] if net.opset >= 11 else 0
    if net.opset < 11:
        axis %= net.rank(name)
    shape = net.rng.choice(((), (1,), (3,), (2, 2)))
    indices = net.numbers.integers(least, size, shape).astype(net.rng.choice(("int32", "int64")))
    net.add("Gather", name, net.constant(indices), axis=axis)


def _table(net: OnnxNet) -> None:
    """Rows of a constant table by an input, as embeddings do."""
    rows, width = net.rng.randint(2, 6), net.rng.randint(1, 5)
    table = _constant_like(net, (rows, width), net.rng.choice(("float32", "float32", "uint8", "int8", "int64")))
    index = net.input(net.rng.choice(((3,), (2, 2), (1,))), net.rng.choice(("int64", "int32")), f"index {rows}")
    net.add("Gather", table, index, axis=0)


def _pad(net: OnnxNet) -> None:
    name = net.pick(*(("float32",) if net.opset < 13 else ("float32", "float32", "int8", "uint8", "int64")))
    shape, rank = net.shape(name), net.rank(name)
    mode = net.rng.choice(("constant", "constant", "constant", "edge", "reflect"))
    most = [dim - 1 if mode == "reflect" else 2 for dim in shape]
    pads = [[net.rng.randint(0, min(2, limit)) if net.rng.random() < 0.5 else 0 for limit in most] for _ in range(2)]
    if mode == "constant" and net.rng.random() < 0.2:
        axis = net.rng.randrange(rank) if rank else 0
        if rank and shape[axis] > 1:
            pads[net.rng.randrange(2)][axis] = -1
    flat = [*pads[0], *pads[1]]
    if net.opset < 11:
        net.add("Pad", name, pads=flat, mode=mode, value=net.rng.choice((None, 0.0, 1.5)))
        return
    inputs = [net.integers(*flat)]
    if mode == "constant" and net.rng.random() < 0.6:
        inputs.append(_constant_like(net, (), net.values[name].dtype))
    if net.opset >= 18 and net.rng.random() < 0.4 and rank:
        axes = list(range(rank))
        net.rng.shuffle(axes)
        chosen = [[before[axis] for axis in axes] for before in pads]
        axes = [axis - rank if net.rng.random() < 0.3 else axis for axis in axes]
        inputs = [net.integers(*chosen[0], *chosen[1]), *(inputs[1:] or [""]), net.integers(*axes)]
    net.add("Pad", name, *inputs, mode=mode)


def _expand(net: OnnxNet) -> None:
    if net.opset < 8:
        raise Illegal("since version 8")
    name = _pick(net)
    shape = [net.rng.choice((2, 3)) if dim == 1 and net.rng.random() < 0.6 else dim for dim in net.shape(name)]
    shape = [1 if net.rng.random() < 0.2 else dim for dim in shape]
    if net.rng.random() < 0.3:
        shape = [net.rng.choice((1, 2)), *shape]
    elif len(shape) > 1 and net.rng.random() < 0.2:
        shape = shape[1:]
    net.add("Expand", name, net.integers(*shape))


def _tile(net: OnnxNet) -> None:
    name = _pick(net)
    net.add("Tile", name, net.integers(*(net.rng.choice((1, 1, 2, 3)) for _ in net.shape(name))))


def _depth(net: OnnxNet) -> None:
    kind = net.rng.choice(("DepthToSpace", "SpaceToDepth"))
    name = net.pick(where=lambda value: len(value.shape) == 4)
    _, channels, height, width = net.shape(name)
    if kind == "DepthToSpace":
        if channels % 4:
            name = net.apply("Concat", *[name] * 4, axis=1)
        net.add(kind, name, blocksize=2, mode=net.rng.choice((None, "DCR", "CRD")) if net.opset >= 11 else None)
    else:
        if height % 2 or width % 2:
            raise Illegal("an odd size")
        net.add(kind, name, blocksize=2)


def _shape_of(net: OnnxNet) -> None:
    name = _pick(net)
    bounds: dict[str, Any] = (
        {} if net.opset < 15 else {"start": net.rng.choice((None, 0, 1, -1)), "end": net.rng.choice((None, 2, -1))}
    )
    net.add("Shape", name, **bounds)


def _constant_of_shape(net: OnnxNet) -> None:
    if net.opset < 9:
        raise Illegal("since version 9")
    name = net.pick()
    dims = net.apply("Shape", name)
    filled = net.apply("ConstantOfShape", net.integers(*net.shape(name)), value=np.array([1.5], np.float32))
    types = [("float32", net.shape(name))]
    net.add("Add", net.apply("Reshape", name, dims, types=types, exact=net.values[name].exact), filled)


def _identity(net: OnnxNet) -> None:
    net.add("Identity", _pick(net))


LAYOUT: tuple[Callable[[OnnxNet], None], ...] = (
    _transpose,
    _reshape,
    _flatten,
    _squeeze,
    _unsqueeze,
    _concat,
    _split,
    _slice,
    _slice,
    _gather,
    _table,
    _pad,
    _expand,
    _tile,
    _depth,
    _shape_of,
    _constant_of_shape,
    _identity,
)
