"""Calls of random shapes, types and attributes: one strategy for each kind of kernel, the same for every processor."""

import numpy as np
from hypothesis import strategies as st

from tests.host.examples import values_of
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input, topological

channels = st.sampled_from([1, 3, 8, 16, 17, 24, 33])
pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


def weights(draw, shape, dtype):
    """A constant whose values follow from a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype == "float32":
        return constant(rng.standard_normal(shape).astype(dtype))
    return constant(rng.integers(-128, 127, shape, endpoint=True).astype(dtype))


def image(draw, dtype, count, least=1, name="x"):
    return graph_input(name, (draw(st.integers(1, 2)), count, draw(st.integers(least, 11)), draw(st.integers(least, 19))), dtype)


def _geometry(draw):
    return {
        "strides": draw(pairs),
        "padding": draw(st.tuples(*[st.integers(0, 2)] * 4)),
        "dilation": draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
    }


def _convolved(draw, inputs, outputs, groups):
    dtype, kernel = draw(st.sampled_from(["float32", "int8"])), draw(pairs)
    x = image(draw, dtype, inputs, 5)
    return call(ops.CONV2D, [x, weights(draw, (outputs, inputs // groups, *kernel), dtype)], groups=groups, **_geometry(draw))


@st.composite
def convolutions(draw):
    return _convolved(draw, draw(channels), draw(channels), 1)


@st.composite
def depthwise(draw):
    count = draw(channels.filter(lambda count: count > 1))
    return _convolved(draw, count, count, count)


@st.composite
def grouped(draw):
    groups = draw(st.integers(2, 4))
    return _convolved(draw, groups * draw(st.integers(1, 9)), groups * draw(st.integers(1, 9)), groups)


@st.composite
def transposed(draw):
    groups, dtype = draw(st.integers(1, 2)), draw(st.sampled_from(["float32", "int8"]))
    inputs, outputs = (groups * draw(st.integers(1, 9)) for _ in range(2))
    weight = weights(draw, (inputs, outputs // groups, draw(st.integers(2, 3)), draw(st.integers(2, 3))), dtype)
    padding = draw(st.tuples(*[st.integers(0, 1)] * 4))
    return call(
        ops.CONV2D_TRANSPOSE, [image(draw, dtype, inputs, 3), weight], groups=groups, strides=draw(pairs), padding=padding
    )


@st.composite
def dense(draw):
    dtype, depth = draw(st.sampled_from(["float32", "int8"])), draw(st.integers(1, 80))
    x = graph_input("x", (draw(st.integers(1, 4)), depth), dtype)
    return call(ops.DENSE, [x, weights(draw, (draw(st.integers(1, 70)), depth), dtype)])


@st.composite
def matmul(draw):
    lead = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    rows, depth, columns = (draw(st.integers(1, 40)) for _ in range(3))
    operator, dtype = draw(st.sampled_from([(ops.MATMUL, "float32"), (ops.QNN_MATMUL, "int8")]))
    second = lead if draw(st.booleans()) else lead[1:]
    return call(operator, [graph_input("x", (*lead, rows, depth), dtype), graph_input("y", (*second, depth, columns), dtype)])


@st.composite
def pooling(draw):
    kinds = [(ops.MAX_POOL2D, "float32"), (ops.MAX_POOL2D, "int8"), (ops.AVG_POOL2D, "float32"), (ops.SUM_POOL2D, "int8")]
    operator, dtype = draw(st.sampled_from(kinds))
    window = draw(pairs)
    padding = tuple(draw(st.integers(0, size - 1)) for size in window * 2)
    geometry = {"pool_size": window, "strides": draw(pairs), "padding": padding, "ceil_mode": draw(st.booleans())}
    return call(operator, [image(draw, dtype, draw(channels), 4)], **geometry)


FLOAT_LINKS = {
    "relu": lambda x, y: call(ops.RELU, [x]),
    "clip": lambda x, y: call(ops.CLIP, [x], a_min=-0.5, a_max=1.5),
    "add": lambda x, y: call(ops.ADD, [x, y]),
    "subtract": lambda x, y: call(ops.SUBTRACT, [y, x]),
    "multiply": lambda x, y: call(ops.MULTIPLY, [x, constant(np.float32(0.75))]),
    "maximum": lambda x, y: call(ops.MAXIMUM, [x, y]),
    "sigmoid": lambda x, y: call(ops.SIGMOID, [x]),
    "tanh": lambda x, y: call(ops.TANH, [x]),
    "hard swish": lambda x, y: call(ops.HARD_SWISH, [x]),
}
INTEGER_LINKS = {
    "add": FLOAT_LINKS["add"],
    "subtract": FLOAT_LINKS["subtract"],
    "multiply": lambda x, y: call(ops.MULTIPLY, [x, constant(np.int32(12345))]),
    "shift": lambda x, y: call(ops.RIGHT_SHIFT, [x, constant(np.int32(7))]),
    "clip": lambda x, y: call(ops.CLIP, [x], a_min=-1000, a_max=999),
    "relu": FLOAT_LINKS["relu"],
}


@st.composite
def chains(draw):
    """Elementwise operators, one after the other; the other operand broadcasts."""
    dtype, links = draw(st.sampled_from([("float32", FLOAT_LINKS), ("int32", INTEGER_LINKS)]))
    x = image(draw, dtype, draw(channels))
    other = graph_input("y", draw(st.sampled_from([x.shape, (x.shape[1], 1, 1), (1, x.shape[3])])), dtype)
    node = call(ops.ADD, [x, other])
    for name in draw(st.lists(st.sampled_from(sorted(links)), min_size=1, max_size=5)):
        node = links[name](node, other)
    return call(ops.CAST, [node], dtype="int8") if dtype == "int32" and draw(st.booleans()) else node


def tensors(draw, dtype, least=1):
    return graph_input("x", tuple(draw(st.lists(st.integers(1, 23), min_size=least, max_size=4).filter(_is_small))), dtype)


def _is_small(shape):
    return np.prod(shape) < 20000


@st.composite
def softmax(draw):
    x = tensors(draw, "float32")
    return call(draw(st.sampled_from([ops.SOFTMAX, ops.LOG_SOFTMAX])), [x], axis=draw(st.integers(0, len(x.shape) - 1)))


@st.composite
def reductions(draw):
    operator = draw(st.sampled_from([ops.SUM, ops.MAX, ops.MIN, ops.MEAN, ops.ARGMAX, ops.ARGMIN]))
    dtype = "float32" if operator == ops.MEAN else draw(st.sampled_from(["float32", "int8", "int32"]))
    x = tensors(draw, dtype)
    axes = draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1))
    single = operator in (ops.ARGMAX, ops.ARGMIN)
    return call(operator, [x], axis=min(axes) if single else tuple(sorted(axes)), keepdims=draw(st.booleans()))


@st.composite
def transposition(draw):
    x = tensors(draw, draw(st.sampled_from(["float32", "int8", "int32"])), 2)
    return call(ops.TRANSPOSE, [x], axes=tuple(draw(st.permutations(range(len(x.shape))))))


@st.composite
def resize(draw):
    x = image(draw, draw(st.sampled_from(["float32", "int8"])), draw(channels))
    return call(ops.UPSAMPLING, [x], scale_h=draw(st.integers(1, 3)), scale_w=draw(st.integers(1, 3)))


def _scales(count):
    one = st.floats(2.0**-10, 1, width=32)
    return st.one_of(one, st.lists(one, min_size=count, max_size=count).map(tuple))


def _scale(draw, count):
    return draw(_scales(count))


@st.composite
def quantize(draw):
    x = image(draw, "float32", draw(channels))
    attributes = {"scale": _scale(draw, x.shape[1]), "zero_point": draw(st.integers(-9, 9))}
    rounding = draw(st.sampled_from(["up", "even", "tflite"]))
    return call(ops.QNN_QUANTIZE, [x], rounding=rounding, out_dtype=draw(st.sampled_from(["int8", "uint8"])), **attributes)


@st.composite
def dequantize(draw):
    x = image(draw, draw(st.sampled_from(["int8", "uint8", "int32"])), draw(channels))
    return call(ops.QNN_DEQUANTIZE, [x], scale=_scale(draw, x.shape[1]), zero_point=draw(st.integers(-9, 9)))


@st.composite
def requantize(draw):
    x = image(draw, draw(st.sampled_from(["int8", "uint8", "int32"])), draw(channels))
    data = call(ops.RIGHT_SHIFT, [x, constant(np.int32(12))]) if x.dtype == "int32" else x
    scale = draw(st.floats(2.0**-10, 1, width=32))
    low, high = sorted(draw(st.tuples(st.integers(-128, 127), st.integers(-128, 127))))
    return call(
        ops.QNN_REQUANTIZE,
        [data],
        input_scale=draw(st.one_of(st.just(scale), _scales(x.shape[1]))),
        output_scale=scale,
        input_zero_point=draw(st.sampled_from([0, 0, -9, 128])),
        output_zero_point=draw(st.sampled_from([0, 0, 5, -128])),
        out_dtype=draw(st.sampled_from(["int8", "uint8", "int32"])),
        rounding=draw(st.sampled_from(["up", "tflite", "tflite_once", "even"])),
        a_min=low,
        a_max=high,
    )


@st.composite
def moved_convolutions(draw):
    """What begins a quantised network: bytes that are moved to another zero point, and a convolution of them."""
    inputs = draw(channels)
    groups = inputs if inputs > 1 and draw(st.booleans()) else 1
    outputs = inputs if groups > 1 else draw(channels)
    zero_point = draw(st.sampled_from([0, 3, -128]))
    x = image(draw, draw(st.sampled_from(["int8", "uint8"])), inputs, 5)
    scales = {"input_scale": 0.5, "output_scale": draw(st.sampled_from([0.5, 0.75]))}
    moved = call(ops.QNN_REQUANTIZE, [x], input_zero_point=128, output_zero_point=zero_point, rounding="tflite", **scales)
    weight = weights(draw, (outputs, inputs // groups, *draw(pairs)), draw(st.sampled_from(["int8", "int16"])))
    attributes = {"input_scale": 0.75, "kernel_scale": 0.5, "input_zero_point": zero_point, "groups": groups}
    return call(ops.QNN_CONV2D, [moved, weight], **attributes, **_geometry(draw))


@st.composite
def fixed_softmax(draw):
    x = tensors(draw, "int8")
    scale = draw(st.sampled_from([0.001, 0.05, 0.9]))
    return call(ops.QNN_SOFTMAX, [x], input_scale=scale, axis=draw(st.integers(0, len(x.shape) - 1)))


@st.composite
def rescaled(draw):
    x = image(draw, "int32", draw(channels))
    shape = draw(st.sampled_from([(1,), (x.shape[1],)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    limits = (-999, 999), (1 << 30, (1 << 31) - 1), (-3, 31)
    parameters = [constant(rng.integers(low, high, shape, dtype=np.int32, endpoint=True)) for low, high in limits]
    return call(ops.RESCALE, [x, *parameters], once=draw(st.booleans()), narrow=draw(st.booleans()), a_min=-100)


@st.composite
def ordered(draw):
    x = tensors(draw, draw(st.sampled_from(["float32", "int8"])))
    axis = draw(st.integers(0, len(x.shape) - 1))
    return call(ops.TOP_K, [x], k=draw(st.integers(1, x.shape[axis])), axis=axis, largest=draw(st.booleans()))


@st.composite
def sorted_rows(draw):
    """Rows that are long enough to be sorted; of few values, so that some are equal."""
    dtype = draw(st.sampled_from(["float32", "float64", "int8", "uint8", "int16", "int32", "int64"]))
    size, others = draw(st.integers(64, 900)), draw(st.lists(st.integers(1, 3), max_size=2))
    axis = draw(st.integers(0, len(others)))
    x = graph_input("x", (*others[:axis], size, *others[axis:]), dtype)
    few = call(ops.CAST, [call(ops.CAST, [x], dtype="int8")], dtype=dtype) if draw(st.booleans()) else x
    return call(ops.TOP_K, [few], k=draw(st.integers(1, size)), axis=axis, largest=draw(st.booleans()))


def _some_boxes(draw):
    return draw(st.integers(1, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 150))


@st.composite
def suppressed(draw):
    batch, classes, count = _some_boxes(draw)
    boxes, scores = graph_input("x", (batch, count, 4)), graph_input("y", (batch, classes, count))
    return call(
        ops.NON_MAX_SUPPRESSION,
        [boxes, scores],
        most=draw(st.integers(1, 20)),
        iou_threshold=draw(st.sampled_from([0.0, 0.3, 0.7])),
        score_threshold=draw(st.sampled_from([float("-inf"), -1.0, 0.5])),
        center_point=draw(st.booleans()),
    )


@st.composite
def detected(draw):
    batch, classes, count = _some_boxes(draw)
    boxes, scores = graph_input("x", (batch, count, 4)), graph_input("y", (batch, count, classes))
    return call(
        ops.DETECTIONS,
        [boxes, scores],
        most=draw(st.integers(1, 20)),
        iou_threshold=draw(st.sampled_from([0.0, 0.3, 0.7])),
        score_threshold=draw(st.sampled_from([-5.0, 0.5])),
        most_of_class=draw(st.integers(0, 9)),
    )


def _positions(size, name, shape, dtype="int64"):
    """Computed positions, from the front and from the end."""
    bits = graph_input(name, shape, "int8")
    low, high = constant(np.int8(-min(size, 128))), constant(np.int8(min(size - 1, 127)))
    return call(ops.CAST, [call(ops.MINIMUM, [call(ops.MAXIMUM, [bits, low]), high])], dtype=dtype)


@st.composite
def picked(draw):
    """Elements at computed positions."""
    dtype = draw(st.sampled_from(["float32", "int8", "int32"]))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=2, max_size=4)))
    x, places = graph_input("x", shape, dtype), draw(st.sampled_from(["int32", "int64"]))
    axis = draw(st.integers(0, len(shape) - 1))
    kind = draw(st.sampled_from([ops.TAKE, ops.GATHER_ELEMENTS, ops.GATHER_ND]))
    if kind == ops.GATHER_ND:
        smallest = min(shape[:2])
        return call(kind, [x, _positions(smallest, "y", (draw(st.integers(1, 5)), 2), places)])
    if kind == ops.GATHER_ELEMENTS:
        wanted = tuple(draw(st.integers(1, 12)) if at == axis else draw(st.integers(1, size)) for at, size in enumerate(shape))
        return call(kind, [x, _positions(shape[axis], "y", wanted, places)], axis=axis)
    wanted = tuple(draw(st.lists(st.integers(1, 6), max_size=2)))
    return call(kind, [x, _positions(shape[axis], "y", wanted, places)], axis=axis)


@st.composite
def placed(draw):
    """Values put at computed positions, some of them at the same; floats are added up in order."""
    dtype = draw(st.sampled_from(["float32", "int8", "int32"]))
    reduction = draw(st.sampled_from(["none", "add", "max", "min"]))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=2, max_size=3)))
    x = graph_input("x", shape, dtype)
    if draw(st.booleans()):
        axis = draw(st.integers(0, len(shape) - 1))
        wanted = tuple(draw(st.integers(1, 12)) if at == axis else draw(st.integers(1, size)) for at, size in enumerate(shape))
        places, updates = _positions(shape[axis], "y", wanted), graph_input("z", wanted, dtype)
        return call(ops.SCATTER_ELEMENTS, [x, places, updates], axis=axis, reduction=reduction)
    count = draw(st.integers(1, 12))
    places, updates = _positions(shape[0], "y", (count, 1)), graph_input("z", (count, *shape[1:]), dtype)
    return call(ops.SCATTER_ND, [x, places, updates], reduction=reduction)


@st.composite
def gates(draw):
    x = graph_input("x", (draw(st.integers(1, 3)), draw(st.integers(1, 40))), "int16")
    gate = call(draw(st.sampled_from([ops.QNN_SIGMOID16, ops.QNN_TANH16])), [x], integer_bits=draw(st.integers(0, 6)))
    return gate if draw(st.booleans()) else call(ops.CAST, [gate], dtype="int32")


@st.composite
def norms_of_16_bits(draw):
    """Rows that vary by all, some or none of their bits, around any level."""
    rows, count = draw(st.integers(1, 3)), draw(st.integers(1, 70))
    x, rng = graph_input("x", (rows, count), "int32"), np.random.default_rng(draw(st.integers(0, 99)))
    weight = constant(rng.integers(-(2**15), 2**15, count).astype(np.int16))
    bias = constant(rng.integers(-(2**31), 2**31, count).astype(np.int32) >> draw(st.integers(0, 12)))
    shift, level = draw(st.integers(16, 31)), draw(st.integers(-(2**15), 2**15 - 1))
    value = call(ops.ADD, [call(ops.RIGHT_SHIFT, [x, constant(np.int32(shift))]), constant(np.int32(level))])
    scale = draw(st.one_of(st.floats(1e-8, 1e-3), st.floats(1e-3, 1e5)))
    return call(ops.QNN_NORMALIZE16, [call(ops.CAST, [value], dtype="int16"), weight, bias], scale=scale)


RANDOM_KERNELS = {
    "convolution": convolutions(),
    "depthwise": depthwise(),
    "grouped": grouped(),
    "transposed": transposed(),
    "dense": dense(),
    "matmul": matmul(),
    "pooling": pooling(),
    "chain": chains(),
    "softmax": softmax(),
    "reduction": reductions(),
    "transposition": transposition(),
    "resize": resize(),
    "quantize": quantize(),
    "dequantize": dequantize(),
    "requantize": requantize(),
    "moved convolution": moved_convolutions(),
    "qnn softmax": fixed_softmax(),
    "rescale": rescaled(),
    "gate": gates(),
    "top k": ordered(),
}
"""A strategy of calls for each kind of kernel."""
RANDOM_ROWS = {"norm of 16 bits": norms_of_16_bits()}
"""The same for what onnxruntime has no operators for."""
RANDOM_PROCEDURES = {
    "sorted": sorted_rows(),
    "suppression": suppressed(),
    "detections": detected(),
    "computed gather": picked(),
    "computed scatter": placed(),
}
"""The same for what processors alone compute: what follows values, and not shapes."""


def graph_of(node):
    """The graph of one call."""
    return Graph(tuple(item for item in topological([node]) if item.op == ops.INPUT), (node,))


def inputs_of(graph, seed):
    """Values for the inputs of a graph."""
    rng = np.random.default_rng(seed)
    return {node.name: values_of(node, rng) for node in graph.inputs}


def require_same(got, want, bound):
    """Integers must be equal, floats within a bound, which is of the largest value."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=0, atol=bound * max(1.0, np.abs(want).max()))
    else:
        np.testing.assert_array_equal(got, want)
