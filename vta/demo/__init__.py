"""The demo network and its data: handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass

__all__ = ["PIXEL_MAX", "Digits", "load_digits", "model_path"]

PIXEL_MAX = 16
"""Value of a black pixel; the network takes pixels divided by this."""

_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Digits:
    """Images of 8x8 pixels from 0 to `PIXEL_MAX`."""

    x: NDArray[Any]
    """Held-out images that the network was not trained on, uint8 (360, 1, 8, 8)."""
    y: NDArray[Any]
    """The digit on each, uint8 (360,)."""
    calibration: NDArray[Any]
    """Images of the training set, uint8 (64, 1, 8, 8)."""


def model_path() -> Path:
    """The trained network, an ONNX file."""
    return _FOLDER / "digits.onnx"


def load_digits() -> Digits:
    """Read the images that come with the package."""
    with np.load(_FOLDER / "digits.npz", allow_pickle=False) as data:
        return Digits(data["x"], data["y"], data["calibration"])
