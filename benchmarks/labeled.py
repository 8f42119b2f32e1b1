"""Labelled samples for networks that others trained, as each network wants them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.graph import Node

__all__ = ["LABELED", "Labelled", "labeled_samples"]

Array = NDArray[Any]

_CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
_CIFAR_STD = (0.2023, 0.1994, 0.2010)
"""Of the CIFAR-10 training set, which Gluon's networks were trained with."""
_KEYWORD_SCALE, _KEYWORD_ZERO_POINT = 0.5847029089927673, 83
"""Of the input of the quantised keyword network: the stored features are its input bytes."""


@dataclass(frozen=True)
class Labelled:
    """Where the labelled samples of a network are."""

    data: str
    """An .npz with x and y, or a pattern of raw files of one sample each."""
    label: str = ""
    """For raw files, the part of the name that means class 1."""
    pixels: str = ""
    """What a float network was trained on: ``cifar``, normalised; ``raw``, 0 to 255; ``unit``, 0 to 1; ``keyword``, features."""


LABELED = {
    "mxnet/cifar_resnet20_v1-symbol.json": Labelled("data/cifar10_test1000_uint8.npz", pixels="cifar"),
    "mxnet/cifar_resnet20_v2-symbol.json": Labelled("data/cifar10_test1000_uint8.npz", pixels="cifar"),
    "mxnet/cifar_resnet56_v1-symbol.json": Labelled("data/cifar10_test1000_uint8.npz", pixels="cifar"),
    "mlperf_tiny/pretrainedResnet.tflite": Labelled("data/cifar10_test1000_uint8.npz", pixels="raw"),
    "mlperf_tiny/kws_ref_model_float32.tflite": Labelled("data/kws01_test1000_int8_mfcc.npz", pixels="keyword"),
    "mlperf_tiny/vww_96_float.tflite": Labelled("data/cfu_mlperf_tiny_inputs/quant_test_*.dat", "yes", "unit"),
}
"""Float networks by their files."""


def labeled_samples(folder: Path, where: Labelled, node: Node, limit: int) -> tuple[Array, Array]:
    """Return up to `limit` samples, evenly spread, as the network's input `node` wants them, and their classes."""
    if where.data.endswith(".npz"):
        with np.load(folder / where.data) as stored:
            x, y = stored["x"], stored["y"]
    else:
        files = sorted(folder.glob(where.data))
        x = np.stack([np.frombuffer(file.read_bytes(), np.int8) for file in files])
        y = np.array([where.label in file.name for file in files]).astype(np.int64)
    count = min(limit, len(x))
    chosen = np.arange(count) * len(x) // count
    return _PIXELS[where.pixels](x[chosen]).reshape(-1, *node.shape[1:]), y[chosen]


def _normalized(x: Array) -> Array:
    mean, std = (np.reshape(values, (1, 3, 1, 1)) for values in (_CIFAR_MEAN, _CIFAR_STD))
    return np.ascontiguousarray(((x.transpose(0, 3, 1, 2) / 255 - mean) / std).astype(np.float32))


_PIXELS = {
    "cifar": _normalized,
    "raw": lambda x: x.astype(np.float32),
    "unit": lambda x: ((x.astype(np.float32) + 128) / 255).astype(np.float32),
    "keyword": lambda x: ((x.astype(np.float32) - _KEYWORD_ZERO_POINT) * np.float32(_KEYWORD_SCALE)).astype(np.float32),
}
