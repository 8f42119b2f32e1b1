"""Tiny TFLite models, written table by table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

from vta.errors import ImportModelError
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate

_TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int16": tflite.TensorType.INT16,
    "int32": tflite.TensorType.INT32,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
}


@dataclass
class Tflite:
    """A model under construction. Tensors are numbers; `scale` may be one number or one for each channel."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[dict[str, Any]] = field(default_factory=list)

    def tensor(self, shape, dtype="int8", scale=None, zero=0, value=None, axis=0, name=None) -> int:
        """Add a tensor; returns its number."""
        name = name or f"t{len(self.tensors)}"
        self.tensors.append(
            {"shape": shape, "dtype": dtype, "scale": scale, "zero": zero, "value": value, "axis": axis, "name": name}
        )
        return len(self.tensors) - 1

    def constant(self, value, dtype="int8", scale=None, zero=0, axis=0) -> int:
        """Add a constant; returns its number."""
        array = np.asarray(value).astype(dtype)
        return self.tensor(array.shape, dtype, scale, zero, array, axis)

    def operator(self, kind, inputs, output, options=None, **fields) -> int:
        """Add an operator whose options table is called `options`; returns `output`, a tensor or a list of some."""
        outputs = output if isinstance(output, list) else [output]
        self.operators.append({"kind": kind, "inputs": inputs, "outputs": outputs, "options": options, "fields": fields})
        return output

    def build(self, inputs, outputs) -> bytes:
        """Return the file."""
        builder = flatbuffers.Builder(1024)
        kinds = list(dict.fromkeys(operator["kind"] for operator in self.operators))
        buffers = [self._buffer(builder, None)] + [self._buffer(builder, tensor["value"]) for tensor in self.tensors]
        tensors = [self._tensor(builder, tensor, index + 1) for index, tensor in enumerate(self.tensors)]
        operators = [self._operator(builder, operator, kinds.index(operator["kind"])) for operator in self.operators]
        codes = [self._code(builder, kind) for kind in kinds]
        ins, outs = _ints(builder, inputs), _ints(builder, outputs)
        tensors, operators = _offsets(builder, tensors), _offsets(builder, operators)
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensors)
        tflite.SubGraphAddInputs(builder, ins)
        tflite.SubGraphAddOutputs(builder, outs)
        tflite.SubGraphAddOperators(builder, operators)
        graph = tflite.SubGraphEnd(builder)
        graphs, codes, buffers = _offsets(builder, [graph]), _offsets(builder, codes), _offsets(builder, buffers)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, codes)
        tflite.ModelAddSubgraphs(builder, graphs)
        tflite.ModelAddBuffers(builder, buffers)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    @staticmethod
    def _buffer(builder, value):
        data = (
            None if value is None else builder.CreateNumpyVector(np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8))
        )
        tflite.BufferStart(builder)
        if data is not None:
            tflite.BufferAddData(builder, data)
        return tflite.BufferEnd(builder)

    @staticmethod
    def _tensor(builder, tensor, buffer):
        name, shape = builder.CreateString(tensor["name"]), _ints(builder, tensor["shape"])
        quantisation = None
        if tensor["scale"] is not None:
            scales = np.atleast_1d(np.asarray(tensor["scale"], np.float32))
            zeros = np.broadcast_to(np.asarray(tensor["zero"], np.int64), scales.shape)
            scales, zeros = builder.CreateNumpyVector(scales), builder.CreateNumpyVector(np.ascontiguousarray(zeros))
            tflite.QuantizationParametersStart(builder)
            tflite.QuantizationParametersAddScale(builder, scales)
            tflite.QuantizationParametersAddZeroPoint(builder, zeros)
            tflite.QuantizationParametersAddQuantizedDimension(builder, tensor["axis"])
            quantisation = tflite.QuantizationParametersEnd(builder)
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, shape)
        tflite.TensorAddType(builder, _TYPES[tensor["dtype"]])
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, name)
        if quantisation is not None:
            tflite.TensorAddQuantization(builder, quantisation)
        return tflite.TensorEnd(builder)

    @staticmethod
    def _operator(builder, operator, code):
        options = None
        name = operator["options"]
        values = {key: _ints(builder, value) if isinstance(value, tuple) else value for key, value in operator["fields"].items()}
        if name is not None:
            getattr(tflite, f"{name}Start")(builder)
            for key, value in values.items():
                getattr(tflite, f"{name}Add{key}")(builder, value)
            options = getattr(tflite, f"{name}End")(builder)
        inputs, outputs = _ints(builder, operator["inputs"]), _ints(builder, operator["outputs"])
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, code)
        tflite.OperatorAddInputs(builder, inputs)
        tflite.OperatorAddOutputs(builder, outputs)
        if options is not None:
            tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, name))
            tflite.OperatorAddBuiltinOptions(builder, options)
        return tflite.OperatorEnd(builder)

    @staticmethod
    def _code(builder, kind):
        number = getattr(tflite.BuiltinOperator, kind)
        tflite.OperatorCodeStart(builder)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
        tflite.OperatorCodeAddBuiltinCode(builder, number)
        tflite.OperatorCodeAddVersion(builder, _VERSIONS.get(kind, 2))
        return tflite.OperatorCodeEnd(builder)


_VERSIONS = {
    **dict.fromkeys(
        ("CEIL", "CUMSUM", "DEPTH_TO_SPACE", "FLOOR", "LOCAL_RESPONSE_NORMALIZATION", "NEG", "POW", "PRELU", "ROUND", "SQUARE"), 1
    ),
    **dict.fromkeys(("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"), 1),
    "ELU": 1,
    "HARD_SWISH": 1,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
    "RESHAPE": 1,
    "SQUEEZE": 1,
    "DEQUANTIZE": 2,
}


def _ints(builder, values):
    return builder.CreateNumpyVector(np.asarray(values, np.int32))


def _offsets(builder, offsets):
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def conv_options(padding="SAME", stride=1, activation="NONE", dilation=1):
    """The fields of Conv2DOptions."""
    return {
        "options": "Conv2DOptions",
        "Padding": getattr(tflite.Padding, padding),
        "StrideH": stride,
        "StrideW": stride,
        "DilationHFactor": dilation,
        "DilationWFactor": dilation,
        "FusedActivationFunction": getattr(tflite.ActivationFunctionType, activation),
    }


def reference(content: bytes, *inputs, optimised=False):
    """The outputs of LiteRT's reference kernels, or of its optimised ones."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if optimised else OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kind, num_threads=1)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()]


def random_values(graph: Graph, seed=0):
    """Random values of the graph's inputs."""
    rng = np.random.default_rng(seed)
    values = {}
    for node in graph.inputs:
        if node.dtype == "float32":
            values[node.name] = rng.standard_normal(node.shape, np.float32) * 3
        elif node.dtype == "bool":
            values[node.name] = rng.random(node.shape) < 0.5
        else:
            info = np.iinfo(node.dtype)
            values[node.name] = rng.integers(info.min, info.max, node.shape, node.dtype, endpoint=True)
    return values


def small_net(rng=None, dtype="int8", scales_per_channel=True) -> bytes:
    """Convolution, depthwise convolution, addition, average pool, flatten, dense, softmax."""
    rng = rng or np.random.default_rng(0)
    zero = -128 if dtype == "int8" else 0
    net = Tflite()
    x = net.tensor((1, 9, 8, 3), dtype, 0.02, zero + 120, name="x")
    count = 20 if scales_per_channel else 1
    low, high, middle = (-127, 128, 0) if dtype == "int8" else (0, 256, 120)
    w = net.constant(rng.integers(low, high, (20, 3, 3, 3)), dtype, rng.uniform(0.004, 0.02, count), middle)
    b = net.constant(rng.integers(-3000, 3000, 20), "int32")
    y = net.tensor((1, 5, 4, 20), dtype, 0.05, zero, name="conv")
    net.operator("CONV_2D", [x, w, b], y, **conv_options(stride=2, activation="RELU6"))
    w = net.constant(rng.integers(low, high, (1, 3, 3, 20)), dtype, rng.uniform(0.004, 0.02, count), middle, axis=3)
    b = net.constant(rng.integers(-3000, 3000, 20), "int32")
    z = net.tensor((1, 5, 4, 20), dtype, 0.04, zero + 128, name="depthwise")
    options = conv_options() | {"options": "DepthwiseConv2DOptions", "DepthMultiplier": 1}
    net.operator("DEPTHWISE_CONV_2D", [y, w, b], z, **options)
    total = net.tensor((1, 5, 4, 20), dtype, 0.07, zero + 100, name="sum")
    net.operator("ADD", [y, z], total, "AddOptions", FusedActivationFunction=0)
    pooled = net.tensor((1, 2, 2, 20), dtype, 0.07, zero + 100, name="pool")
    pool = {"Padding": tflite.Padding.VALID, "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    net.operator("AVERAGE_POOL_2D", [total], pooled, "Pool2DOptions", FusedActivationFunction=0, **pool)
    flat = net.tensor((1, 80), dtype, 0.07, zero + 100, name="flat")
    net.operator("RESHAPE", [pooled, net.constant([1, 80], "int32")], flat, "ReshapeOptions", NewShape=(1, 80))
    w = net.constant(rng.integers(low, high, (7, 80)), dtype, 0.006, middle)
    b = net.constant(rng.integers(-3000, 3000, 7), "int32")
    scores = net.tensor((1, 7), dtype, 0.1, zero + 130, name="dense")
    net.operator("FULLY_CONNECTED", [flat, w, b], scores, "FullyConnectedOptions", FusedActivationFunction=0)
    out = net.tensor((1, 7), dtype, 1 / 256, zero, name="softmax")
    net.operator("SOFTMAX", [scores], out, "SoftmaxOptions", Beta=1.0)
    return net.build([x], [out])


def is_refused(load, content):
    """Whether `load` either imports `content` or raises nothing but ImportModelError; returns the error's text."""
    try:
        load(content)
    except ImportModelError as error:
        return str(error)
    return ""


def run(graph: Graph, values):
    """The graph's outputs."""
    return evaluate(graph, values)
