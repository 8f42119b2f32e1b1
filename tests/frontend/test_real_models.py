"""Real networks: the values of the source framework, and accuracy on labelled images."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.integer_graphs import BASELINE
from tests.onnx_oracle import need_exact_products, onnx_values
from tests.tflite_models import random_values, reference
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.ir.interpreter import evaluate
from vta.runtime import Module

MEAN = np.float32([0.4914, 0.4822, 0.4465]).reshape(3, 1, 1)
STD = np.float32([0.2023, 0.1994, 0.2010]).reshape(3, 1, 1)


@pytest.mark.parametrize("name", ["mnist", "version-RFB-320", "light_squeezenet", "light_resnet50"])
def test_onnx_files_equal_onnxruntime(shared, name):
    path = shared / f"models/onnx/{name}.onnx"
    graph = load_model(path)
    generator = np.random.default_rng(0)
    feed = {node.name: generator.standard_normal(node.shape).astype(np.float32) for node in graph.inputs}
    for want, got in zip(onnx_values(onnx.load(path), feed), evaluate(graph, feed), strict=True):
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("name", ["cifar_resnet20_v1", "cifar_resnet20_v2"])
def test_accuracy_on_real_images(shared, name):
    stored = np.load(shared / "models/data/cifar10_test1000_uint8.npz")
    images, labels = stored["x"][:200], stored["y"][:200]
    data = ((images.transpose(0, 3, 1, 2) / np.float32(255) - MEAN) / STD).astype(np.float32)
    graph = load_model(shared / f"models/mxnet/{name}-symbol.json", {"data": data.shape})
    assert (evaluate(graph, {"data": data})[0].argmax(1) == labels).mean() >= 0.9


@pytest.mark.parametrize(
    ("name", "shape", "convolutions"),
    [
        ("cifar_resnet56_v1", (1, 3, 32, 32), 57),
        ("sagemaker_tiny", (1, 2), 0),
    ],
)
def test_mxnet_files_with_parameters(shared, name, shape, convolutions):
    graph = load_model(shared / f"models/mxnet/{name}-symbol.json")
    assert graph.inputs[0].shape == shape
    assert sum(node.op == "nn.conv2d" for node in graph.calls()) == convolutions


@pytest.mark.parametrize(
    ("name", "shape"), [("resnet18_v1", (2, 3, 224, 224)), ("squeezenet1.0", (2, 3, 224, 224)), ("mlp", (2, 1, 28, 28))]
)
def test_mxnet_files_without_parameters(shared, name, shape):
    graph = load_model(shared / f"models/mxnet/{name}-symbol.json", {"data": shape}, random_weights=1)
    assert graph.outputs[0].shape[0] == 2


@pytest.mark.parametrize(("name", "convolutions"), [("mobilenet1.0_int8", 27), ("resnet50_v1_int8", 53)])
def test_quantized_mxnet_files_are_the_networks_that_were_quantized(shared, name, convolutions):
    graph = load_model(shared / f"models/mxnet/{name}-symbol.json", random_weights=1)
    assert graph.inputs[0].shape == (1, 3, 224, 224)
    ops = [node.op for node in graph.calls()]
    assert ops.count("nn.conv2d") == convolutions
    assert not [op for op in ops if op.startswith("qnn.")]
    assert "conv0_fwd" in graph.calls()[0].name


QUANTIZED_TFLITE = [
    "mlperf_tiny/ad01_int8",
    "mlperf_tiny/kws_ref_model",
    "mlperf_tiny/pretrainedResnet_quant",
    "mlperf_tiny/str_ww_ref_model",
    "mlperf_tiny/vww_96_int8",
    "mobilenet/mobilenet_v1_0.25_128_quant",
    "mobilenet/tf2_mobilenet_v2_1.0_224_ptq",
    "tflm/image_example1",
    "tflm/micro_speech_quantized",
]


@pytest.mark.parametrize("name", QUANTIZED_TFLITE)
def test_tflite_files_give_the_bytes_of_the_reference_kernels(shared, name):
    pytest.importorskip("ai_edge_litert")
    path = shared / f"models/{name}.tflite"
    graph = load_model(path)
    values = random_values(graph)
    np.testing.assert_array_equal(evaluate(graph, values)[0], reference(path.read_bytes(), *values.values())[0])


@pytest.mark.parametrize("name", ["mlperf_tiny/kws_ref_model", "mlperf_tiny/vww_96_int8", "mlperf_tiny/pretrainedResnet_quant"])
def test_tflite_files_run_on_vta_without_a_byte_of_difference(shared, name):
    path = shared / f"models/{name}.tflite"
    compiled = compile_model(path, BASELINE)
    assert len(compiled.regions) == 1
    graph = load_model(path)
    values = random_values(graph)
    with Module(compiled, SimDevice(BASELINE)) as module:
        report = module.check(values)
    assert report.bit_exact
    np.testing.assert_array_equal(report.run.outputs[0], evaluate(graph, values)[0])


def test_a_file_that_litert_refuses_is_accepted(shared):
    assert load_model(shared / "models/tflm/person_detect.tflite").outputs[0].shape == (1, 2)


def test_what_cannot_be_imported_of_a_tflite_file_is_named(shared):
    with pytest.raises(ImportModelError, match="input 'tensor_52' holds quantised values of 16 bits"):
        load_model(shared / "models/tflm/keyword_scrambled_8bit.tflite")


def test_quantized_onnx_equals_onnxruntime(shared):
    need_exact_products()
    path = shared / "models/mobilenet/mobilenet_v2_quant.onnx"
    graph = load_model(path)
    values = random_values(graph)
    np.testing.assert_array_equal(evaluate(graph, values)[0], onnx_values(onnx.load(path), values)[0])


WITHOUT_WEIGHTS = ("mlp", "mobilenet1.0_int8", "resnet18_v1", "resnet50_v1_int8", "squeezenet1.0")
"""MXNet symbols whose parameters are not there."""
SHAPES = {"mlp": {"data": (1, 784)}}
REFUSED = {"tflm/keyword_scrambled_8bit.tflite": "quantised values of 16 bits"}
FILES = [
    *(f"mlperf_tiny/{name}.tflite" for name in ("ad01_fp32", "ad01_int8", "kws_ref_model", "kws_ref_model_float32")),
    *(f"mlperf_tiny/{name}.tflite" for name in ("pretrainedResnet", "pretrainedResnet_quant", "str_ww_ref_model")),
    *(f"mlperf_tiny/{name}.tflite" for name in ("vww_96_float", "vww_96_int8")),
    *(
        f"mobilenet/mobilenet_v1_{name}.tflite"
        for name in ("0.25_128_quant", "0.25_224_float", "0.25_224_quant", "0.5_160_quant")
    ),
    "mobilenet/mobilenet_v2_quant.onnx",
    "mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite",
    *(f"mxnet/{name}-symbol.json" for name in (*WITHOUT_WEIGHTS, "cifar_resnet20_v1", "cifar_resnet20_v2")),
    *(f"mxnet/{name}-symbol.json" for name in ("cifar_resnet56_v1", "sagemaker_tiny")),
    *(f"onnx/{name}.onnx" for name in ("light_resnet50", "light_squeezenet", "mnist", "version-RFB-320")),
    *(f"tflm/{name}.tflite" for name in ("image_example1", "keyword_scrambled_8bit", "micro_speech_quantized", "person_detect")),
]


@pytest.mark.parametrize("file", FILES)
def test_every_file_runs_or_is_refused_by_name(shared, file):
    name = file.split("/")[1].removesuffix("-symbol.json")
    seed = 1 if name in WITHOUT_WEIGHTS else None
    path = shared / "models" / file
    if file in REFUSED:
        with pytest.raises(ImportModelError, match=REFUSED[file]):
            load_model(path)
        return
    graph = load_model(path, SHAPES.get(name), random_weights=seed)
    for output, node in zip(evaluate(graph, random_values(graph)), graph.outputs, strict=True):
        assert output.shape == node.shape
        assert np.isfinite(output.astype(np.float64)).all()


def test_every_file_is_tried(shared):
    kinds = (".tflite", ".onnx", "-symbol.json")
    there = {str(path.relative_to(shared / "models")) for path in (shared / "models").rglob("*") if path.name.endswith(kinds)}
    assert there == set(FILES)
