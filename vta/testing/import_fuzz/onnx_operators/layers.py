"""Layers with weights, pooling, resizing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["LAYERS", "convolution_attributes", "image", "reaches_every_value", "window_attributes"]


def image(net: OnnxNet, least: int = 3, most: int = 4) -> str:
    """Return a float value of batch, channels, and one or two dimensions of space; made if there is none."""
    return net.pick(where=lambda value: least <= len(value.shape) <= most)


def window_attributes(net: OnnxNet, kernel: list[int], size: tuple[int, ...], dilated: bool = True) -> dict[str, Any]:
    """Strides, dilations and padding for a window, some of them left out."""
    dims = len(kernel)
    found: dict[str, Any] = {"strides": None, "dilations": None, "pads": None, "auto_pad": None}
    if net.rng.random() < 0.5:
        found["strides"] = [net.rng.randint(1, 3) for _ in kernel]
    if dilated and net.rng.random() < 0.25:
        found["dilations"] = [net.rng.choice((1, 2)) for _ in kernel]
    chance = net.rng.random()
    if chance < 0.5:
        spread = found["dilations"] or [1] * dims
        most = [step * (width - 1) for step, width in zip(spread, kernel, strict=True)]
        found["pads"] = [net.rng.randint(0, min(2, limit)) for limit in (*most, *most)]
    elif chance < 0.75:
        found["auto_pad"] = net.rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
        if found["auto_pad"].startswith("SAME"):
            # ONNX Runtime refuses both together.
            found["dilations"] = None
    return found


def _kernel(net: OnnxNet, name: str) -> list[int]:
    return [net.rng.randint(1, min(3, dim)) for dim in net.shape(name)[2:]]


def convolution_attributes(net: OnnxNet, name: str) -> tuple[list[int], int, dict[str, Any]]:
    """Kernel, groups, and the attributes of a convolution over `name`."""
    channels, kernel = net.shape(name)[1], _kernel(net, name)
    groups = net.rng.choice([1, 1, channels, *(d for d in range(2, channels) if channels % d == 0)])
    attributes = window_attributes(net, kernel, net.shape(name)[2:])
    if net.rng.random() < 0.6:
        attributes["kernel_shape"] = kernel
    attributes["group"] = None if groups == 1 and net.rng.random() < 0.5 else groups
    return kernel, groups, attributes


def _conv(net: OnnxNet) -> None:
    name = image(net)
    kernel, groups, attributes = convolution_attributes(net, name)
    out = groups * net.rng.randint(1, 3)
    weight = net.floats((out, net.shape(name)[1] // groups, *kernel))
    bias = [net.floats((out,))] if net.rng.random() < 0.5 else []
    result = net.apply("Conv", name, weight, *bias, **attributes)
    if net.rng.random() < 0.4:
        _normalize(net, result)


def _conv_transpose(net: OnnxNet) -> None:
    name = image(net)
    kernel, groups, attributes = convolution_attributes(net, name)
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        attributes["auto_pad"] = None
    out = net.rng.randint(1, 3)
    strides = attributes["strides"] or [1] * len(kernel)
    if net.rng.random() < 0.3:
        attributes["output_padding"] = [net.rng.randrange(step) for step in strides]
    weight = net.floats((net.shape(name)[1], out, *kernel))
    bias = [net.floats((out * groups,))] if net.rng.random() < 0.5 else []
    net.add("ConvTranspose", name, weight, *bias, **attributes)


def _normalize(net: OnnxNet, name: str) -> str:
    channels = net.shape(name)[1]
    scale, bias, mean = (net.floats((channels,)) for _ in range(3))
    epsilon = net.rng.choice((None, 1e-3))
    training = {"training_mode": 0} if net.opset >= 14 and net.rng.random() < 0.2 else {}
    return net.apply(
        "BatchNormalization", name, scale, bias, mean, net.floats((channels,), "positive"), epsilon=epsilon, **training
    )


def _batch_normalization(net: OnnxNet) -> None:
    _normalize(net, net.pick(where=lambda value: len(value.shape) >= 2))


def reaches_every_value(kernel: Sequence[int], attributes: Mapping[str, Any]) -> bool:
    """Whether windows that are to keep the size leave out none of the data: else ONNX Runtime pads by less than nothing."""
    kept = str(attributes["auto_pad"]).startswith("SAME")
    return not kept or all(step <= size for step, size in zip(attributes["strides"] or [1] * len(kernel), kernel, strict=True))


def _pool(net: OnnxNet) -> None:
    name = image(net)
    kind = net.rng.choice(("MaxPool", "AveragePool"))
    kernel = _kernel(net, name)
    dilated = (kind == "MaxPool" and net.opset >= 10) and net.rng.random() < 0.2
    attributes = window_attributes(net, kernel, net.shape(name)[2:], dilated)
    if not dilated:
        attributes["dilations"] = None
    if net.opset >= 10 and attributes["auto_pad"] is None and net.rng.random() < 0.3:
        attributes["ceil_mode"] = 1
    if kind == "AveragePool":
        attributes["count_include_pad"] = net.rng.choice((None, 0, 1))
    pads = attributes["pads"]
    if pads and any(pad >= size for pad, size in zip(pads, [*kernel, *kernel], strict=True)):
        raise Illegal("padding as wide as the window")
    if not reaches_every_value(kernel, attributes):
        raise Illegal("negative padding")
    net.add(kind, name, kernel_shape=kernel, **attributes)


def _global_pool(net: OnnxNet) -> None:
    net.add(net.rng.choice(("GlobalAveragePool", "GlobalMaxPool")), net.pick(where=lambda value: len(value.shape) >= 3))


def _gemm(net: OnnxNet) -> None:
    name = net.pick(where=lambda value: len(value.shape) == 2)
    across, down = net.rng.random() < 0.2, net.rng.random() < 0.5
    shape = net.shape(name)[::-1] if across else net.shape(name)
    columns = net.rng.randint(1, 5)
    weight = net.floats((columns, shape[1]) if down else (shape[1], columns))
    biases = ((columns,), (1, columns), (1,), (), (shape[0], columns), (shape[0], 1))
    bias = [net.floats(net.rng.choice(biases))] if net.rng.random() < 0.6 else []
    net.add(
        "Gemm",
        name,
        weight,
        *bias,
        transA=int(across) or None,
        transB=int(down) or None,
        alpha=net.rng.choice((None, None, 1.0, 0.5, 2.0)),
        beta=net.rng.choice((None, None, 1.0, 0.5, 0.0)),
    )


def _matmul(net: OnnxNet) -> None:
    name = net.pick(where=lambda value: len(value.shape) >= 1)
    shape = net.shape(name)
    columns = net.rng.randint(1, 4)
    chance = net.rng.random()
    if chance < 0.6:
        other = net.floats((shape[-1], columns))
    elif chance < 0.7:
        other = net.floats((shape[-1],))
    elif chance < 0.85:
        other = net.floats((*shape[:-2], shape[-1], columns))
    elif len(shape) > 1:
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        other = net.apply("Transpose", name, perm=order)
    else:
        other = name
    if net.rng.random() < 0.15 and len(shape) > 1:
        net.add("MatMul", net.floats((columns, shape[-2])), name)
    else:
        result = net.apply("MatMul", name, other)
        if net.rng.random() < 0.5:
            net.add("Add", *net.rng.sample([result, net.floats(net.rng.choice(((net.shape(result) or (1,))[-1:], (1,))))], 2))


_MODES = ("nearest", "linear", "cubic")
_PLACES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


def _resize(net: OnnxNet) -> None:
    name = net.pick(where=lambda value: len(value.shape) == 4)
    shape = net.shape(name)
    if net.opset < 10:
        scales = np.array([1, 1, *(net.rng.choice((1.0, 2.0, 3.0)) for _ in shape[2:])], np.float32)
        if net.opset < 9:
            net.add("Upsample", name, scales=scales.tolist(), mode=net.rng.choice(("nearest", "linear")))
        else:
            net.add("Upsample", name, net.constant(scales), mode=net.rng.choice(("nearest", "linear")))
        return
    factors = [net.rng.choice((0.5, 1.0, 1.5, 2.0, 2.0, 3.0, 0.75)) for _ in shape[2:]]
    if net.opset == 10:
        net.add("Resize", name, net.constant(np.array([1, 1, *factors], np.float32)), mode=net.rng.choice(_MODES[:2]))
        return
    mode = net.rng.choice(_MODES)
    place = net.rng.choice(_PLACES)
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        options["nearest_mode"] = net.rng.choice(("round_prefer_floor", "floor", "ceil", "round_prefer_ceil", None))
    if mode == "cubic":
        options["cubic_coeff_a"] = net.rng.choice((None, -0.5))
        options["exclude_outside"] = net.rng.choice((None, 1))
    roi = "" if net.opset >= 13 else net.constant(np.zeros(0, np.float32))
    sized = place == "align_corners" or net.rng.random() < 0.4
    sizes = [max(1, int(dim * factor)) for dim, factor in zip(shape[2:], factors, strict=True)]
    lead_sizes, lead_scales = list(shape[:2]), [1.0, 1.0]
    if net.opset >= 18 and net.rng.random() < 0.4:
        options["axes"], lead_sizes, lead_scales = [2, 3], [], []
    if sized:
        empty = "" if net.opset >= 13 else net.constant(np.zeros(0, np.float32))
        net.add("Resize", name, roi, empty, net.integers(*lead_sizes, *sizes), **options)
    else:
        net.add("Resize", name, roi, net.constant(np.array([*lead_scales, *factors], np.float32)), **options)


def _dense_block(net: OnnxNet) -> None:
    """A matrix of what there is, so that layers of matrices have something to read."""
    name = net.pick(where=lambda value: len(value.shape) >= 2)
    net.add("Flatten", name, axis=net.rng.choice((None, 1)))


LAYERS: tuple[Callable[[OnnxNet], None], ...] = (
    _conv,
    _conv,
    _conv,
    _conv_transpose,
    _batch_normalization,
    _pool,
    _pool,
    _global_pool,
    _gemm,
    _matmul,
    _resize,
    _dense_block,
)
