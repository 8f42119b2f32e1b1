"""One or more calls of every operator, for comparing kernels with references."""

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import call, constant, graph_input

RNG = np.random.default_rng(11)


def values_of(node, rng=RNG):
    """Values for an input; floats with a few special ones."""
    if node.dtype == "bool":
        return rng.random(node.shape) < 0.5
    if node.dtype.startswith("float"):
        return (rng.standard_normal(node.shape) * 2).astype(node.dtype)
    limits = np.iinfo(node.dtype)
    return rng.integers(limits.min, limits.max, node.shape, dtype=node.dtype, endpoint=True)


def floats(*shape):
    return constant(RNG.standard_normal(shape).astype(np.float32))


def integers(*shape, dtype="int8", low=None, high=None):
    limits = np.iinfo(dtype)
    low, high = limits.min if low is None else low, limits.max if high is None else high
    return constant(RNG.integers(low, high, shape, dtype=dtype, endpoint=True))


def image(dtype="float32", channels=5, size=(6, 7), batch=2):
    return graph_input("x", (batch, channels, *size), dtype)


def matrix(dtype="float32", shape=(3, 21)):
    return graph_input("x", shape, dtype)


def other(node, shape=None):
    return graph_input("y", node.shape if shape is None else shape, node.dtype)


NUMBERS = ("float32", "float64", "int8", "uint8", "int16", "int32", "int64")
GEOMETRY = {"strides": (2, 1), "padding": (1, 0, 2, 1), "dilation": (1, 2)}


def _binary(op, dtypes=NUMBERS):
    for dtype in dtypes:
        x = matrix(dtype)
        yield call(op, [x, other(x)])
    x = image(dtypes[0])
    yield call(op, [x, other(x, (5, 1, 1))])


def _whole_divisions(op):
    """Also by the numbers that processors cannot divide by, or divide into."""
    for dtype in ("int8", "uint8", "int16", "int32", "int64"):
        limits = np.iinfo(dtype)
        divisors = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2]
        signed = [-value for value in divisors if value > 0 and limits.min]
        yield call(op, [matrix(dtype), constant(np.array([(divisors + signed)[at % 10] for at in range(21)], dtype))])
        lowest = constant(np.array([[limits.min], [limits.max], [0]], dtype))
        yield call(op, [lowest, matrix(dtype)])
        yield call(op, [lowest, constant(np.array((divisors + signed + [0] * 21)[:21], dtype))])
    yield from _binary(op, ("int8", "int64"))


def _unary(op, dtypes=("float32", "float64")):
    for dtype in dtypes:
        yield call(op, [matrix(dtype)])


def _convolutions(op, weight_dtypes=("int8",), **extra):
    quantized = {"input_scale": 0.5, "kernel_scale": 0.25} if op.startswith("qnn.") else {}
    for dtype in weight_dtypes:
        for channels, outputs, groups in ((3, 5, 1), (20, 33, 1), (32, 32, 2), (17, 17, 17), (12, 24, 4)):
            x = image("int8", channels)
            weight = integers(outputs, channels // groups, 2, 3, dtype=dtype, low=-128, high=127)
            yield call(op, [x, weight], groups=groups, **GEOMETRY, **quantized, **extra)


def _transposed(op, dtype="int8", **extra):
    for channels, outputs, groups in ((20, 18, 1), (8, 8, 8), (12, 24, 4)):
        x = image(dtype, channels, (4, 5))
        shape = (channels, outputs // groups, 3, 2)
        weight = integers(*shape) if dtype == "int8" else floats(*shape)
        geometry = {"strides": (2, 3), "padding": (1, 0, 0, 1), "dilation": (2, 1), "output_padding": (1, 0)}
        yield call(op, [x, weight], groups=groups, **geometry, **extra)


def _conv2d():
    yield from _convolutions(ops.CONV2D)
    for low, high in ((-200, 250), (-(1 << 15), (1 << 15) - 1)):
        weight = integers(18, 20, 2, 3, dtype="int16", low=low, high=high)
        yield call(ops.CONV2D, [image("int8", 20), weight], **GEOMETRY)
    for channels, outputs, groups in ((3, 5, 1), (20, 33, 1), (16, 16, 16), (32, 32, 2), (12, 24, 4)):
        yield call(ops.CONV2D, [image("float32", channels), floats(outputs, channels // groups, 2, 3)], groups=groups, **GEOMETRY)
    x = image("float32", 6)
    yield call(ops.CONV2D, [x, graph_input("y", (4, 3, 2, 3))], groups=2, **GEOMETRY)


def _qnn_conv2d():
    yield from _convolutions(ops.QNN_CONV2D, input_zero_point=-7)
    x = image("int8", 6)
    weight = graph_input("y", (4, 3, 2, 3), "int8")
    yield call(ops.QNN_CONV2D, [x, weight], groups=2, input_scale=1.0, kernel_scale=1.0, input_zero_point=3, **GEOMETRY)


def _conv2d_transpose():
    yield from _transposed(ops.CONV2D_TRANSPOSE)
    yield from _transposed(ops.CONV2D_TRANSPOSE, "float32")
    x = image("int8", 3, (4, 5))
    yield call(ops.CONV2D_TRANSPOSE, [x, integers(3, 5, 3, 3), integers(5, 2, 2, dtype="int32")], strides=(2, 2))
    yield call(ops.CONV2D_TRANSPOSE, [x, graph_input("y", (3, 2, 3, 3), "int8")], strides=(2, 2), padding=(1, 1, 1, 1))


def _dense(op):
    quantized = {"input_scale": 0.5, "kernel_scale": 0.25, "input_zero_point": 9} if op.startswith("qnn.") else {}
    for dtype in ("int8", "int16"):
        for depth, outputs in ((21, 5), (70, 40)):
            yield call(op, [matrix("int8", (3, depth)), integers(outputs, depth, dtype=dtype, low=-128, high=127)], **quantized)
    yield call(op, [matrix("int8"), graph_input("y", (6, 21), "int8")], **quantized)
    if not quantized:
        yield call(op, [matrix(), floats(35, 21)])
        yield call(op, [matrix(), graph_input("y", (35, 21))])


def _matmul():
    for left, right in (((3, 5), (5, 40)), ((2, 1, 7, 33), (3, 33, 10)), ((6, 9), (2, 9, 50))):
        for dtype in ("float32", "float64"):
            yield call(ops.MATMUL, [graph_input("x", left, dtype), graph_input("y", right, dtype)])


def _qnn_matmul():
    for left, right in (((3, 5), (5, 40)), ((2, 1, 7, 33), (3, 33, 10)), ((6, 9), (2, 9, 50))):
        values = [graph_input("x", left, "int8"), graph_input("y", right, "int8")]
        yield call(ops.QNN_MATMUL, values, lhs_zero_point=-128, rhs_zero_point=3)


def _matmul2d():
    for groups, depth, columns, size in ((1, 5, 3, (2, 9)), (3, 16, 32, (1, 20))):
        x, y = (graph_input(name, (2, groups * depth, *places), "int8") for name, places in (("x", size), ("y", (1, columns))))
        yield call(ops.MATMUL2D, [x, y], groups=groups, lhs_zero_point=7, rhs_zero_point=-128)


def _reductions(op, dtypes=("float32", "float64", "int8", "int32")):
    for dtype in dtypes:
        yield call(op, [graph_input("x", (2, 3, 19), dtype)], axis=(2,))
    yield call(op, [graph_input("x", (2, 3, 19), dtypes[-1])], axis=(1,), keepdims=True)
    yield call(op, [graph_input("x", (2, 3, 5, 37), dtypes[0])], axis=(1, 3))
    yield call(op, [graph_input("x", (4, 5), dtypes[0])])


def _arg(op):
    for dtype in ("float32", "int8"):
        for last in (False, True):
            yield call(op, [graph_input("x", (3, 21), dtype)], axis=1, select_last=last)
    yield call(op, [graph_input("x", (3, 21), "int32")], axis=0, keepdims=False)


def _pools(op, dtypes, **extra):
    for dtype in dtypes:
        geometry = {"pool_size": (3, 2), "strides": (2, 3), "padding": (1, 0, 1, 1), "ceil_mode": dtype != "float32"}
        yield call(op, [image(dtype, 18, (9, 10))], **geometry, **extra)


def _global_pools(op, dtypes):
    for dtype in dtypes:
        yield call(op, [image(dtype, 18)])


def _quantize():
    scales = (0.01, 0.02, 0.03, 0.005, 0.0173)
    for rounding in ("up", "even", "tflite", "even_shifted"):
        for scale, dtype in ((0.037, "uint8"), (scales, "int8"), (0.0001, "int32")):
            yield call(ops.QNN_QUANTIZE, [image()], scale=scale, zero_point=3, rounding=rounding, out_dtype=dtype)


def _dequantize():
    for dtype in ("int8", "uint8", "int32"):
        for scale in (0.25, (0.1, 0.2, 0.3, 0.4, 0.5)):
            yield call(ops.QNN_DEQUANTIZE, [image(dtype)], scale=scale, zero_point=-7)


def _requantize():
    scales = (0.01, 0.02, 0.031, 0.005, 0.0173)
    for rounding in ("up", "even", "tflite", "tflite_once"):
        for scale, dtype in ((0.037, "uint8"), (scales, "int8"), (0.1, "int32")):
            x = image("int32")
            small = call(ops.RIGHT_SHIFT, [x, constant(np.int32(12))])
            common = {"input_scale": scale, "output_scale": 7.3, "rounding": rounding, "out_dtype": dtype}
            yield call(ops.QNN_REQUANTIZE, [small], output_zero_point=-3, a_min=-100, a_max=99, **common)
    yield call(ops.QNN_REQUANTIZE, [image("int8")], input_scale=0.1, output_scale=0.07, input_zero_point=5, bound=200)
    yield call(ops.QNN_REQUANTIZE, [image("int8")], input_scale=0.1, output_scale=1e-12, rounding="even")
    x = call(ops.RIGHT_SHIFT, [image("int32"), constant(np.int32(12))])
    yield call(ops.QNN_REQUANTIZE, [x], input_scale=scales, output_scale=7.3, bound=1 << 20)


def _qnn_add():
    common = {"lhs_scale": 0.031, "rhs_scale": 0.017, "output_scale": 0.04, "output_zero_point": 4}
    for rounding in ("up", "tflite", "even", "even_unsigned", "even_reals"):
        x = image("int8")
        yield call(ops.QNN_ADD, [x, other(x)], rounding=rounding, lhs_zero_point=-5, rhs_zero_point=7, **common)
    x = call(ops.RIGHT_SHIFT, [image("int32"), constant(np.int32(12))])
    for scale in (0.001, (0.001, 0.002, 0.003, 0.0011, 0.0023)):
        for bound in (0, 1 << 21):
            shared = {**common, "lhs_scale": scale, "bound": bound}
            yield call(ops.QNN_ADD, [x, graph_input("y", x.shape, "int8")], **shared)


def _qnn_avg_pool():
    geometry = {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0, 1, 1)}
    scales = {"input_scale": 0.03, "output_scale": 0.02, "output_zero_point": 3}
    yield call(ops.QNN_AVG_POOL2D, [image("int8", 18)], **geometry, **scales, input_zero_point=4)
    yield call(ops.QNN_AVG_POOL2D, [image("int8", 18)], **geometry, **scales, count_include_pad=True)
    for rounding in ("tflite", "tflite_unsigned"):
        yield call(ops.QNN_AVG_POOL2D, [image("int8", 18)], **geometry, input_scale=0.03, output_scale=0.03, rounding=rounding)


def _qnn_global_pool():
    for rounding in ("up", "tflite", "even"):
        scales = {"input_scale": 0.03, "output_scale": 0.02, "input_zero_point": 4, "output_zero_point": 3}
        yield call(ops.QNN_GLOBAL_AVG_POOL2D, [image("int8", 18)], rounding=rounding, **scales)


def _qnn_softmax():
    for scale in (0.1, 0.003, 2.0):
        yield call(ops.QNN_SOFTMAX, [matrix("int8")], input_scale=scale)
    yield call(ops.QNN_SOFTMAX, [graph_input("x", (2, 5, 3), "int8")], input_scale=0.05, axis=1)


def _rows(op, **attrs):
    for shape, axis in (((3, 20), -1), ((2, 40, 5), 1), ((4, 1), 1)):
        yield call(op, [graph_input("x", shape, "int8")], axis=axis, **attrs)


def _masked_rows():
    for shape, period in (((3, 20), 1), ((2, 3, 5), 3), ((2, 4, 40), 8)):
        added = np.random.default_rng(0).choice(np.array([-512, 0, 7, -90], np.int16), (period, shape[-1]))
        yield call(ops.QNN_SOFTMAX_TERMS, [graph_input("x", shape, "int8"), constant(added)], input_scale=0.05)


def _norms_of_16_bits():
    for shape, scale in (((3, 20), 2e-5), ((2, 37), 1e-3), ((4, 1), 3.0), ((1, 300), 1e-6)):
        weight, bias = integers(shape[1], dtype="int16"), integers(shape[1], dtype="int32")
        yield call(ops.QNN_NORMALIZE16, [graph_input("x", shape, "int16"), weight, bias], scale=scale)


def _casts():
    types = (*NUMBERS, "bool")
    for at, dtype in enumerate(types):
        for step in (1, 2, 5):
            yield call(ops.CAST, [matrix(dtype)], dtype=types[(at + step) % len(types)])
    for dtype in NUMBERS:
        yield call(ops.CAST, [matrix(dtype)], dtype="float16")
    yield call(ops.CAST, [graph_input("x", (37,), "float16")], dtype="int8")


def _rescales():
    parameters = [
        integers(5, dtype="int32", low=-9, high=9),
        integers(5, dtype="int32", low=1 << 29),
        constant(np.int32([-3, 0, 1, 9, 31])),
    ]
    for once in (False, True):
        yield call(ops.RESCALE, [image("int32"), *parameters], once=once, zero_point=-7, a_min=-100)
        yield call(ops.RESCALE, [image("int32"), *parameters, integers(256)], once=once)
        yield call(
            ops.RESCALE, [matrix("int32"), *(constant(np.int32([at])) for at in (5, 1 << 30, 4))], once=once, narrow=False, left=3
        )
        computed = [graph_input("b", (5,), "int32"), graph_input("m", (1,), "int32")]
        shifts = call(ops.RIGHT_SHIFT, [graph_input("s", (5,), "int32"), constant(np.int32(27))])
        yield call(ops.RESCALE, [image("int32"), *computed, shifts], once=once)


def _top_ks():
    for dtype in ("float32", "float64", "int8", "int64"):
        for largest in (False, True):
            yield call(ops.TOP_K, [matrix(dtype)], k=7, largest=largest)
    few = call(ops.RIGHT_SHIFT, [graph_input("x", (2, 40, 3), "int32"), constant(np.int32(28))])
    yield call(ops.TOP_K, [few], k=40, axis=1)


def _sorted():
    for dtype in NUMBERS:
        for largest in (False, True):
            yield call(ops.TOP_K, [graph_input("x", (2, 70), dtype)], k=70, largest=largest)
    yield call(ops.TOP_K, [graph_input("x", (100, 3), "int8")], k=9, axis=0)
    yield call(ops.TOP_K, [graph_input("x", (1 << 14,))], k=20)


def _boxes():
    """Boxes with scores; those of ties and of no area are tested by themselves."""
    for batch, classes, count in ((1, 1, 1), (2, 3, 40)):
        yield batch, classes, count, graph_input("x", (batch, count, 4))


def _suppressions():
    for batch, classes, count, boxes in _boxes():
        for center in (False, True):
            scores = graph_input("y", (batch, classes, count))
            limits = {"iou_threshold": 0.3, "score_threshold": -0.5}
            yield call(ops.NON_MAX_SUPPRESSION, [boxes, scores], most=7, center_point=center, **limits)


def _detections():
    for batch, classes, count, boxes in _boxes():
        for most_of_class in (0, 4):
            scores = graph_input("y", (batch, count, classes))
            limits = {"iou_threshold": 0.3, "score_threshold": 0.1}
            yield call(ops.DETECTIONS, [boxes, scores], most=10, most_of_class=most_of_class, **limits)


def _softmaxes(op):
    for dtype in ("float32", "float64"):
        yield call(op, [matrix(dtype)])
        yield call(op, [graph_input("x", (2, 5, 18), dtype)], axis=1)
    yield call(op, [graph_input("x", (1, 1000))])


def _moves():
    x = graph_input("x", (2, 3, 4, 5))
    return {
        ops.RESHAPE: [call(ops.RESHAPE, [x], newshape=(6, -1))],
        ops.BATCH_FLATTEN: [call(ops.BATCH_FLATTEN, [x])],
        ops.SQUEEZE: [call(ops.SQUEEZE, [graph_input("x", (2, 1, 3))], axis=(1,))],
        ops.EXPAND_DIMS: [call(ops.EXPAND_DIMS, [x], axis=1)],
        ops.TRANSPOSE: [
            call(ops.TRANSPOSE, [x], axes=(0, 2, 3, 1)),
            call(ops.TRANSPOSE, [graph_input("x", (20, 30), "int8")], axes=(1, 0)),
            call(ops.TRANSPOSE, [graph_input("x", (4, 5), "bool")], axes=(1, 0)),
        ],
        ops.CONCATENATE: [
            call(ops.CONCATENATE, [x, graph_input("y", (2, 1, 4, 5)), x], axis=1),
            call(ops.CONCATENATE, [matrix("int8"), graph_input("y", (3, 2), "int8")], axis=-1),
        ],
        ops.STRIDED_SLICE: [call(ops.STRIDED_SLICE, [x], begin=(0, 2, 1, -1), end=(2, -9, 4, 0), strides=(1, -1, 2, -2))],
        ops.BROADCAST_TO: [call(ops.BROADCAST_TO, [graph_input("x", (3, 1, 5))], shape=(2, 3, 4, 5))],
        ops.TAKE: [
            call(ops.TAKE, [x, constant(np.int64([[2, 0], [-1, 1]]))], axis=1),
            call(ops.TAKE, [graph_input("x", (9, 4), "int8"), constant(np.int32(3))], axis=0),
        ],
        ops.GATHER_ELEMENTS: [
            call(ops.GATHER_ELEMENTS, [x, integers(2, 7, 3, 5, dtype="int64", low=-3, high=2)], axis=1),
            call(ops.GATHER_ELEMENTS, [graph_input("x", (9,), "int8"), integers(20, dtype="int32", low=0, high=8)], axis=0),
        ],
        ops.GATHER_ND: [
            call(ops.GATHER_ND, [x, integers(6, 2, dtype="int64", low=-2, high=1)]),
            call(
                ops.GATHER_ND,
                [graph_input("x", (2, 3, 4), "int8"), integers(2, 5, 1, dtype="int32", low=-3, high=2)],
                batch_dims=1,
            ),
        ],
        ops.SCATTER_ELEMENTS: [
            call(
                ops.SCATTER_ELEMENTS,
                [x, integers(2, 2, 4, 3, dtype="int64", low=-3, high=2), graph_input("y", (2, 2, 4, 3))],
                axis=1,
            )
        ],
        ops.SCATTER_ND: [
            call(ops.SCATTER_ND, [x, integers(3, 2, dtype="int64", low=-2, high=1), graph_input("y", (3, 4, 5))]),
            call(
                ops.SCATTER_ND,
                [matrix("int8"), integers(4, 1, dtype="int32", low=0, high=2), graph_input("y", (4, 21), "int8")],
            ),
        ],
        ops.PAD: [
            call(ops.PAD, [x], pad_width=((0, 0), (1, 0), (2, 1), (0, 3)), pad_value=1.5),
            call(ops.PAD, [graph_input("x", (3, 20), "int8")], pad_width=((0, 1), (2, 2)), pad_value=-7),
        ],
        ops.UPSAMPLING: [call(ops.UPSAMPLING, [x], scale_h=2, scale_w=3)],
        ops.WINDOWS: [
            call(ops.WINDOWS, [image("int8", 3)], kernel=(3, 2), strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)),
            call(ops.WINDOWS, [image("float32", 3)], kernel=(2, 2), strides=(2, 2)),
        ],
    }


def _batch_norm():
    for channels in (5, 18):
        parameters = [
            floats(channels),
            floats(channels),
            floats(channels),
            constant(np.linspace(0.1, 2, channels, dtype=np.float32)),
        ]
        yield call(ops.BATCH_NORM, [image(channels=channels), *parameters])
    mean = graph_input("m", (5,))
    yield call(ops.BATCH_NORM, [image(channels=5), floats(5), floats(5), mean, call(ops.MULTIPLY, [mean, mean])])


def _leaky():
    for dtype in ("int8", "int32"):
        for alpha in (0.1, (0.1, -0.2, 3.0, 0.0, 1.5)):
            yield call(ops.QNN_LEAKY_RELU, [image(dtype)], alpha=alpha)


EXAMPLES = {
    **{op: list(_binary(op)) for op in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM)},
    **{op: list(_binary(op)) for op in (ops.GREATER, ops.GREATER_EQUAL, ops.LESS, ops.LESS_EQUAL)},
    ops.EQUAL: list(_binary(ops.EQUAL, ("int8", "float32", "bool"))),
    **{op: list(_binary(op, ("float32", "float64"))) for op in (ops.DIVIDE, ops.POWER)},
    **{op: list(_whole_divisions(op)) for op in (ops.FLOOR_DIVIDE, ops.FLOOR_MOD, ops.TRUNC_DIVIDE, ops.TRUNC_MOD)},
    **{op: list(_binary(op, ("bool",))) for op in (ops.LOGICAL_AND, ops.LOGICAL_OR, ops.LOGICAL_XOR)},
    ops.LOGICAL_NOT: list(_unary(ops.LOGICAL_NOT, ("bool",))),
    **{
        op: list(_unary(op))
        for op in (ops.EXP, ops.LOG, ops.SQRT, ops.FLOOR, ops.CEIL, ops.ROUND, ops.TANH, ops.ERF, ops.SIGMOID, ops.SIN, ops.COS)
    },
    **{op: list(_unary(op)) for op in (ops.HARD_SIGMOID, ops.HARD_SWISH, ops.ELU, ops.LEAKY_RELU)},
    **{op: list(_unary(op, NUMBERS)) for op in (ops.NEGATIVE, ops.ABS, ops.SIGN, ops.RELU)},
    ops.CLIP: [call(ops.CLIP, [matrix(dtype)], a_min=-1, a_max=float("inf")) for dtype in NUMBERS],
    ops.WHERE: [call(ops.WHERE, [graph_input("c", (3, 1), "bool"), matrix(), graph_input("y", (21,))])],
    **{
        op: [call(op, [image("int32"), integers(5, 1, 1, dtype="int32", low=0, high=31)])]
        for op in (ops.LEFT_SHIFT, ops.RIGHT_SHIFT)
    },
    ops.CAST: list(_casts()),
    ops.PRELU: [call(ops.PRELU, [image(), floats(5)])],
    ops.BIAS_ADD: [call(ops.BIAS_ADD, [image(), floats(5)]), call(ops.BIAS_ADD, [matrix("int32"), integers(21, dtype="int32")])],
    ops.BATCH_NORM: list(_batch_norm()),
    ops.LRN: [call(ops.LRN, [image(channels=7)], size=4), call(ops.LRN, [image(channels=18)], size=5, beta=0.5)],
    ops.SOFTMAX: list(_softmaxes(ops.SOFTMAX)),
    ops.LOG_SOFTMAX: list(_softmaxes(ops.LOG_SOFTMAX)),
    ops.CONV2D: list(_conv2d()),
    ops.QNN_CONV2D: list(_qnn_conv2d()),
    ops.CONV2D_TRANSPOSE: list(_conv2d_transpose()),
    ops.QNN_CONV2D_TRANSPOSE: list(
        _transposed(ops.QNN_CONV2D_TRANSPOSE, input_scale=0.5, kernel_scale=0.25, input_zero_point=-9)
    ),
    ops.DENSE: list(_dense(ops.DENSE)),
    ops.QNN_DENSE: list(_dense(ops.QNN_DENSE)),
    ops.MATMUL: list(_matmul()),
    ops.MATMUL2D: list(_matmul2d()),
    ops.QNN_MATMUL: list(_qnn_matmul()),
    ops.TRANSPOSE2D: [call(ops.TRANSPOSE2D, [graph_input("x", (2, 10, 1, 7), "int8")], groups=2)],
    **{op: list(_reductions(op)) for op in (ops.SUM, ops.PROD)},
    **{op: list(_reductions(op, ("float32", "uint8", "int64", "bool"))) for op in (ops.MAX, ops.MIN)},
    ops.MEAN: list(_reductions(ops.MEAN, ("float32", "float64"))),
    ops.ARGMAX: list(_arg(ops.ARGMAX)),
    ops.ARGMIN: list(_arg(ops.ARGMIN)),
    ops.MAX_POOL2D: list(_pools(ops.MAX_POOL2D, ("float32", "int8", "int32"))),
    ops.AVG_POOL2D: list(_pools(ops.AVG_POOL2D, ("float32", "float64"))),
    ops.SUM_POOL2D: list(_pools(ops.SUM_POOL2D, ("int8",), factor=3)),
    ops.GLOBAL_AVG_POOL2D: list(_global_pools(ops.GLOBAL_AVG_POOL2D, ("float32", "float64"))),
    ops.GLOBAL_MAX_POOL2D: list(_global_pools(ops.GLOBAL_MAX_POOL2D, ("float32", "int8"))),
    ops.QNN_QUANTIZE: list(_quantize()),
    ops.QNN_DEQUANTIZE: list(_dequantize()),
    ops.QNN_REQUANTIZE: list(_requantize()),
    ops.QNN_ADD: list(_qnn_add()),
    ops.QNN_AVG_POOL2D: list(_qnn_avg_pool()),
    ops.QNN_GLOBAL_AVG_POOL2D: list(_qnn_global_pool()),
    ops.QNN_SOFTMAX: list(_qnn_softmax()),
    ops.QNN_SOFTMAX_TERMS: [*_rows(ops.QNN_SOFTMAX_TERMS, input_scale=0.05), *_masked_rows()],
    ops.QNN_SOFTMAX_SHARES: list(_rows(ops.QNN_SOFTMAX_SHARES, output_scale=0.01)),
    ops.QNN_NORMALIZE: [
        *_rows(ops.QNN_NORMALIZE, input_scale=0.02, output_scale=0.03, epsilon=1e-5),
        *_rows(ops.QNN_NORMALIZE, input_scale=0.02, output_scale=0.03, epsilon=0.0, center=False),
    ],
    ops.QNN_SIGMOID16: [call(ops.QNN_SIGMOID16, [matrix("int16")], integer_bits=bits) for bits in (0, 3, 6)],
    ops.QNN_TANH16: [call(ops.QNN_TANH16, [matrix("int16")], integer_bits=bits) for bits in (0, 3, 6)],
    ops.QNN_NORMALIZE16: list(_norms_of_16_bits()),
    ops.QNN_LOOKUP: [call(ops.QNN_LOOKUP, [image("int8"), integers(256)])],
    ops.QNN_LEAKY_RELU: list(_leaky()),
    ops.QNN_HARD_SWISH: [call(ops.QNN_HARD_SWISH, [image("int8")], input_scale=0.05, output_scale=0.04)],
    ops.RESCALE: list(_rescales()),
    ops.TOP_K: [*_top_ks(), *_sorted()],
    ops.NON_MAX_SUPPRESSION: list(_suppressions()),
    ops.DETECTIONS: list(_detections()),
    ops.NORMALIZE: [
        call(ops.NORMALIZE, [image(channels=18)], axis=axis, epsilon=1e-5, center=center)
        for axis in (0, 1, -1)
        for center in (False, True)
    ],
    **_moves(),
}
"""Calls of inputs and constants, by operator."""
