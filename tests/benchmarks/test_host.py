"""The benchmark of the host's kernels: what it compares gives the same."""

import numpy as np
import pytest

from benchmarks.host import Layer, layer_row, table

pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(
    "layer", [Layer("convolution", 16, 32, 6, 3, 2), Layer("depthwise", 32, 32, 6, 3, 1, 32), Layer("dense", 40, 10, 0)]
)
def test_both_sides_compute_the_same(layer, monkeypatch):
    monkeypatch.setattr("benchmarks.host._SECONDS", 0.0)
    row = layer_row(layer)
    assert row.difference < 1e-5
    assert np.isfinite(row.ratio)
    assert row.winograd_seconds is None
    assert layer.name in list(table([row]))[-1]


def test_winograd_is_measured_where_it_is_taken(monkeypatch):
    monkeypatch.setattr("benchmarks.host._SECONDS", 0.0)
    row = layer_row(Layer("convolution", 32, 32, 16, 3))
    assert row.winograd_seconds > 0
    assert row.winograd_difference < 1e-5
