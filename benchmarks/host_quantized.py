"""Kernels of the host part for integers, and softmax, beside onnxruntime and LiteRT, one thread, in one run.

    python -m benchmarks.host_quantized [--models DIR] [--json]

Layers are QLinearConv and Softmax nodes with random values; onnxruntime runs each as a network of one node. With --models, whole
networks of DIR that came quantised are compared with their file's own interpreter. Seconds are those of `benchmarks.host`.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.host import LAYERS, Layer, Row, onnxruntime_run, print_rows, row_of
from vta.frontend.onnx import import_onnx

__all__ = ["main"]

NETWORKS = (
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/vww_96_int8.tflite",
    "mobilenet/mobilenet_v1_0.25_224_quant.tflite",
    "mobilenet/mobilenet_v2_quant.onnx",
)
SOFTMAXES = ((1, 1000), (64, 1000), (512, 64))


def convolution_model(layer: Layer, rng: np.random.Generator) -> onnx.ModelProto:
    """A quantised convolution with scales by channel, as networks for onnxruntime have them."""
    weight = rng.integers(-127, 128, (layer.outputs, layer.channels // layer.groups, layer.kernel, layer.kernel), np.int8)
    stored = {
        "x_scale": np.float32(0.02),
        "x_zero": np.uint8(128),
        "w": weight,
        "w_scale": rng.uniform(0.001, 0.01, layer.outputs).astype(np.float32),
        "w_zero": np.zeros(layer.outputs, np.int8),
        "y_scale": np.float32(0.3),
        "y_zero": np.uint8(128),
        "b": rng.integers(-1000, 1000, layer.outputs, np.int32),
    }
    node = helper.make_node(
        "QLinearConv",
        ["x", *stored],
        ["y"],
        strides=[layer.stride] * 2,
        pads=[layer.kernel // 2] * 4,
        group=layer.groups,
    )
    shape = (1, layer.channels, layer.size, layer.size)
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def softmax_model(shape: tuple[int, ...]) -> onnx.ModelProto:
    """A softmax along the last axis."""
    node = helper.make_node("Softmax", ["x"], ["y"], axis=-1)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph([node], "softmax", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def model_row(name: str, model: onnx.ModelProto) -> Row:
    """Compare a network with onnxruntime."""
    return row_of(name, "onnxruntime", import_onnx(model), lambda feed: onnxruntime_run(model.SerializeToString(), feed))


def layer_rows() -> list[Row]:
    """Convolutions of int8 values, and softmax."""
    rng = np.random.default_rng(1)
    rows = [model_row(f"int8 {layer.name}", convolution_model(layer, rng)) for layer in LAYERS if layer.size]
    return rows + [model_row(f"softmax {shape[0]}x{shape[1]}", softmax_model(shape)) for shape in SOFTMAXES]


def main() -> None:
    """Print the table, or one JSON object a case."""
    print_rows(__doc__, layer_rows, NETWORKS)


if __name__ == "__main__":
    main()
