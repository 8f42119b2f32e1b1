"""How the tests of operators run one operator, here and in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.onnx_oracle import onnx_values
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate


@pytest.fixture(scope="session")
def run() -> Callable[..., np.ndarray]:
    """``run(op, *arrays, **attributes)``: the value of one call."""

    def run(op: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
        inputs = tuple(graph_input(f"x{i}", a.shape, a.dtype.name) for i, a in enumerate(arrays))
        graph = Graph(inputs, (call(op, inputs, "layer", **attributes),))
        return evaluate(graph, {f"x{i}": a for i, a in enumerate(arrays)})[0]

    return run


@pytest.fixture(scope="session")
def onnx_run() -> Callable[..., np.ndarray]:
    """``onnx_run(op_type, *arrays, **attributes)``: what ONNX Runtime, else ONNX itself, makes of one node."""
    onnx = pytest.importorskip("onnx")

    def run(op_type: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
        names = [f"x{i}" for i in range(len(arrays))]
        helper = onnx.helper
        kinds = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
        graph = helper.make_graph(
            [helper.make_node(op_type, names, ["y"], **attributes)],
            "one",
            [helper.make_tensor_value_info(n, k, a.shape) for n, k, a in zip(names, kinds, arrays, strict=True)],
            [helper.make_tensor_value_info("y", kinds[0], None)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        return onnx_values(model, dict(zip(names, arrays, strict=True)))[0]

    return run
