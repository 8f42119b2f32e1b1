"""What the framework that a file was made with gives for a sample: ONNX Runtime or LiteRT."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["named_outputs", "sourced"]

Array = NDArray[Any]


def sourced(path: Path, sample: Mapping[str, Array]) -> list[Array] | None:
    """What the source framework gives for a sample; None where it does not run the file."""
    return list(named_outputs(path, sample).values()) if path.suffix == ".onnx" else _litert(path, sample)


def named_outputs(path: Path, sample: Mapping[str, Array]) -> dict[str, Array]:
    """What ONNX Runtime gives for a sample, by the names of the outputs, in their order."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {given.name: given.type for given in session.get_inputs()}
    fed = {name: value.astype(np.int64) if "int64" in types[name] else value for name, value in sample.items() if name in types}
    names = [given.name for given in session.get_outputs()]
    return {name: np.asarray(value) for name, value in zip(names, session.run(None, fed), strict=True)}


def _litert(path: Path, sample: Mapping[str, Array]) -> list[Array] | None:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
        for given, value in zip(interpreter.get_input_details(), sample.values(), strict=True):
            if given["shape"].tolist() != list(value.shape):
                interpreter.resize_tensor_input(given["index"], value.shape)
        interpreter.allocate_tensors()
        for given, value in zip(interpreter.get_input_details(), sample.values(), strict=True):
            interpreter.set_tensor(given["index"], value)
        interpreter.invoke()
    except (RuntimeError, ValueError):
        return None
    return [np.array(interpreter.get_tensor(given["index"])) for given in interpreter.get_output_details()]
