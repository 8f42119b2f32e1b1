"""A picture of a few images with the classes that a network found for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.files.atomic_file import whole_file

__all__ = ["draw_predictions"]


def draw_predictions(
    path: str | Path, images: NDArray[Any], predictions: Sequence[str], labels: Sequence[str], columns: int = 8
) -> None:
    """Write a PNG of `images`, (n, H, W), (n, H, W, 3) or (n, 1 or 3, H, W), each titled with its prediction.

    A prediction that is not the image's label is red and names the label. Raises `UsageError` if the arguments do not
    go together, and `WriteError` if the file cannot be written.
    """
    if not len(images) == len(predictions) == len(labels) > 0:
        raise UsageError(f"{len(images)} images, {len(predictions)} predictions and {len(labels)} labels do not go together")
    pictures = _channels_last(images)
    # Imported here: drawing is rare and the import is slow. The figure is built without pyplot, which keeps global state.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(pictures) // columns)
    figure = Figure(figsize=(1.2 * min(columns, len(pictures)), 1.5 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, min(columns, len(pictures)), squeeze=False).flat
    for axis in axes:
        axis.set_axis_off()
    for axis, picture, found, label in zip(figure.axes, pictures, predictions, labels, strict=False):
        axis.imshow(picture, cmap="gray", interpolation="nearest")
        right = found == label
        axis.set_title(found if right else f"{found} (is {label})", color="black" if right else "red", fontsize=9)
    with whole_file(path, "the picture") as beside:
        figure.savefig(beside, format="png", dpi=120)


def _channels_last(images: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n, H, W) or (n, H, W, 3) with values in 0..1, each image stretched over the whole range."""
    pictures = images.astype(np.float64)
    if pictures.ndim == 4 and pictures.shape[1] in (1, 3) and pictures.shape[-1] not in (1, 3):
        pictures = pictures.transpose(0, 2, 3, 1)
    if pictures.ndim == 4 and pictures.shape[-1] == 1:
        pictures = pictures[..., 0]
    if pictures.ndim not in (3, 4) or (pictures.ndim == 4 and pictures.shape[-1] != 3):
        raise UsageError(f"images of shape {images.shape} cannot be drawn; expected grey or RGB images")
    axes = tuple(range(1, pictures.ndim))
    low, high = pictures.min(axis=axes, keepdims=True), pictures.max(axis=axes, keepdims=True)
    stretched: NDArray[np.float64] = (pictures - low) / np.maximum(high - low, 1e-12)
    return stretched
