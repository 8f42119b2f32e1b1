"""Every operator by its kernel against its reference: integers to the bit, floats within a few units in the last place."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.host.examples import EXAMPLES, NUMBERS, values_of
from vta.errors import GraphError
from vta.host.groups import has_kernel, is_view
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input, topological
from vta.ir.interpreter import evaluate
from vta.ir.operator import operator_names
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.plan import HostStep

DOCUMENT = Path(__file__).parents[3] / "docs" / "host.md"
WITHOUT = {ops.CALL}
ULP = dict.fromkeys((ops.EXP, ops.LOG, ops.TANH, ops.ERF, ops.POWER, ops.ELU), 3) | {ops.SIGMOID: 5}
SUMS = 2e-6
"""Of the largest partial sum; of the largest value of a result that adds up some ten products."""


def graph_of(node):
    return Graph(tuple(item for item in topological([node]) if item.op == ops.INPUT), (node,))


def compare(node, feed=None):
    """Compute a node by kernels alone, and hold it to the reference."""
    graph = graph_of(node)
    feed = {item.name: values_of(item) for item in graph.inputs} if feed is None else feed
    compiled = host_graph(graph)
    assert not [step.node.op for step in compiled.plan.steps if isinstance(step, HostStep)]
    (got,), (want,) = compiled.run(feed), evaluate(graph, feed)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
    elif node.op in ULP:
        assert_near(got, want, ULP[node.op])
    else:
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=SUMS * largest(graph, feed, want))


def largest(graph, feed, want):
    """The largest partial sum that a result may be made of: where it is a plain sum, terms may cancel."""
    if graph.outputs[0].op in (ops.SUM, ops.MEAN):
        (want,) = evaluate(graph, {name: np.abs(value) for name, value in feed.items()})
    return np.abs(want[np.isfinite(want)]).max(initial=0)


def assert_near(got, want, ulp):
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        far = np.abs(got.astype(np.float64) - want.astype(np.float64)) > ulp * np.spacing(np.abs(want)).astype(np.float64)
    assert not (far & ~same).any()


@pytest.mark.parametrize("op", sorted(EXAMPLES))
def test_kernels_give_what_references_give(op):
    for node in EXAMPLES[op]:
        compare(node)


def test_every_operator_has_examples():
    assert sorted(operator_names()) == sorted({*EXAMPLES, *WITHOUT})


def test_the_document_lists_what_has_kernels():
    """The table names each operator once, with kernels or without."""
    rows = [line.split("|")[1:-1] for line in DOCUMENT.read_text().splitlines() if line.startswith("| ") and "`" in line]
    listed = {name.strip(" `"): how.strip() for names, how, *_ in rows for name in names.split(",")}
    for op, nodes in EXAMPLES.items():
        assert op in listed, f"{op} is not in the table of {DOCUMENT.name}"
        assert (listed[op] == "a view") == all(map(is_view, nodes))
        assert all(has_kernel(node) for node in nodes) == (listed[op] != "reference")
    assert all(listed[op] == "reference" for op in WITHOUT)


FUNCTIONS = {
    ops.EXP: np.exp,
    ops.LOG: np.log,
    ops.TANH: np.tanh,
    ops.SIN: np.sin,
    ops.COS: np.cos,
    ops.ELU: lambda x: np.where(x < 0, np.expm1(x), x),
}
SPECIAL = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 1e-40, 88.72284, 88.72285, -87.4, -103.9, -104.1])


@pytest.mark.parametrize("op", sorted(FUNCTIONS))
def test_functions_over_all_of_float32(op):
    """A thousandth of all floats, negative and denormal ones among them, and what is special."""
    patterns = np.arange(0, 1 << 32, 7919 * 13, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([patterns.view(np.float32), SPECIAL])
    graph = graph_of(call(op, [graph_input("x", values.shape)]))
    (got,) = host_graph(graph).run({"x": values})
    with np.errstate(all="ignore"):
        want = FUNCTIONS[op](values.astype(np.float64)).astype(np.float32)
    assert_near(got, want, 2)


def test_sigmoids():
    values = np.linspace(-87, 88, 50021, dtype=np.float32)
    (got,) = host_graph(graph_of(call(ops.SIGMOID, [graph_input("x", values.shape)]))).run({"x": values})
    assert_near(got, (1 / (1 + np.exp(-values.astype(np.float64)))).astype(np.float32), 3)


@pytest.mark.parametrize("largest", [False, True])
def test_order_of_what_is_no_number(largest):
    values = np.float32([1, np.nan, -0.0, np.inf, 0, np.nan, -np.inf, 1])
    compare(call(ops.TOP_K, [graph_input("x", (8,))], k=8, largest=largest), {"x": values})


def test_powers():
    base = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 0.5, -0.5, 3, 1e-40, -1e-40, 7.25])
    x, y = (part.ravel() for part in np.meshgrid(base, base))
    node = call(ops.POWER, [graph_input("x", x.shape), graph_input("y", y.shape)])
    (got,) = host_graph(graph_of(node)).run({"x": x, "y": y})
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    assert_near(got, want, 1)


@pytest.mark.parametrize("wanted", ["int8", "int32", "int64", "uint8", "bool"])
def test_casts_of_floats_saturate(wanted):
    values = np.float32([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.9, -128.9, 255.5, -0.5, 0.0, 2.0**31, -(2.0**63)])
    compare(call(ops.CAST, [graph_input("x", values.shape)], dtype=wanted), {"x": values})


def test_wrapping_integers():
    for dtype in NUMBERS[2:]:
        limits = np.iinfo(dtype)
        x = np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype)
        for op in (ops.ADD, ops.SUBTRACT, ops.MULTIPLY):
            node = call(op, [graph_input("x", (5, 1), dtype), graph_input("y", (5,), dtype)])
            compare(node, {"x": x[:, None], "y": x})


def test_what_reads_one_value_twice_stays_short():
    """Each step of a chain uses the one before twice: its code must not double."""
    node = graph_input("x", (32,))
    for _ in range(30):
        node = call(ops.LEAKY_RELU, [node], alpha=0.9)
    compare(node)


X, PLACES = graph_input("x", (3, 4)), graph_input("y", (2, 1), "int32")
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
UPDATES = graph_input("z", (2, 4))
OUTSIDE = {
    "take": (call(ops.TAKE, [X, PLACES]), [[2], [3]], "-3..2, got 3"),
    "take of a constant": (call(ops.TAKE, [X, constant(np.int32([7, -9]))]), None, "-3..2, got -9"),
    "gather_nd": (call(ops.GATHER_ND, [X, PLACES]), [[-4], [0]], "-3..2, got -4"),
    "gather_elements": (call(ops.GATHER_ELEMENTS, [X, PLACES], axis=1), [[-4], [4]], "-4..3, got 4"),
    "scatter_nd": (call(ops.SCATTER_ND, [X, PLACES, UPDATES]), [[1], [1 << 30]], "-3..2, got 1073741824"),
    "left_shift": (call(ops.LEFT_SHIFT, [graph_input("a", (1,), "int32"), PLACES]), [[31], [32]], "0..31, got 32"),
    "rescale": (
        call(ops.RESCALE, [graph_input("i", (1, 2), "int32"), *(constant(np.int32([at])) for at in (9, 9, -32))]),
        None,
        "-31..31, got -32",
    ),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_values_outside_of_their_bounds(case):
    """They are found when the kernel has run: the error is the reference's, and the next run gives what is right."""
    node, places, said = OUTSIDE[case]
    graph = graph_of(node)
    feed = {item.name: values_of(item) for item in graph.inputs}
    feed |= {} if places is None else {"y": np.int32(places)}
    compiled = host_graph(graph)
    for run in (compiled.run, lambda given: evaluate(graph, given)):
        with pytest.raises(GraphError, match=re.escape(f"{node.name}: {node.op}: ") + ".*" + re.escape(said)):
            run(feed)
    if places is not None:
        compare(node, {**feed, "y": np.zeros_like(feed["y"])})


def test_boxes_with_ties_and_of_no_area():
    rng = np.random.default_rng(3)
    corner = rng.integers(0, 6, (1, 90, 2))
    boxes = np.concatenate([corner, corner + rng.integers(0, 4, (1, 90, 2))], axis=-1).astype(np.float32)
    boxes[0, 7], boxes[0, 8] = np.nan, boxes[0, 9, [2, 3, 0, 1]]
    scores = rng.integers(0, 5, (1, 90, 3)).astype(np.float32)
    scores[0, ::11, 1] = np.nan
    x, y = graph_input("x", boxes.shape), graph_input("y", scores.shape)
    for most_of_class in (0, 2, 90):
        limits = {"iou_threshold": 0.25, "score_threshold": 1.0, "most_of_class": most_of_class}
        compare(call(ops.DETECTIONS, [x, y], most=60, **limits), {"x": boxes, "y": scores})
    turned = np.ascontiguousarray(scores.transpose(0, 2, 1))
    y = graph_input("y", turned.shape)
    compare(call(ops.NON_MAX_SUPPRESSION, [x, y], most=90, iou_threshold=0.25, score_threshold=0.0), {"x": boxes, "y": turned})


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sorting_of_what_is_no_number(dtype, largest):
    values = np.tile(np.array([1, np.nan, -0.0, np.inf, 0, np.nan, -np.inf, -1e-40], dtype), 12)
    compare(call(ops.TOP_K, [graph_input("x", (96,), dtype)], k=96, largest=largest), {"x": values})


def test_doubles_are_rounded_once_to_half_precision():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    ends = np.float16([65504, -65504])
    numbers = np.concatenate([halves[np.isfinite(halves)][::7], ends]).astype(np.float64)
    with np.errstate(all="ignore"):
        middles = (numbers + np.spacing(numbers.astype(np.float16)).astype(np.float64) / 2)[:-2]
    middles = middles[np.isfinite(middles)]
    near = [np.nextafter(middles, way) for way in (-np.inf, np.inf)]
    values = np.concatenate([numbers, middles, *near, [np.nan, np.inf, -np.inf, 1e300, 65519.999, 65520.0, 1e-320]])
    node = call(ops.CAST, [graph_input("x", values.shape, "float64")], dtype="float16")
    (got,) = host_graph(graph_of(node)).run({"x": values})
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, values.astype(np.float16))


@pytest.mark.parametrize(
    "node",
    [
        call(ops.TAKE, [X, constant(np.zeros(0, np.int32))]),
        call(ops.ADD, [graph_input("e", (0, 4)), constant(np.float32(1))]),
        call(ops.DENSE, [graph_input("e", (0, 4)), constant(np.zeros((3, 4), np.float32))]),
        call(ops.CONCATENATE, [graph_input("e", (0, 4)), X], axis=0),
    ],
    ids=lambda node: node.op,
)
def test_values_without_elements(node):
    compare(node)


def test_no_operator_of_a_quantized_network_is_left(shared):
    from vta.frontend import load_model
    from vta.passes.canonicalize import canonicalize

    for name in ("mlperf_tiny/kws_ref_model.tflite", "mobilenet/mobilenet_v2_quant.onnx"):
        graph = canonicalize(load_model(shared / "models" / name))
        assert all(has_kernel(node) for node in graph.calls()), name
