"""Names that exporters and people give to tensors and nodes."""

from __future__ import annotations

from collections.abc import Container
from random import Random

__all__ = ["new_name"]

_ODD = (
    "file",
    "allow_pickle",
    "a b",
    "x/y:0",
    "größe",
    "层.1",
    "0",
    "-1",
    "None",
    "self",
    "input.1",
    "StatefulPartitionedCall:0",
    "model/conv2d/BiasAdd;model/conv2d/Conv2D",
    "/features/features.0/Conv_output_0",
    "onnx::Conv_123",
    "%5",
    "a\tb",
    "..",
    "../up",
    "constant",
    "input",
    "args",
    "kwds",
    "n" * 300,
)


def new_name(rng: Random, taken: Container[str], stem: str) -> str:
    """Return a name that is not taken: an ordinary one, sometimes an odd one."""
    if rng.random() < 0.12:
        odd = rng.choice(_ODD)
        if odd not in taken:
            return odd
    number = 0
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"
