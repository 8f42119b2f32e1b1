"""Networks that came quantised, for programs that tests run in processes of their own."""

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input


def quantized_layers(sums=False):
    """Six convolutions of 16 channels with the rounding of TFLite; with `sums` every second one is followed by an addition."""
    rng = np.random.default_rng(3)
    channels = 16
    value = source = graph_input("x", (1, channels, 5, 5), "int8")
    for layer in range(6):
        weight = constant(rng.integers(-127, 128, (channels, channels, 3, 3), np.int8), f"w{layer}")
        scales = tuple(rng.uniform(1e-3, 3e-3, channels).tolist())
        read = {"input_scale": 0.05, "input_zero_point": -3, "kernel_scale": scales, "padding": (1, 1, 1, 1)}
        product = call(ops.QNN_CONV2D, [value, weight], f"l{layer}", **read)
        total = call(ops.BIAS_ADD, [product, constant(rng.integers(-9000, 9000, channels, np.int32))], f"l{layer}")
        ends = {"output_scale": 0.07, "output_zero_point": -3, "rounding": "tflite", "out_dtype": "int8"}
        value = call(ops.QNN_REQUANTIZE, [total], f"l{layer}", input_scale=tuple(0.05 * scale for scale in scales), **ends)
        if sums and layer % 2:
            zeros = {"lhs_zero_point": -3, "rhs_zero_point": -3, "output_zero_point": -3}
            given = {"lhs_scale": 0.07, "rhs_scale": 0.07, "output_scale": 0.05, "rounding": "tflite", **zeros}
            value = call(ops.QNN_ADD, [value, value], f"sum{layer}", **given)
    return Graph((source,), (value,))
