"""A small quantised TFLite network: convolution, reshape, dense layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tflite

__all__ = ["tflite_model"]


def tflite_model(classes: int = 5, shared: int = 0) -> bytes:
    """The file; `shared` tensors more have the bytes of the dense layer's weights, 64 for each class."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    weights = np.arange(4 * 3 * 3 * 2, dtype=np.int8)
    dense = np.arange(classes * 64, dtype=np.int32).astype(np.int8)
    values = [None, None, weights, np.zeros(4, np.int32), None, np.array([1, 64], np.int32), None, dense, None]
    int8, int32 = tflite.TensorType.INT8, tflite.TensorType.INT32
    tensors = [
        _tensor(builder, "x", (1, 4, 4, 2), int8, 1, 0.5),
        _tensor(builder, "w", (4, 3, 3, 2), int8, 2, 0.25),
        _tensor(builder, "b", (4,), int32, 3, 0.125),
        _tensor(builder, "c", (1, 4, 4, 4), int8, 4, 2.0),
        _tensor(builder, "shape", (2,), int32, 5, 0.0),
        _tensor(builder, "r", (1, 64), int8, 6, 2.0),
        _tensor(builder, "d", (classes, 64), int8, 7, 0.25),
        _tensor(builder, "y", (1, classes), int8, 8, 4.0),
    ]
    tensors += (_tensor(builder, f"d{index}", (classes, 64), int8, 7, 0.25) for index in range(shared))
    tflite.Conv2DOptionsStart(builder)
    for name, value in (("Padding", tflite.Padding.SAME), ("StrideH", 1), ("StrideW", 1)):
        getattr(tflite, f"Conv2DOptionsAdd{name}")(builder, value)
    convolution = tflite.Conv2DOptionsEnd(builder)
    tflite.FullyConnectedOptionsStart(builder)
    full = tflite.FullyConnectedOptionsEnd(builder)
    options = tflite.BuiltinOptions
    operators = [
        _operator(builder, 0, (0, 1, 2), 3, options.Conv2DOptions, convolution),
        _operator(builder, 1, (3, 4), 5, options.NONE, None),
        _operator(builder, 2, (5, 6, -1), 7, options.FullyConnectedOptions, full),
    ]
    kinds = tflite.BuiltinOperator
    codes = [_code(builder, kind) for kind in (kinds.CONV_2D, kinds.RESHAPE, kinds.FULLY_CONNECTED)]
    parts = _offsets(builder, tensors), _ints(builder, (0,)), _ints(builder, (7,)), _offsets(builder, operators)
    tflite.SubGraphStart(builder)
    for name, part in zip(("Tensors", "Inputs", "Outputs", "Operators"), parts, strict=True):
        getattr(tflite, f"SubGraphAdd{name}")(builder, part)
    graphs = _offsets(builder, [tflite.SubGraphEnd(builder)])
    buffers = _offsets(builder, [_buffer(builder, value) for value in values])
    code_list = _offsets(builder, codes)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, code_list)
    tflite.ModelAddSubgraphs(builder, graphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _ints(builder: Any, values: Sequence[int]) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, np.int32)))


def _offsets(builder: Any, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _buffer(builder: Any, value: Any) -> int:
    data = None if value is None else builder.CreateNumpyVector(np.frombuffer(value.tobytes(), np.uint8))
    tflite.BufferStart(builder)
    if data is not None:
        tflite.BufferAddData(builder, data)
    return int(tflite.BufferEnd(builder))


def _tensor(builder: Any, name: str, shape: Sequence[int], dtype: int, buffer: int, scale: float) -> int:
    text, dims, quantization = builder.CreateString(name), _ints(builder, shape), None
    if scale:
        scales = builder.CreateNumpyVector(np.array([scale], np.float32))
        zeros = builder.CreateNumpyVector(np.zeros(1, np.int64))
        tflite.QuantizationParametersStart(builder)
        tflite.QuantizationParametersAddScale(builder, scales)
        tflite.QuantizationParametersAddZeroPoint(builder, zeros)
        quantization = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, dims)
    tflite.TensorAddType(builder, dtype)
    tflite.TensorAddBuffer(builder, buffer)
    tflite.TensorAddName(builder, text)
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    return int(tflite.TensorEnd(builder))


def _operator(builder: Any, code: int, inputs: Sequence[int], output: int, kind: int, options: int | None) -> int:
    ins, outs = _ints(builder, inputs), _ints(builder, (output,))
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, code)
    tflite.OperatorAddInputs(builder, ins)
    tflite.OperatorAddOutputs(builder, outs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(builder, kind)
        tflite.OperatorAddBuiltinOptions(builder, options)
    return int(tflite.OperatorEnd(builder))


def _code(builder: Any, kind: int) -> int:
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(kind, 127))
    tflite.OperatorCodeAddBuiltinCode(builder, kind)
    tflite.OperatorCodeAddVersion(builder, 1)
    return int(tflite.OperatorCodeEnd(builder))
