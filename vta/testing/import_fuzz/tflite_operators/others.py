"""Arithmetic, activations, reductions, and what moves values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from vta.testing.import_fuzz.description import Illegal, Value
from vta.testing.import_fuzz.names import new_name
from vta.testing.import_fuzz.tflite_net import TfliteNet
from vta.testing.import_fuzz.tflite_operators.layers import activation, is_image

__all__ = ["OTHERS"]

_ARITHMETIC = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


def _scale_of(net: TfliteNet, name: str) -> float:
    return net.values[name].scales[0] if net.quantized else 1.0


def _like_dtype(net: TfliteNet) -> float:
    """Turns scales of int16 values into those that `TfliteNet.tensor` wants."""
    return 256.0 if net.dtype == "int16" else 1.0


def _second(net: TfliteNet, name: str) -> str:
    """Another value or a constant, of the same shape or one that broadcasts."""
    shape = net.shape(name)
    same = [v.name for v in net.values.values() if v.data is None and v.dtype == net.dtype and v.shape == shape]
    if net.rng.random() < 0.5:
        return net.rng.choice(same)
    dims = shape if net.rng.random() < 0.4 else tuple(dim if net.rng.random() < 0.5 else 1 for dim in shape)
    dims = dims[net.rng.randint(0, len(dims) - 1) :]
    return net.data(dims) if net.rng.random() < 0.6 else net.input(dims)


def _arithmetic(net: TfliteNet) -> None:
    name = net.pick()
    kind = net.rng.choice(("ADD", "ADD", "ADD", "SUB", "MUL", "MUL", *(() if net.quantized else ("DIV",))))
    other = _second(net, name)
    pair = net.rng.sample([name, other], 2)
    about = max(_scale_of(net, name), _scale_of(net, other)) * _like_dtype(net)
    if kind == "MUL":
        about = _scale_of(net, name) * _scale_of(net, other) * _like_dtype(net) * (40 if net.dtype != "int16" else 10000)
    to = net.tensor(net.shape(name), about)
    fields = {"PotScaleInt16": False} if kind in ("ADD", "SUB") and net.dtype == "int16" else {}
    net.add(kind, pair, to, options=_ARITHMETIC[kind], FusedActivationFunction=activation(net), **fields)


def _extreme(net: TfliteNet) -> None:
    name = net.pick()
    value = net.values[name]
    shape = tuple(dim if net.rng.random() < 0.6 else 1 for dim in value.shape)
    if net.quantized:
        low = -100 if net.dtype != "uint8" else 0
        other = net.constant(net.numbers.integers(low, 120, shape), net.dtype, value.scales, value.zero_points)
    else:
        other = net.floats(shape)
    net.add(
        net.rng.choice(("MAXIMUM", "MINIMUM")),
        net.rng.sample([name, other], 2),
        net.like(name, value.shape),
        options="MaximumMinimumOptions",
    )


def _rectified(net: TfliteNet) -> None:
    name = net.pick()
    to = net.like(name, net.shape(name)) if net.rng.random() < 0.4 else net.tensor(net.shape(name), _scale_of(net, name))
    if net.dtype == "int16":
        to = net.like(name, net.shape(name))
    kinds = ("RELU", "RELU6") if net.dtype == "int16" else ("RELU", "RELU6", "RELU_N1_TO_1")
    net.add(net.rng.choice(kinds), [name], to)


def _curve(net: TfliteNet) -> None:
    name = net.pick()
    shape = net.shape(name)
    kind = net.rng.choice(("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "GELU"))
    if net.dtype in ("int16",) and kind not in ("LOGISTIC", "TANH", "LEAKY_RELU"):
        raise Illegal("not for int16")
    ends = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}
    if kind == "LOGISTIC" and net.quantized:
        to = net.tensor(shape, scale=ends[net.dtype][0], zero=ends[net.dtype][1])
    elif kind == "TANH" and net.quantized:
        to = net.tensor(shape, scale=1 / 32768 if net.dtype == "int16" else 1 / 128, zero=128 if net.dtype == "uint8" else 0)
    else:
        to = net.tensor(shape, _scale_of(net, name) * _like_dtype(net))
    if kind == "LEAKY_RELU":
        net.add(kind, [name], to, options="LeakyReluOptions", Alpha=net.rng.choice((0.01, 0.1, 0.25, 1.5)))
    elif kind == "GELU":
        net.add(kind, [name], to, options="GeluOptions", Approximate=net.rng.random() < 0.5)
    else:
        net.add(kind, [name], to)


def _softmax(net: TfliteNet) -> None:
    name = net.pick(lambda value: 1 <= len(value.shape) <= 4)
    ends = {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)}
    scale, zero = ends.get(net.dtype, (0.0, 0))
    to = net.tensor(net.shape(name), scale=scale, zero=zero)
    net.add("SOFTMAX", [name], to, options="SoftmaxOptions", Beta=net.rng.choice((1.0, 1.0, 0.5, 2.0)))


def _reduced(net: TfliteNet, name: str, axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    rank = len(net.shape(name))
    gone = {axis % rank for axis in axes}
    return tuple(1 if axis in gone else dim for axis, dim in enumerate(net.shape(name)) if keep or axis not in gone)


def _reduce(net: TfliteNet) -> None:
    name = net.pick()
    rank = len(net.shape(name))
    # LiteRT's reference kernel for sums of bytes gives values that have nothing to do with the data.
    kind = net.rng.choice(("MEAN", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "MEAN" if net.quantized else "SUM"))
    axes = [1, 2] if rank == 4 and net.rng.random() < 0.6 else net.rng.sample(range(rank), net.rng.randint(1, rank))
    axes = [axis - rank if net.rng.random() < 0.2 else axis for axis in axes]
    keep = net.rng.random() < 0.5
    shape = _reduced(net, name, axes, keep)
    if not shape:
        raise Illegal("a scalar")
    to = (
        net.like(name, shape)
        if kind.startswith("REDUCE") or net.rng.random() < 0.3
        else net.tensor(shape, _scale_of(net, name) * _like_dtype(net))
    )
    net.add(kind, [name, net.constant(axes)], to, options="ReducerOptions", KeepDims=keep)


def _reshape(net: TfliteNet) -> None:
    name = net.pick()
    shape = net.shape(name)
    count = math.prod(shape)
    divisor = net.rng.choice([d for d in range(1, count + 1) if count % d == 0])
    choices: list[tuple[int, ...]] = [(count,), (shape[0], count // shape[0]), (divisor, count // divisor), (1, 1, *shape)[-5:]]
    if len(shape) == 4:
        choices += [(shape[0], shape[1] * shape[2], shape[3]), (shape[0], 1, shape[1] * shape[2], shape[3])]
    to = net.rng.choice(choices)
    if math.prod(to) != count:
        raise Illegal("another count")
    written = [-1 if net.rng.random() < 0.2 and index == 0 else dim for index, dim in enumerate(to)]
    net.add("RESHAPE", [name, net.constant(written)], net.like(name, to), options="ReshapeOptions", NewShape=tuple(written))


def _squeeze(net: TfliteNet) -> None:
    name = net.pick(lambda value: 1 in value.shape and len(value.shape) > 1)
    ones = [axis for axis, dim in enumerate(net.shape(name)) if dim == 1]
    chosen = net.rng.sample(ones, net.rng.randint(1, len(ones)))
    shape = tuple(dim for axis, dim in enumerate(net.shape(name)) if axis not in chosen)
    if not shape:
        raise Illegal("a scalar")
    net.add("SQUEEZE", [name], net.like(name, shape), options="SqueezeOptions", SqueezeDims=tuple(chosen))


def _expand(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) < 4)
    axis = net.rng.randint(-len(net.shape(name)) - 1, len(net.shape(name)))
    shape = list(net.shape(name))
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    net.add("EXPAND_DIMS", [name, net.constant(axis)], net.like(name, shape), options="ExpandDimsOptions")


def _transpose(net: TfliteNet) -> None:
    name = net.pick()
    shape = net.shape(name)
    order = net.rng.sample(range(len(shape)), len(shape))
    to = net.like(name, [shape[axis] for axis in order])
    net.add("TRANSPOSE", [name, net.constant(order)], to, options="TransposeOptions")


def _pad(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    value = net.values[name]
    widths = [[net.rng.choice((0, 0, 1, 2)) for _ in range(2)] for _ in value.shape]
    if len(value.shape) == 4 and net.rng.random() < 0.6:
        widths[0], widths[3] = [0, 0], [0, 0]
    shape = [dim + sum(pair) for dim, pair in zip(value.shape, widths, strict=True)]
    inputs = [name, net.constant(widths)]
    if net.rng.random() < 0.4:
        if net.quantized:
            low, high = (0, 255) if net.dtype == "uint8" else (-100, 100)
            inputs.append(net.constant([net.rng.randint(low, high)], net.dtype, value.scales, value.zero_points))
        else:
            inputs.append(net.constant([net.rng.choice((0.0, -1.5))], "float32"))
    kind = "PADV2" if len(inputs) == 3 else "PAD"
    net.add(kind, inputs, net.like(name, shape), options=f"{kind.title().replace('v', 'V')}Options")


def _concatenation(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    value = net.values[name]
    axis = net.axis(len(value.shape))
    parts, total = [name], value.shape[axis]
    for _ in range(net.rng.randint(1, 2)):
        shape = list(value.shape)
        shape[axis] = net.rng.randint(1, 3)
        total += shape[axis]
        other = net.like(name, shape)
        net.values[other.name] = other
        parts.append(other.name)
    net.rng.shuffle(parts)
    to = list(value.shape)
    to[axis] = total
    net.add("CONCATENATION", parts, net.like(name, to), options="ConcatenationOptions", Axis=axis, FusedActivationFunction=0)


def _slice(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    shape = net.shape(name)
    begin = [net.rng.randrange(dim) for dim in shape]
    size = [net.rng.randint(1, dim - at) for dim, at in zip(shape, begin, strict=True)]
    written = [
        -1 if at + count == dim and net.rng.random() < 0.5 else count for at, count, dim in zip(begin, size, shape, strict=True)
    ]
    net.add("SLICE", [name, net.constant(begin), net.constant(written)], net.like(name, size), options="SliceOptions")


def _strided(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    shape = net.shape(name)
    begin, end, strides, sizes = list[int](), list[int](), list[int](), list[int]()
    for dim in shape:
        first, step = net.rng.randrange(dim), net.rng.choice((1, 1, 2))
        last = net.rng.randint(first + 1, dim)
        begin.append(first if net.rng.random() < 0.7 else first - dim)
        end.append(last if last == dim or net.rng.random() < 0.7 else last - dim)
        strides.append(step)
        sizes.append(len(range(first, last, step)))
    mask = sum(1 << axis for axis in range(len(shape)) if net.rng.random() < 0.2)
    sizes = [
        len(range(0, end[axis] if end[axis] > 0 else end[axis] + dim, strides[axis])) if mask >> axis & 1 else size
        for axis, (dim, size) in enumerate(zip(shape, sizes, strict=True))
    ]
    inputs = [name, net.constant(begin), net.constant(end), net.constant(strides)]
    net.add(
        "STRIDED_SLICE",
        inputs,
        net.like(name, sizes),
        options="StridedSliceOptions",
        BeginMask=mask,
        EndMask=0,
        EllipsisMask=0,
        NewAxisMask=0,
        ShrinkAxisMask=0,
    )


def _split(net: TfliteNet) -> None:
    name = net.pick(lambda value: any(dim % 2 == 0 for dim in value.shape))
    shape = net.shape(name)
    axis = net.rng.choice([axis for axis, dim in enumerate(shape) if dim % 2 == 0])
    part = [dim // 2 if index == axis else dim for index, dim in enumerate(shape)]
    first = net.like(name, part)
    second = net.like(name, part)
    written = axis - len(shape) if net.rng.random() < 0.3 else axis
    net.add("SPLIT", [net.constant(written), name], first, second, options="SplitOptions", NumSplits=2)


def _resize(net: TfliteNet) -> None:
    name = net.pick(is_image)
    batch, height, width, channels = net.shape(name)
    factor = net.rng.choice((1, 2, 2, 3))
    sizes = [height * factor, width * factor]
    if net.rng.random() < 0.3:
        sizes = [net.rng.randint(1, 8) for _ in sizes]
    kind, options = net.rng.choice(
        (("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"), ("RESIZE_BILINEAR", "ResizeBilinearOptions"))
    )
    place = net.rng.choice(({}, {}, {"AlignCorners": True}, {"HalfPixelCenters": True}))
    net.add(kind, [name, net.constant(sizes)], net.like(name, (batch, *sizes, channels)), options=options, **place)


def _requantize(net: TfliteNet) -> None:
    if not net.quantized:
        raise Illegal("float")
    name = net.pick()
    if net.rng.random() < 0.5:
        net.add(
            "QUANTIZE", [name], net.tensor(net.shape(name), _scale_of(net, name) * _like_dtype(net)), options="QuantizeOptions"
        )
        return
    real = Value("", "float32", net.shape(name))
    middle = net.add("DEQUANTIZE", [name], _named(net, real), options="DequantizeOptions")
    if net.rng.random() < 0.6:
        net.add(
            "QUANTIZE", [middle], net.tensor(net.shape(name), _scale_of(net, name) * _like_dtype(net)), options="QuantizeOptions"
        )


def _named(net: TfliteNet, value: Value) -> Value:
    return replace(value, name=new_name(net.rng, net.values, "t"))


def _from_float(net: TfliteNet) -> None:
    """A float input, quantised."""
    if not net.quantized:
        raise Illegal("float")
    name = net.input(net.shape(net.pick()), "float32")
    net.add("QUANTIZE", [name], net.tensor(net.shape(name)), options="QuantizeOptions")


OTHERS: tuple[Callable[[TfliteNet], None], ...] = (
    _arithmetic,
    _arithmetic,
    _arithmetic,
    _extreme,
    _rectified,
    _curve,
    _curve,
    _softmax,
    _reduce,
    _reduce,
    _reshape,
    _squeeze,
    _expand,
    _transpose,
    _pad,
    _concatenation,
    _slice,
    _strided,
    _split,
    _resize,
    _requantize,
    _from_float,
)
