"""Every operator by its kernel against its reference: integers to the bit, floats within a few units in the last place."""

from pathlib import Path

import numpy as np
import pytest

from tests.host.examples import EXAMPLES, NUMBERS, values_of
from vta.host.groups import has_kernel, is_view
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input, topological
from vta.ir.interpreter import evaluate
from vta.ir.operator import operator_names
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.plan import HostStep

DOCUMENT = Path(__file__).parents[3] / "docs" / "host.md"
WITHOUT = {ops.CALL, ops.DETECTIONS, ops.NON_MAX_SUPPRESSION, ops.NORMALIZE}
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


@pytest.mark.parametrize(
    "node",
    [
        call(ops.TAKE, [graph_input("x", (3, 4)), graph_input("y", (2,), "int32")]),
        call(ops.TAKE, [graph_input("x", (3, 4)), constant(np.int32([7]))]),
        call(ops.GATHER_ND, [graph_input("x", (3, 4)), graph_input("y", (2, 1), "int32")]),
        call(ops.GATHER_ELEMENTS, [graph_input("x", (3,)), constant(np.int32([7]))]),
        call(
            ops.SCATTER_ND,
            [graph_input("x", (3,)), constant(np.int32([[1]])), graph_input("y", (1,))],
            reduction="add",
        ),
        call(ops.RESCALE, [graph_input("x", (2, 3), "int32"), *(graph_input(name, (3,), "int32") for name in "bms")]),
        call(ops.TOP_K, [graph_input("x", (1 << 15,))], k=1),
        call(ops.LEFT_SHIFT, [graph_input("x", (3,), "int32"), graph_input("y", (3,), "int32")]),
        call(ops.CAST, [graph_input("x", (3,), "float64")], dtype="float16"),
    ],
    ids=lambda node: node.op,
)
def test_calls_that_stay_with_the_references(node):
    """Positions and amounts that are wrong are errors, which only the reference raises."""
    assert not has_kernel(node)


def test_no_operator_of_a_quantized_network_is_left(shared):
    from vta.frontend import load_model
    from vta.passes.canonicalize import canonicalize

    for name in ("mlperf_tiny/kws_ref_model.tflite", "mobilenet/mobilenet_v2_quant.onnx"):
        graph = canonicalize(load_model(shared / "models" / name))
        assert all(has_kernel(node) for node in graph.calls()), name
