"""Recurrent layers and SVDF, whose variables are tensors of the file: they become states of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import like, sliced
from vta.frontend._recurrent import Activation, LstmCell, RnnCell, Sequence2D, clipped, unrolled
from vta.frontend._states import Variable
from vta.frontend.tflite.converters._fused import activated
from vta.frontend.tflite.converters._integer_lstm import LstmTensors, gate_products, integer_cell
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.frontend.tflite.schema import schema
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

_ACTIVATION = schema("ActivationFunctionType")
_FUNCTIONS: dict[int, Activation] = {
    _ACTIVATION.NONE: lambda apply, value: value,
    _ACTIVATION.RELU: lambda apply, value: apply(ops.RELU, value),
    _ACTIVATION.RELU_N1_TO_1: lambda apply, value: apply(ops.CLIP, value, a_min=-1.0, a_max=1.0),
    _ACTIVATION.RELU6: lambda apply, value: apply(ops.CLIP, value, a_min=0.0, a_max=6.0),
    _ACTIVATION.TANH: lambda apply, value: apply(ops.TANH, value),
}
_INPUT_WEIGHTS, _RECURRENT_WEIGHTS, _PEEPHOLES, _BIASES = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11), (12, 13, 14, 15)
"""Of the input, forget, cell and output gates; peepholes have none for the cell."""
_LEAST_VARIANCE = 1e-8
"""Added to that of sums that are normalised."""
_PROJECTION, _PROJECTION_BIAS, _OUTPUT_STATE, _CELL_STATE, _NORMS = 16, 17, 18, 19, (20, 21, 22, 23)
_TENSORS = LstmTensors(
    _INPUT_WEIGHTS,
    _RECURRENT_WEIGHTS,
    _PEEPHOLES,
    _BIASES,
    _NORMS,
    _PROJECTION,
    _PROJECTION_BIAS,
    _OUTPUT_STATE,
    _CELL_STATE,
)


def _variable(node: Operation, index: int) -> Variable:
    """The variable that a tensor of the file is."""
    tensor = node.tensor(index)
    if not tensor.variable:
        raise UnsupportedNodeError(f"its state {tensor.name!r} is no variable of the file")
    if index >= node.arity or node.record.inputs[index] in node.values:
        raise ImportModelError(f"its state {tensor.name!r} is computed by another operator")
    start = tensor.zero_points[0] if tensor.dtype == "int8" and tensor.zero_points else 0
    return node.variables.declare(tensor.name, np.full(tensor.shape, start, tensor.dtype))


def _float_only(node: Operation) -> None:
    if node.tensor().dtype != "float32":
        raise UnsupportedNodeError(f"of {node.tensor().dtype} values; float32 is imported")


def _weight(node: Operation, index: int) -> Node:
    """A weight as float32; levels of 8 bits as the real numbers that they stand for."""
    tensor = node.tensor(index)
    value = node.array(index, "weights")
    if tensor.scales:
        value = (value.astype(np.float32) - np.float32(tensor.zero_points[0])) * np.float32(tensor.scales[0])
    return node.constant(value.astype(np.float32))


def _steps(node: Operation, time_major: bool) -> Sequence2D:
    data = node.input()
    if len(data.shape) == 2:
        return Sequence2D((data,))
    return Sequence2D.of(node.apply, data if time_major else node.apply(ops.TRANSPOSE, data, axes=(1, 0, 2)))


def _as_output(node: Operation, made: Sequence2D, time_major: bool) -> Node:
    if len(node.tensor().shape) == 2:
        return made.steps[0]
    whole = made.stacked(node.apply)
    return whole if time_major else node.apply(ops.TRANSPOSE, whole, axes=(1, 0, 2))


def _activation(node: Operation) -> Activation:
    kind = node.option("FusedActivationFunction")
    if kind not in _FUNCTIONS:
        raise UnsupportedNodeError(f"fused activation {kind} cannot be imported")
    return _FUNCTIONS[kind]


def _rnn(node: Operation, *, backward: bool = False) -> Node:
    """Inputs: data, weights, recurrent weights, bias, state."""
    _float_only(node)
    time_major = len(node.tensor().shape) == 3 and bool(node.option("TimeMajor"))
    state = _variable(node, 4)
    cell = RnnCell(node.apply, _weight(node, 2), (_activation(node),), None)
    gates = _steps(node, time_major).dense(node.apply, _weight(node, 1), node.input(3))
    made, (state.now,) = unrolled(cell, gates, [state.now], backward)
    return _as_output(node, made, time_major)


def _lstm(node: Operation) -> Node:
    """Of the full kernel, with or without an input gate, peepholes, layer normalisation and projection."""
    if node.arity < _CELL_STATE + 1:
        raise UnsupportedNodeError(f"the basic kernel, with {node.arity} inputs; the full one, with 20 or more, is imported")
    if node.tensor().dtype == "int8":
        return _integer_lstm(node, _is_time_major(node))
    _float_only(node)
    return _float_lstm(node)


def _is_time_major(node: Operation) -> bool:
    return node.record.kind != "LSTM" and bool(node.option("TimeMajor"))


def _float_lstm(node: Operation, *, backward: bool = False) -> Node:
    time_major = _is_time_major(node)
    hidden, cell_state = _variable(node, _OUTPUT_STATE), _variable(node, _CELL_STATE)
    coupled = not node.has(_INPUT_WEIGHTS[0])
    normalized = node.has(_NORMS[1])
    activation = _activation(node)
    cell_clip = node.option("CellClip")
    cell = LstmCell(
        node.apply,
        _gates(node, _RECURRENT_WEIGHTS, coupled),
        (lambda apply, value: apply(ops.SIGMOID, value), activation, activation),
        None,
        _peepholes(node, coupled),
        coupled,
        lambda made: _projected(node, made),
        cell_clip if cell_clip > 0 else None,
        (lambda which, sums: _normalized(node, which, sums, coupled)) if normalized else None,
    )
    biases = None if normalized else _gates(node, _BIASES, coupled)
    gates = _steps(node, time_major).dense(node.apply, _gates(node, _INPUT_WEIGHTS, coupled), biases)
    made, (hidden.now, cell_state.now) = unrolled(cell, gates, [hidden.now, cell_state.now], backward)
    return _as_output(node, made, time_major)


def _both_ways(node: Operation, layers: tuple[Node, Node]) -> Node | tuple[Node, ...]:
    """Results of the layer that reads a sequence forwards and of the one that reads it backwards: joined, or two outputs."""
    return node.apply(ops.CONCATENATE, *layers, axis=-1) if node.option("MergeOutputs") else layers


def _one_way(node: Operation, inputs: Sequence[int]) -> Operation:
    """The operator with some of its inputs, -1 for none, as one that reads a sequence in one direction has them."""
    numbers = [node.record.inputs[index] if node.has(index) else -1 for index in inputs]
    return replace(node, record=replace(node.record, inputs=tuple(numbers)))


def _refuse_second_input(node: Operation, indices: Sequence[int]) -> None:
    _float_only(node)
    if found := [index for index in indices if node.has(index)]:
        raise UnsupportedNodeError(f"with a second input, {node.tensor(found[0]).name!r}; one is imported")


def _bidirectional_rnn(node: Operation) -> Node | tuple[Node, ...]:
    """Inputs: data; weights, recurrent weights, bias, state of each direction; a second input and its weights."""
    _refuse_second_input(node, range(9, 12))
    forward, backward = (_one_way(node, (0, *range(start, start + 4))) for start in (1, 5))
    return _both_ways(node, (_rnn(forward), _rnn(backward, backward=True)))


def _bidirectional_lstm(node: Operation) -> Node | tuple[Node, ...]:
    """Inputs: data; weights and biases of each direction; states of each; a second input and its weights.

    It has no layer normalisation.
    """
    _refuse_second_input(node, range(39, 48))
    forward = _one_way(node, (0, *range(1, 18), 35, 36))
    backward = _one_way(node, (0, *range(18, 35), 37, 38))
    return _both_ways(node, (_float_lstm(forward), _float_lstm(backward, backward=True)))


def _integer_lstm(node: Operation, time_major: bool) -> Node:
    cell = integer_cell(node, _TENSORS)
    gates = gate_products(node, _TENSORS, _steps(node, time_major))
    hidden, cell_state = _variable(node, _OUTPUT_STATE), _variable(node, _CELL_STATE)
    made, (hidden.now, cell_state.now) = unrolled(cell, gates, [hidden.now, cell_state.now], backward=False)
    return _as_output(node, made, time_major)


def _gates(node: Operation, indices: Sequence[int], coupled: bool) -> Node:
    """The parts of the gates in the order input, output, forget, cell; without an input gate the negative of the forget gate's.

    What an open forget gate leaves to the input is what the same gate lets through with everything negated.
    """
    into, forget, new, out = indices
    parts = [node.apply(ops.NEGATIVE, _weight(node, forget)) if coupled else _weight(node, into)]
    parts += [_weight(node, index) for index in (out, forget, new)]
    return node.apply(ops.CONCATENATE, *parts, axis=0)


def _peepholes(node: Operation, coupled: bool) -> tuple[Node, Node, Node] | None:
    into, forget, out = _PEEPHOLES
    if not node.has(out):
        return None
    first = node.apply(ops.NEGATIVE, _weight(node, forget)) if coupled else _weight(node, into)
    return first, _weight(node, out), _weight(node, forget)


def _normalized(node: Operation, which: int, sums: Node, coupled: bool) -> Node:
    """Sums of a gate of mean 0 and variance 1, weighted, biases added; those of the negative forget gate are its own, negated."""
    apply = node.apply
    place = (1 if coupled else 0, 3, 1, 2)[which]
    weight, bias = (_weight(node, part[place]) for part in (_NORMS, _BIASES))
    bias = apply(ops.NEGATIVE, bias) if coupled and which == 0 else bias
    centered = apply(ops.SUBTRACT, sums, apply(ops.MEAN, sums, axis=(1,), keepdims=True))
    variance = apply(ops.MEAN, apply(ops.MULTIPLY, centered, centered), axis=(1,), keepdims=True)
    deviation = apply(ops.SQRT, apply(ops.ADD, variance, like(_LEAST_VARIANCE, variance)))
    return apply(ops.ADD, apply(ops.MULTIPLY, apply(ops.DIVIDE, centered, deviation), weight), bias)


def _projected(node: Operation, made: Node) -> Node:
    if not node.has(_PROJECTION):
        return made
    result = node.apply(ops.DENSE, made, _weight(node, _PROJECTION))
    if node.has(_PROJECTION_BIAS):
        result = node.apply(ops.ADD, result, _weight(node, _PROJECTION_BIAS))
    bound = node.option("ProjClip")
    return clipped(node.apply, result, bound if bound > 0 else None)


def _svdf(node: Operation) -> Node:
    """Inputs: data, weights of features, weights of time, bias, state.

    Each filter remembers its last values; a unit is the sum over those of its filters, weighted by their age: a convolution along
    time. The state is held as an image, (samples, filters, values, 1), without the place that is free for the next value.
    """
    weights, times, rank = node.array(1, "weights"), node.array(2, "weights of time"), node.option("Rank")
    filters, memory = times.shape
    if rank < 1 or filters % rank or weights.shape[0] != filters:
        raise ImportModelError(f"weights of {weights.shape} and {times.shape} with rank {rank}")
    if memory < 2:
        raise UnsupportedNodeError("a memory of one value")
    if node.tensor().dtype == "float32":
        return _float_svdf(node, times.reshape(filters // rank, rank, memory, 1))
    return _integer_svdf(node, weights, times, rank)


def _history(node: Operation, value: Node, memory: int) -> Node:
    """All values that filters remember with the one of now, (samples, filters, values, 1); they become the state."""
    samples, filters = value.shape
    tensor = node.tensor(4)
    if not tensor.variable or tensor.shape != (samples, filters * memory):
        raise UnsupportedNodeError(f"its state {tensor.name!r}, of shape {tensor.shape}, is no variable of {filters} filters")
    state = node.variables.declare(tensor.name, np.zeros((samples, filters, memory - 1, 1), value.dtype))
    image = node.apply(ops.RESHAPE, value, newshape=(samples, filters, 1, 1))
    whole = node.apply(ops.CONCATENATE, state.now, image, axis=2)
    state.now = sliced(node.apply, whole, {2: (1, None, 1)})
    return whole


def _float_svdf(node: Operation, times: Array) -> Node:
    units, _, memory, _ = times.shape
    made = node.apply(ops.DENSE, node.input(), _weight(node, 1))
    whole = _history(node, made, memory)
    kernel = times.astype(np.float32)
    tensor = node.tensor(2)
    if tensor.scales:
        kernel = (kernel - np.float32(tensor.zero_points[0])) * np.float32(tensor.scales[0])
    summed = node.apply(ops.CONV2D, whole, node.constant(kernel), groups=units)
    if node.has(3):
        summed = node.apply(ops.BIAS_ADD, summed, node.input(3))
    return activated(node, node.apply(ops.RESHAPE, summed, newshape=(whole.shape[0], units)))


def _integer_svdf(node: Operation, weights: Array, times: Array, rank: int) -> Node:
    """Bytes in and out, 16 bits between, as TFLite's kernel rounds them; it runs on the host."""
    state, source, to = node.tensor(4), quantization_of(node.tensor()), quantization_of(node.output())
    if not is_quantized(node.output()) or state.dtype != "int16" or node.tensor(2).dtype != "int16":
        raise UnsupportedNodeError(f"of {node.tensor().dtype} values with a state of {state.dtype}")
    filters, memory = times.shape
    units = filters // rank
    data, feature_scale = node.input(), node.tensor(1).scales[0]
    scales = {"input_scale": source.scale, "input_zero_point": source.zero_point, "kernel_scale": feature_scale}
    made = node.apply(ops.QNN_DENSE, data, node.constant(weights), **scales)
    first = np.float32(source.scale) * np.float32(feature_scale) / np.float32(state.scales[0])
    narrow = node.apply(ops.CLIP, _rescaled(node, made, first), a_min=-32768, a_max=32767)
    whole = _history(node, node.apply(ops.CAST, narrow, dtype="int16"), memory)
    wide = node.apply(ops.CAST, whole, dtype="int32")
    weighted = node.apply(ops.MULTIPLY, wide, node.constant(times.astype(np.int32)[None, :, :, None]))
    parts = node.apply(ops.RESHAPE, weighted, newshape=(data.shape[0], units, rank * memory))
    summed = node.apply(ops.SUM, parts, axis=(2,))
    if node.has(3):
        summed = node.apply(ops.ADD, summed, node.input(3))
    second = np.float32(state.scales[0]) * np.float32(node.tensor(2).scales[0]) / np.float32(to.scale)
    result = _rescaled(node, summed, second)
    moved = node.apply(ops.ADD, result, like(to.zero_point, result))
    return node.apply(ops.CAST, node.apply(ops.CLIP, moved, a_min=-128, a_max=127), dtype="int8")


def _rescaled(node: Operation, value: Node, scale: np.floating[Any]) -> Node:
    attributes = {"input_scale": float(scale), "output_scale": 1.0, "out_dtype": "int32", "rounding": "tflite"}
    return node.apply(ops.QNN_REQUANTIZE, value, **attributes)


CONVERTERS: dict[str, Converter] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": _bidirectional_lstm,
    "BIDIRECTIONAL_SEQUENCE_RNN": _bidirectional_rnn,
    "LSTM": _lstm,
    "RNN": _rnn,
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _rnn,
}
