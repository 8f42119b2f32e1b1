"""Inputs, names, shape arithmetic, and every way in which an ONNX file can be refused."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx, load_onnx, tensors
from vta.ir.interpreter import evaluate


def node(op, inputs=("x",), outputs=("y",), name="layer", **attributes):
    return helper.make_node(op, inputs, outputs, name=name, **attributes)


def small_net():
    """Convolution, shape arithmetic as PyTorch exports it, and a matrix product."""
    rng = np.random.default_rng(0)
    nodes = [
        node("Conv", ("x", "w"), ("c",), "conv", pads=[1, 1, 1, 1]),
        node("Relu", ("c",), ("r",), ""),
        node("Shape", ("r",), ("s",), "shape"),
        node("Gather", ("s", "zero"), ("n",), "gather"),
        node("Unsqueeze", ("n",), ("n1",), "unsqueeze", axes=[0]),
        node("Concat", ("n1", "rest"), ("to",), "concat", axis=0),
        node("Reshape", ("r", "to"), ("flat",), "view"),
        node("MatMul", ("flat", "m"), ("y",), "fc"),
    ]
    constants = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "zero": np.int64(0),
        "rest": np.int64([-1]),
        "m": rng.standard_normal((64, 5)).astype(np.float32),
    }
    return nodes, constants


def test_shape_arithmetic_is_evaluated(same):
    nodes, constants = small_net()
    graph = same(nodes, {"x": (2, 3, 4, 4)}, constants, opset=11)
    assert [call.op for call in graph.calls()] == ["nn.conv2d", "nn.relu", "reshape", "nn.dense"]
    assert [call.name for call in graph.calls()] == ["conv", "Relu_1", "view", "fc"]


def test_more_shape_arithmetic(same):
    nodes = [
        node("Shape", ("x",), ("s",), ""),
        node("Slice", ("s", "two", "four"), ("hw",), ""),
        node("Cast", ("hw",), ("f",), "", to=TensorProto.FLOAT),
        node("Mul", ("f", "k"), ("g",), ""),
        node("Floor", ("g",), ("h",), ""),
        node("Cast", ("h",), ("i",), "", to=TensorProto.INT64),
        node("Div", ("i", "minus"), ("d",), ""),
        node("Neg", ("d",), ("e",), ""),
        node("Equal", ("e", "four"), ("q",), ""),
        node("Where", ("q", "e", "four"), ("t",), ""),
        node("ReduceProd", ("t",), ("p",), "", keepdims=1),
        node("ConstantOfShape", ("p",), ("o",), "", value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.0])),
        node("Range", ("start", "stop", "step"), ("w",), ""),
        node("Size", ("w",), ("z",), ""),
        node("Cast", ("z",), ("zf",), "", to=TensorProto.FLOAT),
        node("Mul", ("o", "zf"), ("oz",), ""),
        node("Reshape", ("oz", "t"), ("r",), ""),
        node("ReduceSum", ("r",), ("y0",), "", keepdims=0),
        node("Mul", ("x", "y0"), ("y",), ""),
    ]
    constants = {
        "two": np.int64([2]),
        "four": np.int64([4]),
        "k": np.float32([1.5]),
        "minus": np.int64([-2]),
        "start": np.int64(1),
        "stop": np.int64(8),
        "step": np.int64(3),
    }
    graph = same(nodes, {"x": (1, 2, 6, 7)}, constants, opset=11)
    assert [call.op for call in graph.calls()] == ["multiply"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"value": numpy_helper.from_array(np.float32([1, 2, 3]))},
        {"value": numpy_helper.from_array(np.float16([1, 2, 3]))},
        {"value": numpy_helper.from_array(np.float64([1, 2, 3]))},
        {"value_float": 2.5},
        {"value_floats": [1.0, 2.0, 3.0]},
    ],
)
def test_constants_of_every_kind(make, attributes):
    graph = import_onnx(make([node("Constant", (), ("k",), **attributes), node("Mul", ("x", "k"))], {"x": (2, 3)}))
    value = next(n for n in graph.nodes() if n.value is not None)
    assert value.dtype == "float32"
    assert value.value.reshape(-1)[0] in (1.0, 2.5)


def test_integer_constants_shape_values(make):
    for attributes, shape in [({"value_ints": [3, 2]}, (3, 2)), ({"value_int": 6}, None)]:
        nodes = [node("Constant", (), ("k",), **attributes), node("Reshape", ("x", "k"))]
        assert import_onnx(make(nodes, {"x": (2, 3)})).outputs[0].shape == (shape or (6,))


def test_initializers_that_are_inputs_too_are_parameters(make):
    model = make(node("Mul", ("x", "k")), {"x": (2,), "k": (2,)}, {"k": np.float32([1, 2])}, opset=8)
    assert [n.name for n in import_onnx(model).inputs] == ["x"]


def test_one_constant_for_all_readers(make):
    graph = import_onnx(make([node("Add", ("x", "k"), ("a",)), node("Mul", ("a", "k"))], {"x": (2,)}, {"k": np.float32([1, 2])}))
    assert sum(n.value is not None for n in graph.nodes()) == 1


def test_an_open_batch_is_one_or_what_shapes_says(make):
    model = make(node("Relu"), {"x": ("batch", 3)})
    assert import_onnx(model).outputs[0].shape == (1, 3)
    assert import_onnx(model, {"x": (4, 3)}).outputs[0].shape == (4, 3)


def test_other_open_dimensions_must_be_given(make):
    model = make(node("Relu"), {"x": (1, 3, "height", "width")})
    with pytest.raises(
        ImportModelError, match=r"net: dimensions of inputs are open: 'x' \(1, 3, height, width\); give shapes=\{'x'"
    ):
        import_onnx(model, path="net")
    assert import_onnx(model, {"x": (1, 3, 5, 6)}).outputs[0].shape == (1, 3, 5, 6)


def test_shapes_must_name_inputs_of_the_right_rank(make):
    model = make(node("Relu"), {"x": (1, 3)})
    with pytest.raises(ImportModelError, match="no input is called z; inputs are x"):
        import_onnx(model, {"z": (1, 3)})
    with pytest.raises(ImportModelError, match=r"input 'x' has 2 dimensions, the given shape is \(1,\)"):
        import_onnx(model, {"x": (1,)})


def test_every_unsupported_node_is_listed_at_once(make):
    nodes = [
        node("Unique", ("x",), ("a",), "apart"),
        node("Relu", ("a",), ("b",), "fine"),
        helper.make_node("Magic", ["b"], ["c"], name="wand", domain="com.example"),
        *(node("Det", ("x",), (f"d{i}",), "") for i in range(9)),
        node("MaxPool", ("x",), ("p",), "pool", kernel_shape=[2], dilations=[2]),
        node("Sum", ("c", "p", *(f"d{i}" for i in range(9))), ("y",), "sum"),
        node("Bernoulli", ("x",), ("unused",), "not needed"),
    ]
    with pytest.raises(ImportModelError) as caught:
        import_onnx(make(nodes, {"x": (1, 3, 3)}), path="net.onnx")
    lines = str(caught.value).splitlines()
    assert lines[0] == "net.onnx: cannot import 12 nodes:"
    assert "  Unique: not a supported operator: 1 node: apart (node 0)" in lines
    assert "  Magic (com.example): not a supported operator: 1 node: wand (node 2)" in lines
    assert any(
        line.startswith("  Det: not a supported operator: 9 nodes: Det_3 (node 3)") and line.endswith("and 3 more")
        for line in lines
    )
    assert any(line.startswith("  MaxPool: dilations (1, 2)") and "pool (node 12)" in line for line in lines)
    assert "Bernoulli" not in "".join(lines[:-1])
    assert lines[-1].startswith("Supported operators: Abs, Add,")


def test_shapes_that_depend_on_data_are_unsupported(make):
    model = make(node("Reshape", ("x", "s")), {"x": (4,), "s": (1,)})
    with pytest.raises(ImportModelError, match=r"Reshape: the shape must be known at import.*layer \(node 0\)"):
        import_onnx(model)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (node("Conv", ("x", "w")), "Conv 'layer': layer: nn.conv2d"),
        (node("Relu", ("nowhere",)), "reads 'nowhere', which no node computes"),
        (node("Relu", ("",)), "input 0 is missing"),
        (node("Concat", ("x", "x")), "attribute 'axis' is missing"),
        (node("Concat", ("x", "x"), axis=1.5), "attribute 'axis' must be an integer"),
        (node("LeakyRelu", alpha="big"), "attribute 'alpha' must be a number"),
        (node("Transpose", perm=[0.5]), "attribute 'perm' must be integers"),
        (node("Gather", ("x", "far")), "indices must be in -1..0"),
        (node("Split", axis=1), "output 'y'|cannot be split"),
        (node("Squeeze", ("x", "far")), "axes .* must be in"),
        (node("Pad", ("x", "far")), "pads must have 8 values"),
        (node("ConstantOfShape", ("huge",)), "too large"),
        (node("Expand", ("k", "huge")), "1099511627776 elements; the limit is 536870912"),
    ],
)
def test_a_malformed_node_is_named(make, broken, message):
    constants = {"w": np.zeros((2, 5, 1, 1), np.float32), "far": np.int64([9]), "huge": np.int64([1 << 40]), "k": np.float32([1])}
    if broken.op_type == "Split":
        broken = node("Split", ("x", "far"), axis=1)
    with pytest.raises(ImportModelError, match=message) as caught:
        import_onnx(make(broken, {"x": (1, 2, 3, 3)}, constants), path="net.onnx")
    assert str(caught.value).startswith(f"net.onnx: {broken.op_type} 'layer'")
    assert "\n" not in str(caught.value)


def test_an_operator_set_is_needed(make):
    model = make(node("Relu"), {"x": (1,)})
    del model.opset_import[:]
    with pytest.raises(ImportModelError, match="operator set none cannot be imported; 1 is the oldest that can"):
        import_onnx(model)


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"hello, world", b"\xff" * 100, b"{}"])
def test_garbage_is_one_line(tmp_path, content):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(ImportModelError, match=r"net\.onnx: ") as caught:
        load_onnx(path)
    assert "\n" not in str(caught.value)


def external_model(make, folder, **changes):
    model = make(node("Mul", ("x", "k")), {"x": (3,)}, {"k": np.float32([1, 2, 3])})
    tensor = model.graph.initializer[0]
    entries = {"location": "weights.bin", "offset": "4", "length": "12", **changes}
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "weights.bin").write_bytes(np.float32([9, 1, 2, 3]).tobytes())
    path = folder / "net.onnx"
    onnx.save_model(model, path)
    return path


def test_external_data(make, tmp_path):
    graph = load_onnx(external_model(make, tmp_path))
    assert evaluate(graph, {"x": np.ones(3, np.float32)})[0].tolist() == [1, 2, 3]


def test_external_data_as_onnx_saves_it(make, tmp_path, monkeypatch):
    """In a folder beside the model, which is read by a relative path."""
    nodes, constants = small_net()
    model = make(nodes, {"x": (1, 3, 4, 4)}, constants, opset=11)
    want = evaluate(import_onnx(model), {"x": np.ones((1, 3, 4, 4), np.float32)})[0]
    (tmp_path / "weights").mkdir()
    onnx.save_model(model, tmp_path / "net.onnx", save_as_external_data=True, location="weights/all.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(evaluate(load_onnx(Path("net.onnx")), {"x": np.ones((1, 3, 4, 4), np.float32)})[0], want)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"location": "../weights.bin"}, "not beside the model"),
        ({"location": "/etc/passwd"}, "not beside the model"),
        ({"location": "parts/../../weights.bin"}, "not beside the model"),
        ({"location": "outside.bin"}, "not beside the model"),
        ({"location": "."}, "it is a directory"),
        ({"location": "none.bin"}, "No such file"),
        ({"offset": "8"}, "ends after 8 of 12 bytes"),
        ({"length": "8"}, "the shape needs 12"),
        ({"offset": "x"}, "invalid literal"),
    ],
)
def test_external_data_is_checked(make, tmp_path, changes, message):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "outside.bin").write_bytes(bytes(16))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "outside.bin").symlink_to(tmp_path / "elsewhere" / "outside.bin")
    path = external_model(make, folder, **changes)
    with pytest.raises(ImportModelError, match=message):
        load_onnx(path)


def test_external_data_that_ends_while_it_is_read(make, tmp_path, monkeypatch):
    path = external_model(make, tmp_path)
    monkeypatch.setattr(os, "preadv", lambda descriptor, buffers, offset: 0)
    with pytest.raises(ImportModelError, match=r"weights\.bin became shorter while it was read"):
        load_onnx(path)


def test_external_data_that_comes_in_pieces(make, tmp_path, monkeypatch):
    """A read may give less than was asked for."""
    path, preadv = external_model(make, tmp_path), os.preadv
    monkeypatch.setattr(os, "preadv", lambda descriptor, buffers, offset: preadv(descriptor, [buffers[0][:5]], offset))
    monkeypatch.setattr(tensors, "_READ_AT_ONCE", 8)
    assert evaluate(load_onnx(path), {"x": np.ones(3, np.float32)})[0].tolist() == [1, 2, 3]


@pytest.fixture(scope="module")
def net_bytes(make):
    nodes, constants = small_net()
    return make(nodes, {"x": (1, 3, 4, 4)}, constants, opset=11).SerializeToString()


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_damaged_files_raise_nothing_else(net_bytes, tmp_path_factory, data):
    content = bytearray(net_bytes)
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        # The end of the file holds the structure, most of the rest the weights.
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        at = data.draw(st.integers(0, 700))
        content[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(content)
    try:
        load_onnx(path)
    except ImportModelError as error:
        assert str(error).startswith(str(path))  # noqa: PT017
