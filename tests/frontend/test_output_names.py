"""Outputs and inputs have the names and the types of the model, from the file to the arrays."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vta.cli.main import main
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate
from vta.ir.serialize import graph_from_json, graph_to_json
from vta.ir.transforms.batch import with_batch
from vta.runtime import Module, load, save
from vta.runtime.values.outputs import output_names

SIM = HardwareConfig.named("sim")
TYPES = {
    "float16": TensorProto.FLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


def model(nodes, inputs, outputs, constants=None):
    """`inputs` and `outputs`: for each name its type, and the shape of inputs."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TYPES[dtype], shape) for name, (dtype, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, TYPES[dtype], None) for name, dtype in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


WEIGHTS = {"v": (16, 4, 1, 1), "w": (8, 16, 3, 3)}


def convolutions(output="scores", dtype="float32"):
    """Two layers, of which the second is quantised by default."""
    rng = np.random.default_rng(0)
    weights = {name: (rng.standard_normal(shape) / 4).astype(np.float16).astype(dtype) for name, shape in WEIGHTS.items()}
    nodes = [helper.make_node("Conv", ["x", "v"], ["mid"]), helper.make_node("Conv", ["mid", "w"], [output], name="Conv_7")]
    return model(nodes, {"x": (dtype, (1, 4, 6, 6))}, {output: dtype}, weights)


@pytest.mark.parametrize("name", ["scores", "file", "allow_pickle", "a/b", "../up", "имя", "output:0", "x.npy"])
def test_the_command_line_writes_outputs_by_their_names(name, tmp_path, capsys):
    onnx.save(convolutions(name), tmp_path / "net.onnx")
    net, outputs = tmp_path / "net.vta", tmp_path / "out.npz"
    assert main(["compile", str(tmp_path / "net.onnx"), "-o", str(net), "--config", "sim", "--global-scale", "4"]) == 0
    assert main(["run", str(net), "--outputs", str(outputs), "--check", "--json"]) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["bit_exact"]
    with np.load(outputs) as stored:
        assert {key: (stored[key].shape, stored[key].dtype.name) for key in stored.files} == {name: ((1, 8, 4, 4), "float32")}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_as_wide_as_the_model_has_them(dtype, tmp_path):
    graph = import_onnx(convolutions(dtype=dtype))
    assert ([node.dtype for node in graph.inputs], [node.dtype for node in graph.outputs]) == ([dtype], [dtype])
    inputs = {"x": np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(dtype)}
    (real,) = evaluate(graph, inputs)
    compiled = compile_model(graph, SIM, calibration=inputs)
    assert compiled.regions
    save(compiled, tmp_path / "net.vta")
    with Module(load(tmp_path / "net.vta"), SimDevice(SIM)) as module:
        assert module.output_names() == ("scores",)
        report = module.run(inputs)
        assert module.check(inputs).bit_exact
    assert report.outputs[0].dtype == real.dtype == dtype
    assert np.abs(report.outputs[0] - real).max() < 0.05 * np.abs(real).max()


def test_a_wider_type_costs_no_instruction():
    """The accelerator's part of a float16 network is that of the same network in float32."""
    programs = []
    x = np.random.default_rng(1).standard_normal((1, 4, 6, 6)).astype(np.float16)
    for dtype in ("float32", "float16"):
        (region,) = compile_model(import_onnx(convolutions(dtype=dtype)), SIM, calibration={"x": x.astype(dtype)}).regions
        programs.append(region.program)
    assert np.array_equal(programs[0].instructions, programs[1].instructions)
    assert np.array_equal(programs[0].image, programs[1].image)


def test_other_types_are_the_models():
    nodes = [
        helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        helper.make_node("Greater", ["x", "zero"], ["above"]),
        helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["level"]),
        helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["x"], ["double"], to=TensorProto.DOUBLE),
    ]
    types = {"best": "int64", "above": "bool", "level": "uint8", "half": "float16", "double": "float64"}
    constants = {"zero": np.float32(0), "scale": np.float32(0.1), "point": np.uint8(128)}
    graph = import_onnx(model(nodes, {"x": ("float32", (2, 5))}, types, constants))
    assert output_names(graph) == tuple(types)
    x = np.random.default_rng(1).standard_normal((2, 5)).astype(np.float32)
    found = dict(zip(types, evaluate(graph, {"x": x}), strict=True))
    assert {name: value.dtype.name for name, value in found.items()} == types
    assert np.array_equal(found["best"], x.argmax(axis=1))
    assert np.array_equal(found["above"], x > 0)
    assert np.array_equal(found["half"], x.astype(np.float16))


def test_outputs_that_are_the_same_value_an_input_or_a_constant():
    nodes = [helper.make_node("Relu", ["x"], ["one"], name="relu"), helper.make_node("Identity", ["one"], ["two"])]
    outputs = {"two": "float32", "one": "float32", "x": "float32", "c": "float32"}
    given = model(nodes, {"x": ("float32", (1, 4))}, outputs, {"c": np.arange(4, dtype=np.float32)})
    graph = import_onnx(given)
    x = np.array([[-1, 2, -3, 4]], np.float32)
    with Module(compile_model(graph, SIM, calibration={"x": x}), SimDevice(SIM)) as module:
        assert module.output_names() == ("two", "one", "x", "c")
        found = dict(zip(module.output_names(), module.run({"x": x}).outputs, strict=True))
    assert np.array_equal(found["one"], found["two"])
    assert np.abs(found["one"] - np.maximum(x, 0)).max() < 0.1
    assert np.array_equal(found["x"], x)
    assert np.array_equal(found["c"], np.arange(4))


def test_names_are_kept_by_rewrites_and_files():
    graph = import_onnx(convolutions())
    assert with_batch(graph, 3).output_names == ("scores",)
    assert graph_from_json(*graph_to_json(graph)).output_names == ("scores",)


def test_names_are_made_distinct():
    graph = import_onnx(convolutions())
    twice = type(graph)(graph.inputs, graph.outputs * 4, output_names=("a", "a", "a:1", "a"))
    assert output_names(twice) == ("a", "a:1", "a:1:1", "a:2")
