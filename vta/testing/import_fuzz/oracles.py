"""The frameworks' own results: ONNX Runtime without optimisations, LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Array, Description
from vta.testing.import_fuzz.onnx_files import onnx_model
from vta.testing.import_fuzz.tflite_files import tensor_numbers, tflite_model
from vta.testing.tflite_model import reference_values

__all__ = ["OracleError", "framework_values", "model_bytes"]


class OracleError(Exception):
    """The framework refuses a model: then it is not legal, whatever the generator thought."""


def model_bytes(net: Description) -> bytes:
    """Return the model as a file."""
    if net.frontend == "tflite":
        return tflite_model(net)
    content: bytes = onnx_model(net).SerializeToString()
    return content


def framework_values(net: Description, feeds: Mapping[str, Array], every_value: bool = False) -> dict[str, Array]:
    """Return the outputs, or every value that is computed, by name. Raises `OracleError` if the framework refuses the model."""
    return _tflite_values(net, feeds) if net.frontend == "tflite" else _onnx_values(net, feeds, every_value)


def _tflite_values(net: Description, feeds: Mapping[str, Array]) -> dict[str, Array]:
    try:
        found = reference_values(tflite_model(net), *(feeds[name] for name in net.inputs))
    except (RuntimeError, ValueError) as error:
        raise OracleError(_brief(str(error))) from None
    numbers = tensor_numbers(net)
    return {name: found[numbers[name]] for name in net.computed() if numbers.get(name) in found}


def _onnx_values(net: Description, feeds: Mapping[str, Array], every_value: bool) -> dict[str, Array]:
    import onnxruntime

    model = onnx_model(net, every_value)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results: list[Any] = session.run(None, dict(feeds))
    except Exception as error:  # its errors have no common base but Exception
        raise OracleError(_brief(str(error))) from None
    return {info.name: np.asarray(value) for info, value in zip(model.graph.output, results, strict=True)}


def _brief(message: str) -> str:
    """The part of a message of the framework that says what is wrong, without the names of the model."""
    line = message.splitlines()[0]
    return line.split("Status Message: ")[-1].split("[ONNXRuntimeError] : ")[-1][:160]
