"""The picture of predictions."""

import numpy as np
import pytest

from vta.errors import UsageError, WriteError
from vta.report.predictions import draw_predictions


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 1, 8, 8), (3, 3, 8, 8), (3, 8, 8, 3), (10, 8, 8, 1)])
def test_a_png_is_written(tmp_path, shape):
    path = tmp_path / "picture.png"
    draw_predictions(path, np.random.default_rng(0).normal(size=shape), ["1"] * shape[0], ["1", "2", "3", *"4567890"][: shape[0]])
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_refused(tmp_path):
    images = np.zeros((2, 8, 8))
    with pytest.raises(UsageError, match="2 images, 1 predictions and 2 labels"):
        draw_predictions(tmp_path / "x.png", images, ["1"], ["1", "2"])
    with pytest.raises(UsageError, match=r"images of shape \(2, 8, 8, 5\) cannot be drawn"):
        draw_predictions(tmp_path / "x.png", np.zeros((2, 8, 8, 5)), ["1", "2"], ["1", "2"])
    with pytest.raises(WriteError, match=r"the picture cannot be written: No such file"):
        draw_predictions(tmp_path / "none" / "x.png", images, ["1", "2"], ["1", "2"])
