import numpy as np
import pytest

from vta.report.picture import save_predictions


@pytest.mark.parametrize("samples", [1, 8, 9])
def test_writes_a_png(tmp_path, samples):
    path = tmp_path / "p.png"
    images = np.zeros((samples, 1, 8, 8), np.uint8)
    save_predictions(path, images, np.arange(samples) % 10, np.full(samples, 3))
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
