from __future__ import annotations

import numpy as np
import pytest

from vta.errors import CompileError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.canonicalize import canonicalize

LEARNED = ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.matmul", "nn.bias_add", "nn.prelu")
OTHERS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "concatenate")
BAD = (np.nan, np.inf, -np.inf)


def spoilt(shape: tuple[int, ...], value: float, at: tuple[int, ...]) -> np.ndarray:
    array = np.ones(shape, np.float32)
    array[at] = value
    return array


def layer(op: str, value: float) -> tuple[Graph, str]:
    """One operator with a bad constant, and where that is."""
    rows = op in ("nn.dense", "nn.matmul")
    data = graph_input("x", (1, 4) if rows else (1, 4, 5, 5))
    shape = {"nn.bias_add": (4,), "nn.prelu": (4,), "nn.dense": (4, 4), "nn.matmul": (4, 4)}.get(op, (4, 4, 3, 3))
    at = (2, 1, 0, 2)[: len(shape)]
    if op not in LEARNED:
        shape, at = (1, 4, 5, 5), (0, 2, 1, 3)
    bad = constant(spoilt(shape, value, at), "spoilt")
    return Graph((data,), (call(op, [data, bad], "layer"),)), str(list(at)).replace("[", r"\[").replace("]", r"\]")


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("op", LEARNED)
def test_what_is_learned_is_finite(op: str, value: float):
    graph, at = layer(op, value)
    with pytest.raises(CompileError, match=f"layer 'layer': {op} has the constant 'spoilt', which is {value} at {at}"):
        canonicalize(graph)


@pytest.mark.parametrize("op", OTHERS)
def test_no_constant_is_nan(op: str):
    graph, at = layer(op, np.nan)
    with pytest.raises(CompileError, match=f"layer 'layer': {op} has the constant 'spoilt', which is nan at {at}"):
        canonicalize(graph)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("op", OTHERS)
def test_masks_and_bounds_may_be_infinite(op: str, value: float):
    graph, _ = layer(op, value)
    assert canonicalize(graph).outputs


@pytest.mark.parametrize("op", ["equal", "less", "greater_equal"])
def test_comparisons_with_nan_are_false_and_no_fault(op: str):
    assert canonicalize(layer(op, np.nan)[0]).outputs


def test_a_choice_may_hold_nan():
    data = graph_input("x", (1, 4))
    kept = call("greater", [data, constant(np.zeros((1, 4), np.float32))], "kept")
    result = call("where", [kept, data, constant(np.float32(np.nan))], "choice")
    assert canonicalize(Graph((data,), (result,))).outputs


@pytest.mark.parametrize(("place", "role"), list(enumerate(("scale", "offset", "mean", "variance"))))
@pytest.mark.parametrize("value", BAD)
def test_parameters_of_normalization_are_finite(place: int, role: str, value: float):
    data = graph_input("x", (1, 4, 5, 5))
    parameters = [constant(spoilt((4,), value if index == place else 1.0, (3,)), f"p{index}") for index in range(4)]
    graph = Graph((data,), (call("nn.batch_norm", [data, *parameters], "bn"),))
    with pytest.raises(CompileError, match=rf"layer 'bn': nn.batch_norm has the constant {role} 'p{place}', which is {value} at"):
        canonicalize(graph)


@pytest.mark.parametrize(("variance", "epsilon"), [(-1.0, 1e-5), (-1e-5, 1e-5), (0.0, 0.0)])
def test_a_variance_without_a_root_is_named(variance: float, epsilon: float):
    data = graph_input("x", (1, 4, 5, 5))
    parameters = [constant(spoilt((4,), variance if index == 3 else 1.0, (3,)), f"p{index}") for index in range(4)]
    graph = Graph((data,), (call("nn.batch_norm", [data, *parameters], "bn", epsilon=epsilon),))
    with pytest.raises(CompileError, match=r"constant variance 'p3', which is .* at \[3\]; expected more than -"):
        canonicalize(graph)


def test_a_weight_that_folding_makes_infinite_is_named():
    data = graph_input("x", (1, 4, 5, 5))
    weight = constant(np.full((4, 4, 1, 1), 1e30, np.float32), "w")
    factor = constant(np.full((1, 4, 1, 1), 1e30, np.float32), "factor")
    graph = Graph((data,), (call("multiply", [call("nn.conv2d", [data, weight], "conv"), factor], "scaled"),))
    with (
        np.errstate(over="ignore"),
        pytest.raises(CompileError, match=r"layer 'conv': nn\.conv2d has the constant 'w', which is inf"),
    ):
        canonicalize(graph)


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_an_infinite_term_is_no_bias_or_factor(op: str):
    data = graph_input("x", (1, 4, 5, 5))
    conv = call("nn.conv2d", [data, constant(np.ones((4, 4, 1, 1), np.float32))], "conv")
    mask = constant(spoilt((1, 4, 1, 1), -np.inf, (0, 2, 0, 0)), "mask")
    graph = canonicalize(Graph((data,), (call(op, [conv, mask], "masked"),)))
    assert [node.op for node in graph.calls()] == ["nn.conv2d", op]


def test_a_pad_of_nan_is_named():
    data = graph_input("x", (1, 4))
    graph = Graph((data,), (call("nn.pad", [data], "pad", pad_width=((0, 0), (1, 1)), pad_value=np.nan),))
    with pytest.raises(CompileError, match=r"layer 'pad': nn\.pad pads with nan"):
        canonicalize(graph)
