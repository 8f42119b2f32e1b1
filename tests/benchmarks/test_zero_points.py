"""The networks that quantisers are compared on: those of packages that read photographs, with other samples to compare on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from benchmarks import zero_points
from benchmarks.public_nets import Entry


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A network of a package that reads photographs of 96 x 96, and some photographs."""
    weights = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", (1, 3, 96, 96)), ("y", (1, 4, 94, 94)))
    )
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], "net", [x], [y], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    (tmp_path / "images").mkdir()
    rng = np.random.default_rng(0)
    for name in ("first", "second"):
        Image.fromarray(rng.integers(0, 256, (128, 120, 3), np.uint8)).save(tmp_path / "images" / f"{name}.bmp")
    found = Entry("package", "net.onnx")
    monkeypatch.setattr(Entry, "path", lambda self, npm, unpacked: tmp_path / self.file)
    monkeypatch.setattr(zero_points, "NETWORKS", (found,))
    return found


def test_samples_to_compare_on_are_others(entry: Entry, tmp_path: Path):
    (network,) = zero_points.networks(tmp_path, tmp_path, ["package/net"])
    assert network.name == "net.onnx"
    assert network.calibration.shape[1:] == network.compared.shape[1:] == (3, 96, 96)
    assert not any(np.array_equal(one, other) for one in network.calibration for other in network.compared)


def test_what_is_not_wanted_is_left_out(entry: Entry, tmp_path: Path):
    assert list(zero_points.networks(tmp_path, tmp_path, ["another"])) == []
