"""Photographs as networks that were trained on ImageNet want them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vta.ir.graph import Node

__all__ = ["classes_of_photographs", "photographs", "reads_photographs"]

Array = NDArray[Any]

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's channels, which networks that read floats between channels and rows expect to be taken off."""
_SMALLEST = 0.5
"""Side of the smallest part, as a share of the largest square in the photograph."""

_CLASSES = {"bird": 19, "cat": 285, "grace_hopper": 652, "sunflower": 985}
"""What photographs show, by their names, as classes of ImageNet's 1,000: a chickadee, an Egyptian cat, a military uniform, and a
daisy, which is what comes nearest to a sunflower there."""
_IMAGENET = 1000


def classes_of_photographs(folder: Path, count: int, outputs: int) -> NDArray[np.int64]:
    """Return the class of each of the `count` images that `photographs` gives, for a network of so many `outputs`.

    One of more than 1,000 has those of what lies behind before the others.
    """
    names = [path.stem for path in sorted(folder.glob("*.bmp"))]
    return np.array([_CLASSES[names[index % len(names)]] + outputs - _IMAGENET for index in range(count)])


def reads_photographs(node: Node) -> bool:
    """Whether an input is one image of three channels, of at least 96 rows and columns."""
    return len(node.shape) == 4 and 3 in (node.shape[1], node.shape[3]) and sorted(node.shape)[-2] >= 96


def photographs(folder: Path, node: Node, count: int, *, signed: bool = False) -> Array:
    """Return `count` images for `node`: the middle of each photograph (.bmp) of a folder, then parts at random.

    Floats with channels last are from -1 to 1, as are those with channels first if they are `signed`; else these are normalized.
    """
    pictures = [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.bmp"))]
    first = node.shape[1] == 3
    height, width = node.shape[2:] if first else node.shape[1:3]
    rng = np.random.default_rng(0)
    parts = []
    for index in range(count):
        picture = pictures[index % len(pictures)]
        most = min(picture.size)
        side, across, down = most, 0.5, 0.5
        if index >= len(pictures):
            side, across, down = round(most * rng.uniform(_SMALLEST, 1)), rng.uniform(), rng.uniform()
        left, top = round((picture.width - side) * across), round((picture.height - side) * down)
        part = picture.crop((left, top, left + side, top + side)).resize((width, height), Image.Resampling.BILINEAR)
        parts.append(np.asarray(part))
    return _as_read(np.stack(parts), node, first=first, signed=signed or not first)


def _as_read(images: Array, node: Node, *, first: bool, signed: bool) -> Array:
    """Images (N, H, W, 3), uint8, in the layout and type of an input; `first`: channels come first; `signed`: from -1 to 1."""
    if node.dtype == "int8":
        images = (images.astype(np.int16) - 128).astype(np.int8)
    elif node.dtype == "float32":
        scaled = images / 127.5 - 1 if signed else (images / 255 - _MEAN) / _DEVIATION
        images = scaled.astype(np.float32)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2) if first else images)
