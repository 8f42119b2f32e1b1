"""What ONNX models give for inputs: by ONNX Runtime with its optimisations off, else by ONNX's own evaluator."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def onnx_values(model: onnx.ModelProto, feed: Mapping[str, Any]) -> list[Any]:
    """Outputs of a model.

    Releases of ONNX Runtime differ in the kernels that they have, and the newest for an old Python may not know a model's
    operator set. ONNX's own evaluator stands in there, and where ONNX Runtime is not installed.
    """
    try:
        return runtime_values(model, feed)
    except _Unable as error:
        reason = str(error)
    for opset in (0, _OPSET_OF_BOTH):
        with contextlib.suppress(RuntimeError, NotImplementedError):
            return _evaluator_values(model, feed, opset)
    pytest.skip(f"neither this ONNX Runtime nor ONNX's own evaluator can run the model: {reason}")


_OPSET_OF_BOTH = 19
"""Of which ONNX's evaluator has the quantised operators; what the tests use of 13 to 18 means the same there."""


def _evaluator_values(model: onnx.ModelProto, feed: Mapping[str, Any], opset: int) -> list[Any]:
    """Outputs by ONNX's own evaluator, the model read as one of `opset`, unless that is 0."""
    from onnx.reference import ReferenceEvaluator

    read = onnx.ModelProto()
    read.CopyFrom(model)
    for entry in read.opset_import:
        if entry.domain == "" and opset:
            entry.version = opset
    return list(ReferenceEvaluator(read).run(None, dict(feed)))


def runtime_values(model: onnx.ModelProto, feed: Mapping[str, Any]) -> list[Any]:
    """Outputs of a model by ONNX Runtime alone.

    Raises:
        _Unable: it is not installed, or this release cannot run the model.
    """
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as states
    except ImportError as error:
        raise _Unable("onnxruntime is not installed") from error
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    read = onnx.ModelProto()
    read.CopyFrom(model)
    read.ir_version = min(model.ir_version, _IR_VERSION)
    try:
        session = onnxruntime.InferenceSession(read.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, dict(feed)))
    except (states.NotImplemented, states.RuntimeException, states.Fail, states.InvalidGraph) as error:
        raise _Unable(str(error)) from error


_IR_VERSION = 10
"""The newest that all releases know. Later ones add what the tests do not use."""


class _Unable(Exception):
    """This machine's ONNX Runtime cannot run a model."""


def need_exact_products() -> None:
    """Skip where ONNX Runtime is missing or multiplies bytes wrongly: release 1.23 does on processors with AMX."""
    if (reason := _reason_against_products()) is not None:
        pytest.skip(reason)


@cache
def _reason_against_products() -> str | None:
    """Why ONNX Runtime's products of bytes are no measure here: a pointwise convolution is compared with NumPy."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (1, 144, 56, 56)).astype(np.uint8)
    weight = rng.integers(0, 256, (24, 144, 1, 1)).astype(np.uint8)
    stored = {"w": weight, "zx": np.uint8(121), "zw": np.uint8(130), "one": np.float32(1), "large": np.float32(5000)}
    node = helper.make_node("QLinearConv", ["x", "one", "zx", "w", "one", "zw", "large", "zx"], ["y"])
    graph = helper.make_graph(
        [node],
        "probe",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()],
    )
    try:
        (got,) = runtime_values(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), {"x": x})
    except _Unable as error:
        return f"ONNX Runtime cannot run a quantised convolution: {error}"
    products = np.einsum("oc,nchw->nohw", weight[:, :, 0, 0].astype(np.int64) - 130, x.astype(np.int64) - 121)
    wanted = np.clip(np.rint(products.astype(np.float32) / np.float32(5000)) + 121, 0, 255)
    return None if np.array_equal(got, wanted) else "this release of ONNX Runtime multiplies bytes wrongly on this processor"
