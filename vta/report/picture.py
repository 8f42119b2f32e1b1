"""Pictures of samples with what a network made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

__all__ = ["save_predictions"]

_COLUMNS = 8


def save_predictions(path: str | Path, images: NDArray[Any], labels: NDArray[Any], predictions: NDArray[Any]) -> None:
    """Write a PNG of grey `images`, shape (n, 1, H, W), each under its prediction; wrong ones are red and say what is right."""
    # The figure class alone, without pyplot: no display, no state shared with the caller's plots.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-len(images) // _COLUMNS)
    figure = Figure(figsize=(1.1 * _COLUMNS, 1.35 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for index, axes in enumerate(figure.subplots(rows, _COLUMNS, squeeze=False).flat):
        axes.set_axis_off()
        if index >= len(images):
            continue
        axes.imshow(images[index, 0], cmap="gray_r")
        right = predictions[index] == labels[index]
        title = f"{predictions[index]}" if right else f"{predictions[index]} (is {labels[index]})"
        axes.set_title(title, color="black" if right else "red", fontsize=11)
    figure.savefig(path, dpi=120)
