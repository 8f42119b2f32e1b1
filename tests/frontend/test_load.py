"""Choosing an importer by file, and the errors of files that are none."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from vta.errors import ImportModelError, UsageError
from vta.frontend import load_model


@pytest.fixture
def onnx_path(tmp_path):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", info[:1], info[1:])
    path = tmp_path / "net.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def test_onnx(onnx_path):
    assert load_model(onnx_path, {"x": (2, 3)}).outputs[0].shape == (2, 3)
    assert load_model(str(onnx_path)).outputs[0].shape == (1, 3)


def test_built_in():
    assert load_model("resnet18_v1", {"data": (2, 3, 64, 64)}).outputs[0].shape == (2, 1000)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("net.tflite", b"TFL3", "not a TFLite file"),
        ("net.params", b"x", "these are only parameters; import the -symbol.json file"),
        ("net.h5", b"x", "not a known kind of model file"),
        ("net.onnx", b"", "the file is empty"),
        ("net-symbol.json", b"", "the file is empty"),
        ("net-symbol.json", b'{"nodes": [], "heads": []}', "no outputs"),
    ],
)
def test_files_that_cannot_be_imported(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportModelError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path):
    with pytest.raises(ImportModelError, match=r"nowhere\.onnx: no such file, and no built-in network \(resnet18_v1,"):
        load_model(tmp_path / "nowhere.onnx")
    with pytest.raises(ImportModelError, match="it is a directory"):
        load_model(tmp_path)
    with pytest.raises(ImportModelError, match="a model is the path of a file or the name of a built-in network, not list"):
        load_model([])


def test_options_of_one_format_are_refused_for_another(onnx_path):
    with pytest.raises(UsageError, match=r"random_weights .*are for MXNet"):
        load_model(onnx_path, random_weights=1)


def test_a_batch_for_an_open_one_and_a_fixed_one(onnx_path):
    assert load_model(onnx_path, batch=4).inputs[0].shape == (4, 3)
    assert load_model(onnx_path, {"x": (2, 3)}, batch=4).outputs[0].shape == (4, 3)
    assert load_model("resnet18_v1", {"data": (1, 3, 64, 64)}, batch=2).outputs[0].shape == (2, 1000)


def test_a_batch_that_a_network_cannot_take(tmp_path):
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2, 3]), ("y", [3, 2]))]
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"], "turned", perm=[1, 0])], "net", info[:1], info[1:])
    path = tmp_path / "net.onnx"
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    with pytest.raises(ImportModelError, match=r"net\.onnx: a batch of 4: "):
        load_model(path, batch=4)
