"""Tiny TFLite models, written table by table, and what LiteRT's reference kernels make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import tflite
from flatbuffers import Builder, flexbuffers
from numpy.typing import ArrayLike, NDArray

from vta.support.dataclass import dataclass

__all__ = ["Tflite", "conv_options", "reference", "reference_stream", "reference_values"]

Array = NDArray[Any]

_TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
    "resource": tflite.TensorType.RESOURCE,
}

_CUSTOM = "CUSTOM "
_LARGEST_OLD_CODE = 127
_USUAL_VERSION = 2
_VERSIONS = {
    **dict.fromkeys(("ELU", "HARD_SWISH", "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "RELU_N1_TO_1", "GELU"), 1),
    **dict.fromkeys(("CEIL", "CUMSUM", "DEPTH_TO_SPACE", "FLOOR", "LOCAL_RESPONSE_NORMALIZATION", "NEG", "POW", "PRELU"), 1),
    **dict.fromkeys(("COS", "GATHER_ND", "REVERSE_SEQUENCE", "SCATTER_ND", "SIN", "TOPK_V2"), 1),
    **dict.fromkeys(("ROUND", "SQUARE", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"), 1),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR", "TRANSPOSE_CONV"), 3),
    **dict.fromkeys(("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE", "IF", "WHILE"), 1),
    "FULLY_CONNECTED": 4,
}


@dataclass
class Tflite:
    """A model under construction. Tensors are numbers; `scale` may be one number or one for each channel."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: ArrayLike | None = None,
        zero: ArrayLike = 0,
        value: Array | None = None,
        axis: int = 0,
        name: str | None = None,
        variable: bool = False,
        signature: Sequence[int] = (),
    ) -> int:
        """Add a tensor; returns its number. A `variable` one keeps its value between runs; `signature` has -1 for open sizes."""
        entry = {"shape": shape, "dtype": dtype, "scale": scale, "zero": zero, "value": value, "axis": axis, "variable": variable}
        self.tensors.append({**entry, "name": name or f"t{len(self.tensors)}", "signature": signature})
        return len(self.tensors) - 1

    def constant(
        self, value: ArrayLike, dtype: str = "int8", scale: ArrayLike | None = None, zero: ArrayLike = 0, axis: int = 0
    ) -> int:
        """Add a constant; returns its number."""
        array = np.asarray(value).astype(dtype)
        return self.tensor(array.shape, dtype, scale, zero, array, axis)

    def operator(
        self,
        kind: str,
        inputs: Sequence[int],
        output: int | Sequence[int],
        options: str | None = None,
        *,
        intermediates: Sequence[int] = (),
        **fields: Any,
    ) -> Any:
        """Add an operator whose options table is called `options`; returns `output`, one tensor or several.

        `intermediates` are tensors that say how values inside the operator stand for real numbers.
        """
        outputs = [output] if isinstance(output, int) else list(output)
        made = {"kind": kind, "inputs": inputs, "outputs": outputs, "options": options, "fields": fields}
        self.operators.append({**made, "intermediates": intermediates})
        return output

    def custom(self, code: str, inputs: Sequence[int], outputs: Sequence[int], options: dict[str, Any]) -> None:
        """Add an operator that is not TFLite's own, by its name; its options are a map without a schema."""
        self.operator(f"{_CUSTOM}{code}", inputs, outputs)
        self.operators[-1]["custom"] = bytes(flexbuffers.Dumps(options))

    def build(self, inputs: Sequence[int], outputs: Sequence[int], others: Sequence[Inner] = ()) -> bytes:
        """Return the file; `others` are the graphs after the main one, each with its inputs and outputs."""
        builder = Builder(1024)
        nets: list[Inner] = [(self, inputs, outputs), *others]
        kinds = list(dict.fromkeys(operator["kind"] for net, _, _ in nets for operator in net.operators))
        buffers = [_buffer(builder, None)] + [_buffer(builder, tensor["value"]) for net, _, _ in nets for tensor in net.tensors]
        graphs = []
        first = 1
        for net, ins, outs in nets:
            graphs.append(_graph(builder, net, kinds, first, ins, outs))
            first += len(net.tensors)
        codes = [_code(builder, kind) for kind in kinds]
        graph_vector, code_vector, buffer_vector = (_offsets(builder, offsets) for offsets in (graphs, codes, buffers))
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, code_vector)
        tflite.ModelAddSubgraphs(builder, graph_vector)
        tflite.ModelAddBuffers(builder, buffer_vector)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())


Inner = tuple[Tflite, Sequence[int], Sequence[int]]
"""A graph with its inputs and outputs."""


def _graph(builder: Builder, net: Tflite, kinds: Sequence[str], first: int, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """A graph whose tensors have buffers from number `first` on."""
    tensors = [_tensor(builder, tensor, first + index) for index, tensor in enumerate(net.tensors)]
    operators = [_operator(builder, operator, kinds.index(operator["kind"])) for operator in net.operators]
    ins, outs = _ints(builder, inputs), _ints(builder, outputs)
    tensor_vector, operator_vector = _offsets(builder, tensors), _offsets(builder, operators)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensor_vector)
    tflite.SubGraphAddInputs(builder, ins)
    tflite.SubGraphAddOutputs(builder, outs)
    tflite.SubGraphAddOperators(builder, operator_vector)
    return int(tflite.SubGraphEnd(builder))


def _buffer(builder: Builder, value: Array | None) -> int:
    data = None
    if value is not None:
        data = builder.CreateNumpyVector(np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8))
    tflite.BufferStart(builder)
    if data is not None:
        tflite.BufferAddData(builder, data)
    return int(tflite.BufferEnd(builder))


def _tensor(builder: Builder, tensor: dict[str, Any], buffer: int) -> int:
    name, shape = builder.CreateString(tensor["name"]), _ints(builder, tensor["shape"])
    signature = _ints(builder, tensor["signature"]) if tensor["signature"] else None
    quantization = None
    if tensor["scale"] is not None:
        scales = np.atleast_1d(np.asarray(tensor["scale"], np.float32))
        zeros = np.ascontiguousarray(np.broadcast_to(np.asarray(tensor["zero"], np.int64), scales.shape))
        scale_vector, zero_vector = builder.CreateNumpyVector(scales), builder.CreateNumpyVector(zeros)
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scale_vector)
        tflite.QuantizationParametersAddZeroPoint(builder, zero_vector)
        tflite.QuantizationParametersAddQuantizedDimension(builder, tensor["axis"])
        quantization = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, _TYPES[tensor["dtype"]])
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, name)
    tflite.TensorAddIsVariable(builder, tensor["variable"])
    if signature is not None:
        tflite.TensorAddShapeSignature(builder, signature)
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    return int(tflite.TensorEnd(builder))


def _operator(builder: Builder, operator: dict[str, Any], code: int) -> int:
    options = None
    name = operator["options"]
    values = {key: _field(builder, value) for key, value in operator["fields"].items()}
    if name is not None:
        getattr(tflite, f"{name}Start")(builder)
        for key, value in values.items():
            getattr(tflite, f"{name}Add{key}")(builder, value)
        options = getattr(tflite, f"{name}End")(builder)
    inputs, outputs = _ints(builder, operator["inputs"]), _ints(builder, operator["outputs"])
    custom = builder.CreateNumpyVector(np.frombuffer(operator["custom"], np.uint8)) if "custom" in operator else None
    intermediates = _ints(builder, operator["intermediates"]) if operator["intermediates"] else None
    tflite.OperatorStart(builder)
    if intermediates is not None:
        tflite.OperatorAddIntermediates(builder, intermediates)
    if custom is not None:
        tflite.OperatorAddCustomOptions(builder, custom)
    tflite.OperatorAddOpcodeIndex(builder, code)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, name))
        tflite.OperatorAddBuiltinOptions(builder, options)
    return int(tflite.OperatorEnd(builder))


def _field(builder: Builder, value: Any) -> Any:
    if isinstance(value, str):
        return builder.CreateString(value)
    return _ints(builder, value) if isinstance(value, tuple) else value


def _code(builder: Builder, kind: str) -> int:
    number = tflite.BuiltinOperator.CUSTOM if kind.startswith(_CUSTOM) else getattr(tflite.BuiltinOperator, kind)
    name = builder.CreateString(kind.removeprefix(_CUSTOM)) if kind.startswith(_CUSTOM) else None
    tflite.OperatorCodeStart(builder)
    if name is not None:
        tflite.OperatorCodeAddCustomCode(builder, name)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, _LARGEST_OLD_CODE))
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    tflite.OperatorCodeAddVersion(builder, 1 if name is not None else _VERSIONS.get(kind, _USUAL_VERSION))
    return int(tflite.OperatorCodeEnd(builder))


def _ints(builder: Builder, values: Sequence[int]) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, np.int32)))


def _offsets(builder: Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def conv_options(padding: str = "SAME", stride: int = 1, activation: str = "NONE", dilation: int = 1) -> dict[str, Any]:
    """Return the fields of Conv2DOptions."""
    return {
        "options": "Conv2DOptions",
        "Padding": getattr(tflite.Padding, padding),
        "StrideH": stride,
        "StrideW": stride,
        "DilationHFactor": dilation,
        "DilationWFactor": dilation,
        "FusedActivationFunction": getattr(tflite.ActivationFunctionType, activation),
    }


def reference(content: bytes, *inputs: Array, optimized: bool = False) -> list[Array]:
    """Return the outputs of LiteRT's reference kernels, or of its optimised ones."""
    interpreter = _run(content, inputs, optimized=optimized)
    return [np.array(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()]


def reference_stream(content: bytes, frames: Iterable[Array], optimized: bool = False) -> list[list[Array]]:
    """Return the outputs for each frame of the only input, one after the other, by LiteRT's reference or optimised kernels."""
    interpreter = _interpreter(content, optimized=optimized)
    found = []
    for frame in frames:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], frame)
        interpreter.invoke()
        found.append([np.array(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()])
    return found


def reference_values(content: bytes, *inputs: Array) -> dict[int, Array]:
    """Return every tensor after LiteRT's reference kernels ran, by number."""
    interpreter = _run(content, inputs, keep_all=True)
    details = [detail for detail in interpreter.get_tensor_details() if detail["name"]]
    return {detail["index"]: np.array(interpreter.get_tensor(detail["index"])) for detail in details}


def _run(content: bytes, inputs: Sequence[Array], keep_all: bool = False, optimized: bool = False) -> Any:
    interpreter = _interpreter(content, keep_all, optimized)
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return interpreter


def _interpreter(content: bytes, keep_all: bool = False, optimized: bool = False) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimized else OpResolverType.BUILTIN_REF
    interpreter = Interpreter(
        model_content=content,
        experimental_op_resolver_type=kernels,
        num_threads=1,
        experimental_preserve_all_tensors=keep_all,
    )
    interpreter.allocate_tensors()
    return interpreter
