"""Functions of one float, comparisons, choices, gathers, packs and what else there is in TFLite."""

from __future__ import annotations

from collections.abc import Callable

from vta.testing.import_fuzz.description import Illegal, Value
from vta.testing.import_fuzz.names import new_name
from vta.testing.import_fuzz.tflite_net import TfliteNet
from vta.testing.import_fuzz.tflite_operators.layers import is_image

__all__ = ["MORE"]

_SMOOTH = ("ABS", "EXP", "NEG", "SQUARE")
_OF_POSITIVE = ("LOG", "SQRT", "RSQRT")
_WITH_JUMPS = ("CEIL", "FLOOR")
_COMPARISONS = {
    "EQUAL": "EqualOptions",
    "NOT_EQUAL": "NotEqualOptions",
    "GREATER": "GreaterOptions",
    "GREATER_EQUAL": "GreaterEqualOptions",
    "LESS": "LessOptions",
    "LESS_EQUAL": "LessEqualOptions",
}
_FUNCTION_OPTIONS = {"ABS": "AbsOptions", "EXP": "ExpOptions", "NEG": "NegOptions", "SQUARE": "SquareOptions"}


def _floats_only(net: TfliteNet) -> None:
    if net.quantized:
        raise Illegal("floats only")


def _bools(net: TfliteNet, shape: tuple[int, ...]) -> Value:
    return Value(new_name(net.rng, net.values, "t"), "bool", shape)


def _is_exact(value: Value) -> bool:
    return value.exact


def _function(net: TfliteNet) -> None:
    _floats_only(net)
    kind = net.rng.choice((*_SMOOTH, *_OF_POSITIVE, *_WITH_JUMPS))
    name = net.pick(_is_exact) if kind in _WITH_JUMPS else net.pick()
    shape = net.shape(name)
    if kind in _OF_POSITIVE:
        positive = net.add("ABS", [name], net.tensor(shape), options="AbsOptions")
        quarter = net.constant(0.25, "float32")
        name = net.add("ADD", [positive, quarter], net.tensor(shape), options="AddOptions", FusedActivationFunction=0)
    exact = kind in (*_WITH_JUMPS, "ABS", "NEG", "SQUARE", "SQRT")
    net.add(kind, [name], net.tensor(shape), options=_FUNCTION_OPTIONS.get(kind, ""), exact=exact)


def _compare(net: TfliteNet) -> None:
    name = net.pick(_is_exact)
    value = net.values[name]
    kind = net.rng.choice(list(_COMPARISONS))
    shape = tuple(dim if net.rng.random() < 0.6 else 1 for dim in value.shape)
    if net.quantized:
        low, high = (0, 256) if net.dtype == "uint8" else (-128, 128)
        other = net.constant(net.numbers.integers(low, high, shape), net.dtype, value.scales, value.zero_points)
    else:
        other = net.floats(shape)
    found = net.add(kind, [name, other], _bools(net, value.shape), options=_COMPARISONS[kind])
    if net.rng.random() < 0.5:
        chosen = net.data(value.shape) if not net.quantized else other
        if net.shape(chosen) == value.shape:
            net.add("SELECT_V2", [found, name, chosen], net.like(name, value.shape), options="SelectV2Options", exact=value.exact)


def _squared_difference(net: TfliteNet) -> None:
    _floats_only(net)
    name = net.pick()
    other = net.floats(net.shape(name)[-1:])
    net.add("SQUARED_DIFFERENCE", [name, other], net.tensor(net.shape(name)), options="SquaredDifferenceOptions", exact=True)


def _prelu(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) == 4)
    channels = net.shape(name)[-1]
    slope = net.data((1, 1, channels), 0.01)
    net.add("PRELU", [name, slope], net.tensor(net.shape(name), net.values[name].scales[0] if net.quantized else 1.0))


def _normalized(net: TfliteNet) -> None:
    _floats_only(net)
    name = net.pick(lambda value: len(value.shape) >= 2)
    kind = net.rng.choice(("L2_NORMALIZATION", "LOG_SOFTMAX"))
    if kind == "LOG_SOFTMAX":
        net.add(kind, [name], net.tensor(net.shape(name)), options="LogSoftmaxOptions")
    else:
        net.add(kind, [name], net.tensor(net.shape(name)), options="L2NormOptions", FusedActivationFunction=0)


def _gather(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 3)
    shape = net.shape(name)
    axis = net.rng.randrange(len(shape))
    count = net.rng.randint(1, 3)
    indices = net.constant(net.numbers.integers(0, shape[axis], count))
    to = (*shape[:axis], count, *shape[axis + 1 :])
    written = axis - len(shape) if net.rng.random() < 0.3 else axis
    net.add("GATHER", [name, indices], net.like(name, to), options="GatherOptions", Axis=written, BatchDims=0)


def _pack(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 3)
    shape = net.shape(name)
    axis = net.rng.randint(0, len(shape))
    to = (*shape[:axis], 2, *shape[axis:])
    net.add(
        "PACK", [name, name], net.like(name, to), options="PackOptions", ValuesCount=2, Axis=axis, exact=net.values[name].exact
    )


def _unpack(net: TfliteNet) -> None:
    name = net.pick(lambda value: 2 <= len(value.shape) <= 4 and min(value.shape) <= 3)
    shape = net.shape(name)
    axis = net.rng.choice([axis for axis, dim in enumerate(shape) if dim <= 3])
    to = (*shape[:axis], *shape[axis + 1 :])
    parts = [net.like(name, to) for _ in range(shape[axis])]
    net.add("UNPACK", [name], *parts, options="UnpackOptions", Num=shape[axis], Axis=axis, exact=net.values[name].exact)


def _split_sizes(net: TfliteNet) -> None:
    name = net.pick(lambda value: max(value.shape) >= 3)
    shape = net.shape(name)
    axis = shape.index(max(shape))
    first = net.rng.randint(1, shape[axis] - 1)
    sizes = [first, shape[axis] - first]
    parts = [net.like(name, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes]
    inputs = [name, net.constant(sizes), net.constant(axis)]
    net.add("SPLIT_V", inputs, *parts, options="SplitVOptions", NumSplits=2, exact=net.values[name].exact)


def _tile(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    repeats = [net.rng.choice((1, 1, 2, 3)) for _ in net.shape(name)]
    to = [dim * times for dim, times in zip(net.shape(name), repeats, strict=True)]
    net.add("TILE", [name, net.constant(repeats)], net.like(name, to), options="TileOptions", exact=net.values[name].exact)


def _mirror(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    shape = net.shape(name)
    widths = [[net.rng.randint(0, min(1, dim - 1)) for _ in range(2)] for dim in shape]
    to = [dim + sum(pair) for dim, pair in zip(shape, widths, strict=True)]
    inputs, exact = [name, net.constant(widths)], net.values[name].exact
    net.add("MIRROR_PAD", inputs, net.like(name, to), options="MirrorPadOptions", exact=exact, Mode=net.rng.choice((0, 1)))


def _depth(net: TfliteNet) -> None:
    name = net.pick(is_image)
    batch, height, width, channels = net.shape(name)
    if height % 2 == width % 2 == 0 and net.rng.random() < 0.5:
        to = net.like(name, (batch, height // 2, width // 2, channels * 4))
        net.add("SPACE_TO_DEPTH", [name], to, options="SpaceToDepthOptions", BlockSize=2, exact=net.values[name].exact)
    elif channels % 4 == 0:
        to = net.like(name, (batch, height * 2, width * 2, channels // 4))
        net.add("DEPTH_TO_SPACE", [name], to, options="DepthToSpaceOptions", BlockSize=2, exact=net.values[name].exact)
    else:
        raise Illegal("sizes that do not fit")


def _reverse(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) <= 4)
    axis = net.rng.randrange(len(net.shape(name)))
    to = net.like(name, net.shape(name))
    net.add("REVERSE_V2", [name, net.constant([axis])], to, options="ReverseV2Options", exact=net.values[name].exact)


def _arg(net: TfliteNet) -> None:
    name = net.pick(_is_exact)
    shape = net.shape(name)
    if len(shape) < 2 or net.dtype == "int16":
        raise Illegal("a scalar, or not for int16")
    axis = net.rng.randrange(len(shape))
    kind = net.rng.choice(("ARG_MAX", "ARG_MIN"))
    to = Value(new_name(net.rng, net.values, "t"), "int32", (*shape[:axis], *shape[axis + 1 :]))
    options = "ArgMaxOptions" if kind == "ARG_MAX" else "ArgMinOptions"
    net.add(kind, [name, net.constant(axis)], to, options=options, OutputType=2)


MORE: tuple[Callable[[TfliteNet], None], ...] = (
    _function,
    _function,
    _compare,
    _squared_difference,
    _prelu,
    _normalized,
    _gather,
    _pack,
    _unpack,
    _split_sizes,
    _tile,
    _mirror,
    _depth,
    _reverse,
    _arg,
)
