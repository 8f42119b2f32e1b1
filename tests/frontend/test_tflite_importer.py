"""Whole TFLite models: import, exactness against LiteRT where it is installed, damaged files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite_models import Tflite, conv_options, is_refused, random_values, reference, run, small_net
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.frontend.tflite import import_tflite

SMALL = small_net()


@pytest.mark.parametrize(("dtype", "per_channel"), [("int8", True), ("int8", False), ("uint8", False)])
def test_a_network_gives_the_bytes_of_the_reference_kernels(dtype, per_channel):
    pytest.importorskip("ai_edge_litert")
    content = small_net(np.random.default_rng(3), dtype, per_channel)
    graph = import_tflite(content)
    for seed in range(5):
        values = random_values(graph, seed)
        np.testing.assert_array_equal(run(graph, values)[0], reference(content, values["x"])[0])


def test_inputs_and_outputs_are_those_of_the_file():
    graph = import_tflite(SMALL)
    assert [(node.name, node.shape, node.dtype) for node in graph.inputs] == [("x", (1, 9, 8, 3), "int8")]
    assert graph.outputs[0].shape == (1, 7)
    unsigned = import_tflite(small_net(dtype="uint8", scales_per_channel=False))
    assert (unsigned.inputs[0].dtype, unsigned.outputs[0].dtype) == ("uint8", "uint8")


def test_layers_are_called_after_their_outputs_up_to_the_first_semicolon():
    net = Tflite()
    x = net.tensor((1, 4), scale=0.1, name="x")
    weight = net.constant(np.ones((4, 4)), scale=0.1)
    first, second = (net.tensor((1, 4), scale=0.1, name=f"relu{i};dense{i};bias") for i in (1, 2))
    twins = [net.tensor((1, 4), scale=0.1, name=f"twin;{i}") for i in (1, 2)]
    for source, target in zip((x, first, second, twins[0]), (first, second, *twins), strict=True):
        net.operator("FULLY_CONNECTED", [source, weight], target, "FullyConnectedOptions", FusedActivationFunction=0)
    names = [node.name for node in import_tflite(net.build([x], [twins[1]])).calls()]
    assert list(dict.fromkeys(names)) == ["relu1", "relu2", "twin;1", "twin;2"]


def test_a_flattened_image_needs_no_transposition():
    ops = [node.op for node in import_tflite(SMALL).calls()]
    assert ops.count("transpose") == 1, "only that of the input"


def test_another_batch():
    graph = import_tflite(SMALL, {"x": (3, 9, 8, 3)})
    one = import_tflite(SMALL)
    values = random_values(graph)["x"]
    whole = run(graph, {"x": values})[0]
    parts = np.concatenate([run(one, {"x": sample[None]})[0] for sample in values])
    np.testing.assert_array_equal(whole, parts)
    with pytest.raises(ImportModelError, match="only its batch can be changed"):
        import_tflite(SMALL, {"x": (1, 9, 9, 3)})
    with pytest.raises(ImportModelError, match="no input is called data; inputs are x"):
        import_tflite(SMALL, {"data": (1, 9, 8, 3)})


def _spectrum() -> bytes:
    """A net that reads a row of any length, as windows of a one-dimensional convolution, and the largest value of all."""
    net, rng = Tflite(), np.random.default_rng(1)

    def apply(kind, shape, signature, inputs, options=None, **fields):
        return net.operator(kind, inputs, net.tensor(shape, "float32", signature=signature), options, **fields)

    x = net.tensor((1, 1), "float32", name="x", signature=(-1, -1))
    row = apply("EXPAND_DIMS", (1, 1, 1), (-1, 1, -1), [x, net.constant(1, "int32")])
    row = apply("TRANSPOSE", (1, 1, 1), (-1, -1, 1), [row, net.constant([0, 2, 1], "int32")])
    row = apply("EXPAND_DIMS", (1, 1, 1, 1), (-1, 1, -1, 1), [row, net.constant(1, "int32")])
    weight = net.constant(rng.standard_normal((3, 1, 4, 1)), "float32")
    bias = net.constant(np.ones(3), "float32")
    options = dict(conv_options("VALID"), StrideW=2)
    row = apply("CONV_2D", (1, 1, 1, 3), (-1, 1, -1, 3), [row, weight, bias], **options)
    row = apply("SQUEEZE", (1, 1, 3), (-1, -1, 3), [row], "SqueezeOptions", SqueezeDims=(1,))
    largest = apply("REDUCE_MAX", (), (), [row, net.constant([0, 1, 2], "int32")], "ReducerOptions", KeepDims=False)
    y = apply("SUB", (1, 1, 3), (-1, -1, 3), [row, largest], "SubOptions")
    return net.build([x], [y])


def test_open_dimensions_take_sizes_that_are_given():
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter(model_content=_spectrum())
    for length in (10, 7):
        graph = import_tflite(_spectrum(), {"x": (1, length)})
        x = np.random.default_rng(length).standard_normal((1, length)).astype(np.float32)
        interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], x.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        wanted = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(run(graph, {"x": x})[0], wanted, rtol=1e-5, atol=1e-5)


def test_what_is_given_for_open_dimensions_must_fit():
    with pytest.raises(ImportModelError, match=r"input 'x' has shape \(\?, \?\), which \(1, 10, 1\) does not fit"):
        import_tflite(_spectrum(), {"x": (1, 10, 1)})
    with pytest.raises(ImportModelError, match="no input is called y; inputs are x"):
        import_tflite(_spectrum(), {"x": (1, 10), "y": (1,)})
    with pytest.raises(ImportModelError, match="the kernel spans 1x4"):
        import_tflite(_spectrum(), {"x": (1, 3)})


def test_all_unsupported_operators_are_named_at_once():
    net = Tflite()
    x = net.tensor((1, 4), "float32", name="x")
    a, b, c = (net.tensor((1, 4), "float32", name=name) for name in "abc")
    net.operator("HASHTABLE_LOOKUP", [x], a)
    net.operator("RELU", [a], b)
    net.operator("UNIQUE", [b], c)
    with pytest.raises(ImportModelError) as caught:
        import_tflite(net.build([x], [c]), path="net.tflite")
    text = str(caught.value)
    assert "net.tflite: cannot import 2 nodes" in text
    assert "HASHTABLE_LOOKUP: not a supported operator: 1 node: a (node 0)" in text
    assert "UNIQUE: not a supported operator: 1 node: c (node 2)" in text


def test_what_is_wrong_is_said():
    assert "not a TFLite file" in is_refused(import_tflite, b"PK\x03\x04" + bytes(40))
    assert "not a TFLite file" in is_refused(import_tflite, b"")
    net = Tflite()
    x = net.tensor((1, 5, 5, 4), scale=0.1, name="x")
    weight = net.constant(np.ones((8, 3, 3, 3)), scale=0.1)
    y = net.tensor((1, 5, 5, 8), scale=0.1, name="y")
    net.operator("CONV_2D", [x, weight], y, **conv_options())
    assert "CONV_2D 'y': weight of shape (8, 3, 3, 3) does not fit 4 input channels" in is_refused(
        import_tflite, net.build([x], [y])
    )
    net.operators[0]["options"] = None
    net.operators[0]["fields"] = {}
    net.tensors[weight]["shape"] = (8, 3, 3, 4)
    assert "shape (8, 3, 3, 4) of int8 needs 288 bytes, the file has 216" in is_refused(import_tflite, net.build([x], [y]))
    net.tensors[weight]["value"] = np.ones((8, 3, 3, 4), np.int8)
    assert "option StrideH is missing" in is_refused(import_tflite, net.build([x], [y]))
    net.tensors[x]["dtype"] = "int16"
    assert "input 'x' holds quantised values of 16 bits" in is_refused(import_tflite, net.build([x], [y]))
    net.tensors[x]["scale"] = None
    assert "input 'x' is int16 of shape (1, 5, 5, 4)" in is_refused(import_tflite, net.build([x], [y]))


def test_a_wrong_axis_of_scales_is_refused_on_weights_and_ignored_on_biases():
    net = Tflite()
    x = net.tensor((1, 5, 5, 4), scale=0.1, name="x")
    weight = net.constant(np.ones((8, 1, 1, 4)), scale=np.full(8, 0.1), axis=0)
    bias = net.constant(np.ones(8), "int32", scale=np.full(8, 0.01), axis=3)
    y = net.tensor((1, 5, 5, 8), scale=0.1, name="y")
    net.operator("CONV_2D", [x, weight, bias], y, **conv_options())
    assert import_tflite(net.build([x], [y])).outputs[0].shape == (1, 5, 5, 8)
    net.tensors[weight]["axis"] = 3
    assert "has 8 scales along dimension 3; expected 8 along 0" in is_refused(import_tflite, net.build([x], [y]))


@settings(max_examples=150)
@given(st.data())
def test_damaged_files_raise_nothing_but_import_errors(data):
    content = bytearray(SMALL)
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 8))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    is_refused(import_tflite, bytes(content))


def test_load_model_knows_the_suffix(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(SMALL)
    assert load_model(path).inputs[0].name == "x"
    path.write_bytes(SMALL[:100])
    with pytest.raises(ImportModelError, match=r"net\.tflite: "):
        load_model(path)
