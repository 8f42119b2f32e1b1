"""Files with much data are the networks that they are by the plain parser, and nothing of their tensors is in memory twice."""

import os

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from vta.errors import ImportModelError
from vta.frontend.onnx import large_file
from vta.frontend.onnx.importer import import_onnx, load_onnx


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Files and tensors that are large here."""
    monkeypatch.setattr(large_file, "_LARGE_FILE", 1)
    monkeypatch.setattr(large_file, "_LARGE_TENSOR", 64)


def network(weights, raw=True):
    """The sum of an input and of some constants of any type, cast to float."""
    nodes, total = [], "x"
    initializers = []
    for number, weight in enumerate(weights):
        name = f"w{number}"
        if raw:
            initializers.append(numpy_helper.from_array(weight, name))
        else:
            code = helper.np_dtype_to_tensor_dtype(weight.dtype)
            initializers.append(helper.make_tensor(name, code, weight.shape, weight.reshape(-1).tolist()))
        nodes.append(helper.make_node("Cast", [name], [f"c{number}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Add", [total, f"c{number}"], [f"s{number}"], name=f"sum{number}"))
        total = f"s{number}"
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8]) for name in ("x", total))
    graph = helper.make_graph(nodes, "net", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def described(graph):
    return [(node.op, node.name, node.type, node.value.tolist() if node.value is not None else None) for node in graph.nodes()]


arrays = st.builds(
    lambda dtype, rows, seed: np.random.default_rng(seed).integers(-9, 9, (rows, 8)).astype(dtype),
    st.sampled_from(["float32", "float64", "float16", "int8", "int32", "int64"]),
    st.sampled_from([1, 4]),
    st.integers(0, 99),
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(arrays, min_size=1, max_size=5), st.booleans())
def test_a_network_is_the_same(tmp_path, weights, raw):
    model = network(weights, raw)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    assert described(load_onnx(path)) == described(import_onnx(model))
    moved = [tensor for tensor in large_file.load_model(path).graph.initializer if tensor.data_location == TensorProto.EXTERNAL]
    assert len(moved) == (sum(weight.nbytes >= 64 for weight in weights) if raw else 0)
    assert all(not tensor.raw_data for tensor in moved)


def test_all_else_of_a_model_stays(tmp_path):
    model = network([np.ones((4, 8), np.float32)])
    model.producer_name = "a tool"
    model.metadata_props.add(key="k", value="v" * 200)
    model.graph.doc_string = "words"
    model.graph.initializer[0].doc_string = "of a weight"
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    found = large_file.load_model(path)
    (tensor,) = found.graph.initializer
    assert tensor.doc_string == "of a weight"
    tensor.CopyFrom(model.graph.initializer[0])
    assert found == model


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_as_good_as_by_the_plain_parser(tmp_path, data):
    content = bytearray(network([np.ones((4, 8), np.float32)]).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    found = []
    for limit in (1, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(large_file, "_LARGE_FILE", limit)
            try:
                found.append(described(load_onnx(path)))
            except ImportModelError as error:
                found.append(str(error))
    assert repr(found[0]) == repr(found[1])


def test_a_tensor_of_another_size_is_told_as_ever(tmp_path):
    model = network([np.ones((4, 8), np.float32)])
    model.graph.initializer[0].dims[0] = 5
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ImportModelError, match=r"tensor 'w0': shape \(5, 8\) needs 40 values, the file has 32"):
        load_onnx(path)


def test_a_link_to_a_file_elsewhere_is_read(tmp_path):
    model = network([np.ones((4, 8), np.float32)])
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "1234").write_bytes(model.SerializeToString())
    os.symlink(tmp_path / "blobs" / "1234", tmp_path / "net.onnx")
    assert described(load_onnx(tmp_path / "net.onnx")) == described(import_onnx(model))


def test_data_in_other_files_stays_there(tmp_path):
    model = network([np.full((4, 8), 3, np.float32), np.ones((1, 8), np.float32)])
    path = tmp_path / "net.onnx"
    expected = described(import_onnx(model))
    onnx.save_model(model, str(path), save_as_external_data=True, location="net.data", size_threshold=64)
    assert described(load_onnx(path)) == expected
