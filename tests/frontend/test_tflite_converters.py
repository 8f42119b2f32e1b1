"""Each TFLite operator against LiteRT's reference kernels, byte for byte where it is integer."""

import numpy as np
import pytest
import tflite

from tests.tflite_models import Tflite, conv_options, is_refused, random_values, reference, run
from vta.frontend.tflite import import_tflite

RNG = np.random.default_rng(7)
ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}


def same(net, inputs, outputs, largest=0, seeds=3):
    """Whether graph and reference kernels agree, up to `largest`."""
    pytest.importorskip("ai_edge_litert")
    content = net.build(inputs, outputs)
    graph = import_tflite(content)
    for seed in range(seeds):
        values = random_values(graph, seed)
        expected = reference(content, *values.values())
        for got, wanted in zip(run(graph, values), expected, strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            difference = np.abs(got.astype(np.float64) - wanted)
            assert difference.max() <= largest, f"{(difference > 0).sum()} of {difference.size} differ"


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_convolutions(padding, activation):
    net = Tflite()
    x = net.tensor((2, 8, 7, 5), scale=0.03, zero=-17)
    weight = net.constant(RNG.integers(-127, 128, (6, 3, 2, 5)), scale=RNG.uniform(0.001, 0.03, 6))
    bias = net.constant(RNG.integers(-9000, 9000, 6), "int32")
    height, width = (4, 4) if padding == "SAME" else (3, 3)
    y = net.tensor((2, height, width, 6), scale=0.06, zero=20)
    net.operator("CONV_2D", [x, weight, bias], y, **conv_options(padding, 2, activation))
    same(net, [x], [y])


def test_dilated_and_unsigned_convolutions():
    net = Tflite()
    x = net.tensor((1, 8, 8, 3), "uint8", 0.03, 111)
    weight = net.constant(RNG.integers(0, 256, (4, 3, 3, 3)), "uint8", 0.01, 90)
    bias = net.constant(RNG.integers(-9000, 9000, 4), "int32")
    y = net.tensor((1, 8, 8, 4), "uint8", 0.2, 140)
    net.operator("CONV_2D", [x, weight, bias], y, **conv_options(dilation=2))
    same(net, [x], [y])


@pytest.mark.parametrize("multiplier", [1, 3])
def test_depthwise_convolutions(multiplier):
    net = Tflite()
    channels = 4 * multiplier
    x = net.tensor((1, 6, 9, 4), scale=0.03, zero=4)
    weight = net.constant(RNG.integers(-127, 128, (1, 3, 3, channels)), scale=RNG.uniform(0.001, 0.03, channels), axis=3)
    bias = net.constant(RNG.integers(-9000, 9000, channels), "int32")
    y = net.tensor((1, 3, 5, channels), scale=0.05, zero=-3)
    options = conv_options(stride=2) | {"options": "DepthwiseConv2DOptions", "DepthMultiplier": multiplier}
    net.operator("DEPTHWISE_CONV_2D", [x, weight, bias], y, **options)
    same(net, [x], [y])


def test_fully_connected_layers_round_once():
    net = Tflite()
    x = net.tensor((3, 40), scale=0.03, zero=-5)
    weight = net.constant(RNG.integers(-127, 128, (64, 40)), scale=0.009)
    bias = net.constant(RNG.integers(-9000, 9000, 64), "int32")
    y = net.tensor((3, 64), scale=0.021, zero=9)
    net.operator("FULLY_CONNECTED", [x, weight, bias], y, "FullyConnectedOptions", FusedActivationFunction=0)
    same(net, [x], [y], seeds=10)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_additions(dtype, activation):
    net = Tflite()
    zero = 0 if dtype == "int8" else 128
    a, b = net.tensor((1, 16, 16, 4), dtype, 0.031, zero - 5), net.tensor((1, 16, 16, 4), dtype, 0.0457, zero + 30)
    y = net.tensor((1, 16, 16, 4), dtype, 0.052, zero + 3)
    net.operator("ADD", [a, b], y, "AddOptions", FusedActivationFunction=ACTIVATIONS[activation])
    same(net, [a, b], [y])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("kind", "dtype"), [("AVERAGE_POOL_2D", "int8"), ("AVERAGE_POOL_2D", "uint8"), ("MAX_POOL_2D", "int8")])
def test_pools(kind, dtype, padding):
    net = Tflite()
    zero = 10 if dtype == "int8" else 120
    x = net.tensor((1, 7, 8, 3), dtype, 0.1, zero)
    shape = (1, 4, 4, 3) if padding == "SAME" else (1, 3, 3, 3)
    y = net.tensor(shape, dtype, 0.1, zero)
    size = {"StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3, "FusedActivationFunction": 1}
    net.operator(kind, [x], y, "Pool2DOptions", Padding=getattr(tflite.Padding, padding), **size)
    same(net, [x], [y])


@pytest.mark.parametrize("keep", [True, False])
def test_means_over_height_and_width(keep):
    net = Tflite()
    x = net.tensor((1, 7, 7, 40), scale=0.03, zero=-20)
    y = net.tensor((1, 1, 1, 40) if keep else (1, 40), scale=0.011, zero=7)
    net.operator("MEAN", [x, net.constant([1, 2], "int32")], y, "ReducerOptions", KeepDims=keep)
    same(net, [x], [y], seeds=8)


@pytest.mark.parametrize("scale", [0.003, 0.1, 0.7])
def test_softmax_in_fixed_point(scale):
    net = Tflite()
    x, y = net.tensor((4, 30), scale=scale, zero=5), net.tensor((4, 30), scale=1 / 256, zero=-128)
    net.operator("SOFTMAX", [x], y, "SoftmaxOptions", Beta=1.0)
    same(net, [x], [y], seeds=8)


def test_values_that_move():
    net = Tflite()
    x = net.tensor((1, 4, 6, 2), scale=0.1, zero=9)
    padded = net.tensor((1, 7, 6, 2), scale=0.1, zero=9)
    net.operator("PAD", [x, net.constant([[0, 0], [1, 2], [0, 0], [0, 0]], "int32")], padded, "PadOptions")
    moved = net.tensor((1, 6, 7, 2), scale=0.1, zero=9)
    net.operator("TRANSPOSE", [padded, net.constant([0, 2, 1, 3], "int32")], moved, "TransposeOptions")
    flat = net.tensor((1, 84), scale=0.1, zero=9)
    net.operator("RESHAPE", [moved, net.constant([1, 84], "int32")], flat, "ReshapeOptions", NewShape=(1, 84))
    joined = net.tensor((1, 168), scale=0.1, zero=9)
    net.operator("CONCATENATION", [flat, flat], joined, "ConcatenationOptions", Axis=1, FusedActivationFunction=0)
    image = net.tensor((1, 6, 7, 4), scale=0.1, zero=9)
    net.operator("RESHAPE", [joined, net.constant([1, 6, 7, 4], "int32")], image, "ReshapeOptions", NewShape=(1, 6, 7, 4))
    part = net.tensor((1, 5, 3, 3), scale=0.1, zero=9)
    net.operator("SLICE", [image, *(net.constant(v, "int32") for v in ([0, 1, 2, 1], [1, 5, 3, -1]))], part, "SliceOptions")
    large = net.tensor((1, 10, 9, 3), scale=0.1, zero=9)
    net.operator("RESIZE_NEAREST_NEIGHBOR", [part, net.constant([10, 9], "int32")], large, "ResizeNearestNeighborOptions")
    same(net, [x], [large])


def test_changes_of_scale():
    net = Tflite()
    x = net.tensor((1, 300), "uint8", 0.1, 77)
    signed = net.tensor((1, 300), "int8", 0.1, -51)
    net.operator("QUANTIZE", [x], signed)
    other = net.tensor((1, 300), "int8", 0.043, 30)
    net.operator("QUANTIZE", [signed], other)
    real = net.tensor((1, 300), "float32")
    net.operator("DEQUANTIZE", [other], real)
    again = net.tensor((1, 300), "int8", 0.07, 3)
    net.operator("QUANTIZE", [real], again)
    same(net, [x], [again, real])


@pytest.mark.parametrize(("kind", "options"), [("RELU", None), ("RELU6", None)])
def test_activations_that_change_the_scale(kind, options):
    net = Tflite()
    x, y = net.tensor((1, 300), scale=0.1, zero=5), net.tensor((1, 300), scale=0.03, zero=-128)
    net.operator(kind, [x], y, options)
    same(net, [x], [y])


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scales", [(0.05, 0.02, 0.06), (1 / 16, 1 / 8, 1 / 4)])
def test_arithmetic_that_broadcasts_is_exact(kind, dtype, scales):
    zero = 0 if dtype == "int8" else 128
    constant = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (6, 1, 5))
    for second in ("tensor", "constant", "first"):
        net = Tflite()
        a = net.tensor((1, 6, 6, 5), dtype, scales[0], zero + 3)
        b = net.constant(constant, dtype, scales[1], zero - 9) if second != "tensor" else net.tensor((5,), dtype, scales[1], zero)
        y = net.tensor((1, 6, 6, 5), dtype, scales[2], zero + 1)
        pair = [b, a] if second == "first" else [a, b]
        net.operator(kind, pair, y, f"{kind.title()}Options", FusedActivationFunction=ACTIVATIONS["RELU6"])
        same(net, [a] if second != "tensor" else [a, b], [y])


def test_a_float_network():
    net = Tflite()
    x = net.tensor((1, 8, 8, 3), "float32")
    weight = net.constant(RNG.standard_normal((6, 3, 3, 3)), "float32")
    y = net.tensor((1, 8, 8, 6), "float32")
    net.operator("CONV_2D", [x, weight, net.constant(RNG.standard_normal(6), "float32")], y, **conv_options(activation="RELU6"))
    pooled = net.tensor((1, 6), "float32")
    net.operator("MEAN", [y, net.constant([1, 2], "int32")], pooled, "ReducerOptions", KeepDims=False)
    scores = net.tensor((1, 5), "float32")
    dense = net.constant(RNG.standard_normal((5, 6)), "float32")
    net.operator("FULLY_CONNECTED", [pooled, dense], scores, "FullyConnectedOptions", FusedActivationFunction=0)
    out = net.tensor((1, 5), "float32")
    net.operator("SOFTMAX", [scores], out, "SoftmaxOptions", Beta=1.0)
    same(net, [x], [out], largest=1e-5)


def test_weights_stored_as_half_floats():
    net = Tflite()
    x = net.tensor((1, 6, 6, 3), "float32")
    half = net.constant(RNG.standard_normal((4, 3, 3, 3)), "float16")
    weight = net.tensor((4, 3, 3, 3), "float32")
    net.operator("DEQUANTIZE", [half], weight)
    bias = net.tensor((4,), "float32")
    net.operator("DEQUANTIZE", [net.constant(RNG.standard_normal(4), "float16")], bias)
    y = net.tensor((1, 6, 6, 4), "float32")
    net.operator("CONV_2D", [x, weight, bias], y, **conv_options())
    same(net, [x], [y], largest=1e-4)


def test_biases_of_another_type_are_refused():
    net = Tflite()
    x, y = net.tensor((1, 4), scale=0.1), net.tensor((1, 4), scale=0.1)
    weight, bias = net.constant(np.ones((4, 4)), scale=0.1), net.constant(np.ones(4), "float32")
    net.operator("FULLY_CONNECTED", [x, weight, bias], y, "FullyConnectedOptions", FusedActivationFunction=0)
    assert "biases of float32 for sums of int32 cannot be imported" in is_refused(import_tflite, net.build([x], [y]))


def test_operators_that_cannot_be_imported_say_why():
    net = Tflite()
    x, y = net.tensor((1, 10), scale=0.1), net.tensor((1, 10), scale=0.2)
    net.operator("SOFTMAX", [x], y, "SoftmaxOptions", Beta=1.0)
    assert "its output has scale 0.2 and zero point 0" in is_refused(import_tflite, net.build([x], [y]))
    net = Tflite()
    x, y = net.tensor((1, 4, 4, 2), scale=0.1), net.tensor((1, 4, 4, 2), scale=0.2)
    size = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1, "FusedActivationFunction": 0, "Padding": 0}
    net.operator("AVERAGE_POOL_2D", [x], y, "Pool2DOptions", **size)
    assert "input and output have different scales" in is_refused(import_tflite, net.build([x], [y]))
    net.tensors[y]["scale"] = 0.1
    net.operators[0]["fields"]["FusedActivationFunction"] = 5
    assert "fused activation 5 cannot be imported" in is_refused(import_tflite, net.build([x], [y]))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_an_image_broadcasts_into_five_dimensions(dtype):
    scale = 0.05 if dtype == "int8" else None
    net = Tflite()
    a, b = net.tensor((2, 1, 3, 4, 5), dtype, scale), net.tensor((2, 3, 1, 5), dtype, scale)
    y = net.tensor((2, 2, 3, 4, 5), dtype, scale)
    net.operator("ADD", [a, b], y, "AddOptions", FusedActivationFunction=0)
    same(net, [a, b], [y])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_slopes_by_channel_of_bytes_are_exact(dtype):
    zero = 0 if dtype == "int8" else 128
    net = Tflite()
    x = net.tensor((1, 5, 6, 4), dtype, 0.04, zero + 30)
    slope = net.constant(RNG.integers(-128, 128, (1, 1, 4)) + zero, dtype, 0.008, zero - 100)
    y = net.tensor((1, 5, 6, 4), dtype, 0.03, zero + 12)
    net.operator("PRELU", [x, slope], y)
    same(net, [x], [y], seeds=6)


def test_truth_values_are_outputs():
    net = Tflite()
    x, y = net.tensor((1, 5), "float32"), net.tensor((1, 5), "bool")
    net.operator("GREATER", [x, net.constant([0.5], "float32")], y, "GreaterOptions")
    content = net.build([x], [y])
    values = random_values(import_tflite(content))
    (got,) = run(import_tflite(content), values)
    np.testing.assert_array_equal(got, reference(content, *values.values())[0])
