"""What the framework of a model file computes, by its own interpreter: LiteRT or onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vta.difference.values import OUTPUT, Array, LayerValue
from vta.errors import UsageError
from vta.frontend.onnx.structure import layer_name

__all__ = ["FRAMEWORKS", "framework_values"]


def framework_values(path: Path, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
    """Run a model file; values lie as ours do: images are NCHW, and uint8 values of inner layers are int8, less 128.

    Raises `UsageError` if the framework of such a file is not there, or is not known.
    """
    if path.suffix not in FRAMEWORKS:
        known = ", ".join(FRAMEWORKS)
        raise UsageError(f"{path}: no framework runs such a file here; those of {known} have one; compare with its reference")
    yield from FRAMEWORKS[path.suffix](path, inputs)


def _litert(path: Path, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError:
        raise UsageError(f"{path}: LiteRT is not installed: pip install ai-edge-litert") from None
    interpreter = Interpreter(
        str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], np.asarray(inputs[detail["name"]], detail["dtype"]))
    interpreter.invoke()
    results = {detail["index"] for detail in interpreter.get_output_details()}
    for detail in interpreter.get_tensor_details():
        array = _tensor(interpreter, detail["index"])
        if array is None or not detail["name"]:
            continue
        for name in dict.fromkeys((detail["name"], detail["name"].split(";")[0])):
            yield LayerValue(name, f"{array.dtype}{list(array.shape)}", _as_ours(array))
        if detail["index"] in results:
            yield LayerValue(f"{OUTPUT} {detail['name']}", f"{array.dtype}{list(array.shape)}", array)


def _tensor(interpreter: Any, index: int) -> Array | None:
    """The value of a tensor; None if the interpreter keeps none."""
    try:
        return np.array(interpreter.get_tensor(index))
    except ValueError:
        return None


def _as_ours(array: Array) -> Array:
    signed = (array.astype(np.int16) - 128).astype(np.int8) if array.dtype == np.uint8 else array
    return np.ascontiguousarray(signed.transpose(0, 3, 1, 2)) if signed.ndim == 4 else signed


def _onnxruntime(path: Path, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise UsageError(f"{path}: {error.name} is not installed: pip install onnx onnxruntime") from None
    model = onnx.load(path)
    results = [output.name for output in model.graph.output]
    layers = {name: layer_name(index, node) for index, node in enumerate(model.graph.node) for name in node.output if name}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in layers if name not in results)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = [output.name for output in session.get_outputs()]
    given = {entry.name: inputs[entry.name] for entry in session.get_inputs()}
    for name, value in zip(wanted, session.run(wanted, given), strict=True):
        array = np.asarray(value)
        if name in layers:
            signed = (array.astype(np.int16) - 128).astype(np.int8) if array.dtype == np.uint8 else array
            yield LayerValue(layers[name], f"{array.dtype}{list(array.shape)}", signed)
        if name in results:
            yield LayerValue(f"{OUTPUT} {name}", f"{array.dtype}{list(array.shape)}", array)


FRAMEWORKS: dict[str, Callable[[Path, Mapping[str, Array]], Iterator[LayerValue]]] = {".tflite": _litert, ".onnx": _onnxruntime}
"""By the ending of a file."""
