"""Functions of one int8 value against LiteRT, at every value."""

import numpy as np
import pytest

from tests.tflite_models import Tflite, conv_options, random_values, reference
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite import import_tflite
from vta.frontend.tflite.operation import Quantization
from vta.frontend.tflite.tables import hard_swish_table, logistic_table, tanh_table
from vta.ir.interpreter import evaluate
from vta.runtime import Module

FIXED = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Scale and zero point that the format asks of outputs."""


def float32(value):
    return float(np.float32(value))


def quantizations(kind, seed):
    """Scales over three decades, some powers of two, and any zero points, as (input, output, alpha)."""
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.uniform(-6, 0)) if seed % 4 else 2.0 ** -rng.integers(0, 9)
    source = float32(scale), int(rng.integers(-128, 128))
    to = float32(scale * np.exp(rng.uniform(-1.5, 1.5))), int(rng.integers(-128, 128))
    return source, FIXED.get(kind, to), float32(rng.uniform(-0.5, 1.5))


def network(kind, dtype, source, to, alpha):
    net = Tflite()
    offset = 128 if dtype == "uint8" else 0
    x = net.tensor((1, 256), dtype, source[0], source[1] + offset)
    y = net.tensor((1, 256), dtype, to[0], to[1] + offset)
    options = {"options": "LeakyReluOptions", "Alpha": alpha} if kind == "LEAKY_RELU" else {"options": None}
    net.operator(kind, [x], y, **options)
    return net.build([x], [y])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH", "LEAKY_RELU", "HARD_SWISH"])
def test_tables_are_the_reference_kernels_bytes(kind, dtype):
    pytest.importorskip("ai_edge_litert")
    values = np.arange(256).astype(dtype).reshape(1, 256)
    for seed in range(150):
        content = network(kind, dtype, *quantizations(kind, seed))
        graph = import_tflite(content)
        assert "qnn.lookup" in {node.op for node in graph.calls()}
        (got,) = evaluate(graph, {graph.inputs[0].name: values})
        np.testing.assert_array_equal(got, reference(content, values)[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("kind", ["RELU", "RELU6", "RELU_N1_TO_1"])
def test_cuts_to_another_scale_are_the_reference_kernels_bytes(kind, dtype):
    pytest.importorskip("ai_edge_litert")
    values = np.arange(256).astype(dtype).reshape(1, 256)
    rng = np.random.default_rng(1)
    round_scales = (0.05, 0.003, 2.0**-4, 2.0**-7)
    for seed in range(100):
        (scale, zero), to, _ = quantizations(kind, seed)
        if seed % 2:
            scale, to = float32(rng.choice(round_scales)), (float32(rng.choice(round_scales)), to[1])
        content = network(kind, dtype, (scale, zero), to, 0)
        (got,) = evaluate(import_tflite(content), {"t0": values})
        np.testing.assert_array_equal(got, reference(content, values)[0])


def test_square_roots_are_cut_as_the_reference_kernel_does():
    pytest.importorskip("ai_edge_litert")
    for seed in range(60):
        source, to, _ = quantizations("SQRT", seed)
        values = np.arange(source[1], 128).astype(np.int8).reshape(1, -1)
        net = Tflite()
        x, y = net.tensor(values.shape, scale=source[0], zero=source[1]), net.tensor(values.shape, scale=to[0], zero=to[1])
        content = net.build([x], [net.operator("SQRT", [x], y)])
        (got,) = evaluate(import_tflite(content), {"t0": values})
        np.testing.assert_array_equal(got, reference(content, values)[0])


@pytest.mark.parametrize("config", ["sim", "pynq"])
@pytest.mark.parametrize("kind", ["LOGISTIC", "LEAKY_RELU", "HARD_SWISH"])
def test_layers_with_them_give_the_same_bytes_on_the_device(kind, config):
    pytest.importorskip("ai_edge_litert")
    rng = np.random.default_rng(5)
    net, to = Tflite(), FIXED.get(kind, (0.06, -20))
    x = net.tensor((1, 8, 8, 5), scale=0.05, zero=3)
    weights = [net.constant(rng.integers(-127, 128, (12, 3, 3, count)), scale=0.004) for count in (5, 12)]
    biases = [net.constant(rng.integers(-2000, 2000, 12), "int32") for _ in "ab"]
    first, second, last = (net.tensor((1, 8, 8, 12), scale=s, zero=z) for s, z in ((0.06, -20), to, (0.05, 1)))
    net.operator("CONV_2D", [x, weights[0], biases[0]], first, **conv_options())
    options = {"options": "LeakyReluOptions", "Alpha": 0.1} if kind == "LEAKY_RELU" else {"options": None}
    net.operator(kind, [first], second, **options)
    net.operator("CONV_2D", [second, weights[1], biases[1]], last, **conv_options())
    content = net.build([x], [last])
    module = compile_model(import_tflite(content), HardwareConfig.named(config), least_gain=0)
    values = random_values(module.graph)
    with Module(module, SimDevice(module.hw)) as loaded:
        (got,) = loaded.run(values).outputs
    np.testing.assert_array_equal(got, reference(content, *values.values())[0])
    if kind == "LEAKY_RELU" and config == "sim":
        assert [record.kind for region in module.regions for record in region.operators] == ["conv2d", "conv2d"]


def test_elu_has_no_reference_kernel_and_equals_the_only_one():
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    values = np.arange(256).astype(np.int8).reshape(1, 256)
    for seed in range(12):
        content = network("ELU", "int8", *quantizations("ELU", seed))
        graph = import_tflite(content)
        (got,) = evaluate(graph, {graph.inputs[0].name: values})
        kinds = interpreter.OpResolverType
        theirs = interpreter.Interpreter(
            model_content=content, experimental_op_resolver_type=kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES, num_threads=1
        )
        theirs.allocate_tensors()
        theirs.set_tensor(theirs.get_input_details()[0]["index"], values)
        theirs.invoke()
        np.testing.assert_array_equal(got, theirs.get_tensor(theirs.get_output_details()[0]["index"]))


def test_sigmoids_follow_the_real_functions():
    source = Quantization(0.05, 3)
    real = (np.arange(-128, 128) - 3) * 0.05
    assert np.abs((logistic_table(source, Quantization(1 / 256, -128)) + 128.0) / 256 - 1 / (1 + np.exp(-real))).max() < 0.005
    assert np.abs(tanh_table(source, Quantization(1 / 128, 0)) / 128 - np.tanh(real)).max() < 0.01


@pytest.mark.parametrize("kind", FIXED)
def test_other_output_scales_of_sigmoids_are_refused(kind):
    with pytest.raises(ImportModelError, match=r"its output has scale 0\.02 and zero point 0, not 1/"):
        import_tflite(network(kind, "int8", (0.05, 3), (0.02, 0), 0))


def test_a_hard_swish_with_far_finer_output_is_refused():
    with pytest.raises(UnsupportedNodeError, match=r"its output scale 0\.0001 is less than 1/128 of its input scale 1"):
        hard_swish_table(Quantization(1.0, 0), Quantization(0.0001, 0))
