"""Tiny ONNX models, with the values that ONNX Runtime (else ONNX's own evaluator) gives for them, and tiny MXNet networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx_oracle import onnx_values
from vta.frontend.mxnet import StoredParameters, Symbol, SymbolNode, import_symbol
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.onnx import import_onnx
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate

OPSET = 17


def _model(
    nodes: Sequence[onnx.NodeProto] | onnx.NodeProto,
    inputs: dict[str, tuple[Any, ...]],
    constants: dict[str, Any] | None = None,
    opset: int = OPSET,
    outputs: Sequence[str] = ("y",),
) -> onnx.ModelProto:
    nodes = [nodes] if isinstance(nodes, onnx.NodeProto) else list(nodes)
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture(scope="session")
def make() -> Callable[..., onnx.ModelProto]:
    """Build a model from nodes, input shapes, initialisers and an operator set version."""
    return _model


@pytest.fixture(scope="session")
def expected() -> Callable[..., list[Any]]:
    """What a model gives for inputs, by ONNX Runtime."""
    return onnx_values


@pytest.fixture(scope="session")
def same() -> Callable[..., Graph]:
    """Import a model built from the arguments of `make`, compare it with ONNX Runtime on random data, and return the graph."""

    def check(nodes: Any, inputs: dict[str, tuple[int, ...]], *args: Any, positive: bool = False, **kwargs: Any) -> Graph:
        model = _model(nodes, inputs, *args, **kwargs)
        generator = np.random.default_rng(7)
        feed = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}
        if positive:
            feed = {name: np.abs(value) + 0.1 for name, value in feed.items()}
        graph = import_onnx(model)
        for want, got in zip(onnx_values(model, feed), evaluate(graph, feed), strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        return graph

    return check


def _symbol(op: str, variables: list[str], head: int = 0, **attrs: Any) -> Symbol:
    nodes = [SymbolNode("null", name) for name in variables]
    inputs = tuple((index, 0) for index in range(len(variables)))
    text = Attributes({key: str(value) for key, value in attrs.items()})
    return Symbol((*nodes, SymbolNode(op, "layer", inputs, text)), ((len(nodes), head),))


@pytest.fixture(scope="session")
def symbol() -> Callable[..., Symbol]:
    """A network of one operator: its kind, its variables, and attributes that become text."""
    return _symbol


@pytest.fixture(scope="session")
def layer() -> Callable[..., tuple[Graph, Any]]:
    """Import one operator on `data` (and more inputs, or parameters) and return the graph and its value."""

    def run(op: str, data: Any, parameters: dict[str, Any] | None = None, head: int = 0, others: Any = (), **attrs: Any) -> Any:
        inputs = {"data": data, **{f"data{i}": value for i, value in enumerate(others)}}
        stored = parameters or {}
        graph = import_symbol(
            _symbol(op, [*inputs, *stored], head, **attrs),
            StoredParameters({name: np.asarray(value) for name, value in stored.items()}, "net.params"),
            {name: value.shape for name, value in inputs.items()},
            "net-symbol.json",
        )
        return graph, evaluate(graph, inputs)[0]

    return run
