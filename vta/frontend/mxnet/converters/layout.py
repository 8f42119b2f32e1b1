"""MXNet's operators that move values: reshape, transpose, concatenate, slice, pad."""

from __future__ import annotations

import math

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import sliced
from vta.frontend.mxnet.layer import Converter, Layer
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS", "reshaped"]


def reshaped(shape: tuple[int, ...], codes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that MXNet's Reshape gives a value of `shape`.

    A code above 0 is a dimension; 0 copies one; -1 takes what is left; -2 copies all that remain; -3 joins the next two; -4
    splits the next into the two codes that follow, of which one may be -1. Raises `ImportModelError` if they do not fit.
    """
    left, result, queue = list(shape), list[int](), list(codes)
    try:
        while queue:
            code = queue.pop(0)
            if code == -2:
                result += left
                left = []
            elif code == -3:
                result.append(left.pop(0) * left.pop(0))
            elif code == -4:
                result += _split(left.pop(0), queue.pop(0), queue.pop(0))
            elif code == 0:
                result.append(left.pop(0))
            elif code >= -1:
                result.append(code)
                left = left[1:]
            else:
                raise ImportModelError(f"shape code {code} is not known; known are -4 and up")
    except IndexError:
        raise ImportModelError(f"shape codes {codes} need more dimensions than {shape} has") from None
    return _with_rest(shape, result, codes)


def _split(dim: int, first: int, second: int) -> tuple[int, int]:
    if first == -1:
        first = dim // second
    elif second == -1:
        second = dim // first
    if first * second != dim:
        raise ImportModelError(f"dimension {dim} cannot be split into {first} and {second}")
    return first, second


def _with_rest(shape: tuple[int, ...], result: list[int], codes: tuple[int, ...]) -> tuple[int, ...]:
    size, known = math.prod(shape), math.prod(dim for dim in result if dim != -1)
    if result.count(-1) == 1 and known > 0:
        result[result.index(-1)] = size // known
    if math.prod(result) != size or -1 in result:
        raise ImportModelError(f"shape codes {codes} do not fit a value of shape {shape}")
    return tuple(result)


def _reshape(layer: Layer) -> Node:
    if layer.attrs.boolean("reverse", False):
        raise UnsupportedNodeError("reverse=True")
    data = layer.tensor()
    return layer.call(ops.RESHAPE, data, newshape=reshaped(data.shape, layer.attrs.integers("shape")))


def _flatten(layer: Layer) -> Node:
    return layer.call(ops.BATCH_FLATTEN, layer.tensor())


def _transpose(layer: Layer) -> Node:
    data = layer.tensor()
    axes = layer.attrs.integers("axes", ()) or tuple(reversed(range(len(data.shape))))
    return layer.call(ops.TRANSPOSE, data, axes=axes)


def _swap_axes(layer: Layer) -> Node:
    data = layer.tensor()
    axes = list(range(len(data.shape)))
    first, second = layer.attrs.integer("dim1", 0), layer.attrs.integer("dim2", 0)
    axes[first], axes[second] = axes[second], axes[first]
    return layer.call(ops.TRANSPOSE, data, axes=tuple(axes))


def _expand_dims(layer: Layer) -> Node:
    return layer.call(ops.EXPAND_DIMS, layer.tensor(), axis=layer.attrs.integer("axis"))


def _squeeze(layer: Layer) -> Node:
    data = layer.tensor()
    ones = tuple(axis for axis, dim in enumerate(data.shape) if dim == 1)
    return layer.call(ops.SQUEEZE, data, axis=layer.attrs.integers("axis", ()) or ones)


def _concat(layer: Layer) -> Node:
    return layer.call(ops.CONCATENATE, *layer.tensors(), axis=layer.attrs.integer("dim", 1))


def _slice_axis(layer: Layer) -> Node:
    data = layer.tensor()
    axis = layer.attrs.integer("axis") % len(data.shape)
    end = layer.attrs.optional_integers("end") or (None,)
    return sliced(layer.call, data, {axis: (layer.attrs.integer("begin"), end[0], None)})


def _slice(layer: Layer) -> Node:
    begin, end = layer.attrs.optional_integers("begin"), layer.attrs.optional_integers("end")
    steps = layer.attrs.optional_integers("step") or (None,) * len(begin)
    return sliced(layer.call, layer.tensor(), dict(enumerate(zip(begin, end, steps, strict=True))))


def _split_channel(layer: Layer) -> tuple[Node, ...]:
    data, count = layer.tensor(), layer.attrs.integer("num_outputs")
    axis = layer.attrs.integer("axis", 1) % len(data.shape)
    size, rest = divmod(data.shape[axis], count)
    if rest:
        raise ImportModelError(f"dimension {data.shape[axis]} cannot be split into {count} equal parts")
    parts = [sliced(layer.call, data, {axis: (i * size, (i + 1) * size, None)}) for i in range(count)]
    if layer.attrs.boolean("squeeze_axis", False):
        parts = [layer.call(ops.SQUEEZE, part, axis=(axis,)) for part in parts]
    return tuple(parts)


def _pad(layer: Layer) -> Node:
    mode = layer.attrs.string("mode", "constant")
    if mode != "constant":
        raise UnsupportedNodeError(f"mode {mode}")
    widths = layer.attrs.integers("pad_width")
    pairs = tuple(zip(widths[::2], widths[1::2], strict=True))
    return layer.call(ops.PAD, layer.tensor(), pad_width=pairs, pad_value=layer.attrs.number("constant_value", 0.0))


def _up_sampling(layer: Layer) -> Node:
    kind = layer.attrs.string("sample_type")
    if kind != "nearest" or layer.arity != 1:
        raise UnsupportedNodeError(f"sample_type {kind} with {layer.arity} inputs")
    scale = layer.attrs.integer("scale")
    return layer.call(ops.UPSAMPLING, layer.tensor(), scale_h=scale, scale_w=scale)


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("Concat", "concat"), _concat),
    **dict.fromkeys(("Flatten", "flatten"), _flatten),
    **dict.fromkeys(("Pad", "pad"), _pad),
    **dict.fromkeys(("Reshape", "reshape"), _reshape),
    **dict.fromkeys(("SliceChannel", "split"), _split_channel),
    **dict.fromkeys(("SwapAxis", "swapaxes"), _swap_axes),
    "UpSampling": _up_sampling,
    "expand_dims": _expand_dims,
    "slice": _slice,
    "slice_axis": _slice_axis,
    "squeeze": _squeeze,
    "transpose": _transpose,
}
