"""Recurrent layers, written out step by step. What they keep is an input and an output of theirs, as ONNX has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import sliced, softplus, softsign
from vta.frontend._recurrent import Activation, Cell, GruCell, LstmCell, RnnCell, Sequence2D, unrolled, zeros
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

_MOST_STEPS = 4096
_ACTIVATIONS: dict[str, Activation] = {
    "sigmoid": lambda apply, value: apply(ops.SIGMOID, value),
    "tanh": lambda apply, value: apply(ops.TANH, value),
    "relu": lambda apply, value: apply(ops.RELU, value),
    "softsign": softsign,
    "softplus": softplus,
}


@dataclass(frozen=True)
class _Layer:
    """The inputs of a layer by their meaning."""

    weights: Node
    """(directions, gates * hidden, values)."""
    recurrent: Node
    biases: Node | None
    """(directions, 2 * gates * hidden)."""
    lengths: int
    """Position of the input with the lengths of sequences."""
    held: tuple[Node | None, ...]
    """States before the first step, (directions, samples, hidden)."""
    peepholes: Node | None = None


@dataclass(frozen=True)
class _Kind:
    """What is particular to a kind of layer."""

    gates: int
    activations: tuple[str, ...]
    cell: Callable[[Operation, _Layer, int, Cell], Cell]
    states: int = 1


def _layer(node: Operation, states: int) -> _Layer:
    held = tuple(node.optional(5 + at) for at in range(states))
    return _Layer(node.input(1), node.input(2), node.optional(3), 4, held, node.optional(7) if states > 1 else None)


def _converter(kind: _Kind) -> Converter:
    return lambda node: _recurrent(node, kind, _layer(node, kind.states))


def _recurrent(node: Operation, kind: _Kind, layer: _Layer) -> tuple[Node, ...]:
    """All outputs: hidden values of all steps, and the states after the last."""
    batch_first = bool(node.integer("layout", 0))
    data = _swapped(node, node.input(), batch_first)
    directions, hidden = layer.weights.shape[0], layer.recurrent.shape[2]
    names = {1: ("forward", "reverse"), 2: ("bidirectional",)}.get(directions, ())
    direction = node.text("direction", "forward")
    if direction not in names:
        raise ImportModelError(f"direction {direction!r} with weights of {directions} directions")
    steps, samples = data.shape[:2]
    if steps > _MOST_STEPS:
        raise UnsupportedNodeError(f"{steps} steps; at most {_MOST_STEPS} are written out")
    _check_lengths(node, layer.lengths, steps)
    held = [None if value is None else _swapped(node, value, batch_first) for value in layer.held]
    rows = Sequence2D.of(node.apply, data)
    made: list[Sequence2D] = []
    after: list[list[Node]] = []
    for at in range(directions):
        cell = kind.cell(node, layer, at, _plain_cell(node, kind, layer, at))
        gates = rows.dense(node.apply, _of(node, layer.weights, at), _bias(node, kind, layer, at))
        first = [zeros((samples, hidden), node.name) if value is None else _of(node, value, at) for value in held]
        backward = direction == "reverse" or at == 1
        sequence, states = unrolled(cell, gates, first, backward)
        made.append(sequence)
        after.append(states)
    whole = _joined(node, [sequence.stacked(node.apply) for sequence in made], 1)
    ends = [_joined(node, [states[at] for states in after], 0) for at in range(kind.states)]
    if batch_first:
        whole = node.apply(ops.TRANSPOSE, whole, axes=(2, 0, 1, 3))
    return whole, *(_swapped(node, end, batch_first) for end in ends)


def _swapped(node: Operation, value: Node, batch_first: bool) -> Node:
    """The first two axes the other way round, where the batch comes first."""
    return node.apply(ops.TRANSPOSE, value, axes=(1, 0, 2)) if batch_first else value


def _joined(node: Operation, parts: Sequence[Node], axis: int) -> Node:
    """What each direction gives, along an axis of directions."""
    shape = parts[0].shape
    wide = [node.apply(ops.RESHAPE, part, newshape=(*shape[:axis], 1, *shape[axis:])) for part in parts]
    return wide[0] if len(wide) == 1 else node.apply(ops.CONCATENATE, *wide, axis=axis)


def _of(node: Operation, value: Node, direction: int) -> Node:
    """The part of one direction, without that axis."""
    part = value if value.shape[0] == 1 else sliced(node.apply, value, {0: (direction, direction + 1, 1)})
    return node.apply(ops.RESHAPE, part, newshape=value.shape[1:])


def _columns(node: Operation, value: Node, first: int, last: int) -> Node:
    return sliced(node.apply, value, {0: (first, last, 1)})


def _bias(node: Operation, kind: _Kind, layer: _Layer, direction: int) -> Node | None:
    """Both biases, as they are added; that of a hidden gate which comes after a reset is left out."""
    if layer.biases is None:
        return None
    both = _of(node, layer.biases, direction)
    half = both.shape[0] // 2
    own, recurrent = _columns(node, both, 0, half), _columns(node, both, half, 2 * half)
    if _resets_after(node, kind):
        size = half // kind.gates
        kept = node.constant(np.repeat(np.array([1, 1, 0], np.float32), size))
        recurrent = node.apply(ops.MULTIPLY, recurrent, kept)
    return node.apply(ops.ADD, own, recurrent)


def _resets_after(node: Operation, kind: _Kind) -> bool:
    return kind is _GRU and bool(node.integer("linear_before_reset", 0))


def _plain_cell(node: Operation, kind: _Kind, layer: _Layer, direction: int) -> Cell:
    clip = node.attribute("clip")
    return Cell(node.apply, _of(node, layer.recurrent, direction), _activations(node, kind, direction), clip)


def _activations(node: Operation, kind: _Kind, direction: int) -> tuple[Activation, ...]:
    names = node.attribute("activations")
    count = len(kind.activations)
    for unused in ("activation_alpha", "activation_beta"):
        if node.attribute(unused):
            raise UnsupportedNodeError(f"{unused}: activations with parameters")
    chosen = kind.activations if not names else names[direction * count : (direction + 1) * count]
    unknown = [name for name in chosen if name.lower() not in _ACTIVATIONS]
    if unknown or len(chosen) != count:
        raise UnsupportedNodeError(f"activations {', '.join(chosen)}; known: {', '.join(_ACTIVATIONS)}")
    return tuple(_ACTIVATIONS[name.lower()] for name in chosen)


def _check_lengths(node: Operation, index: int, steps: int) -> None:
    lengths = node.numbers(index, "the lengths of sequences")
    if lengths is not None and any(length != steps for length in lengths):
        raise UnsupportedNodeError(f"sequence_lens {lengths}: sequences shorter than the {steps} steps of the data")


def _rnn_cell(node: Operation, layer: _Layer, direction: int, plain: Cell) -> Cell:
    return RnnCell(plain.apply, plain.recurrent, plain.activations, plain.clip)


def _gru_cell(node: Operation, layer: _Layer, direction: int, plain: Cell) -> Cell:
    bias = None
    if node.integer("linear_before_reset", 0):
        size = layer.recurrent.shape[2]
        if layer.biases is None:
            bias = zeros((size,), node.name)
        else:
            both = _of(node, layer.biases, direction)
            bias = _columns(node, both, both.shape[0] - size, both.shape[0])
    return GruCell(plain.apply, plain.recurrent, plain.activations, plain.clip, bias)


def _lstm_cell(node: Operation, layer: _Layer, direction: int, plain: Cell) -> Cell:
    peepholes = None
    if layer.peepholes is not None:
        row, size = _of(node, layer.peepholes, direction), layer.recurrent.shape[2]
        into, out, forget = (_columns(node, row, at * size, (at + 1) * size) for at in range(3))
        peepholes = into, out, forget
    return LstmCell(plain.apply, plain.recurrent, plain.activations, plain.clip, peepholes, bool(node.integer("input_forget", 0)))


_RNN = _Kind(1, ("Tanh",), _rnn_cell)
_GRU = _Kind(3, ("Sigmoid", "Tanh"), _gru_cell)
_LSTM = _Kind(4, ("Sigmoid", "Tanh", "Tanh"), _lstm_cell, states=2)


def _dynamic_lstm(node: Operation) -> tuple[Node, ...]:
    """Weights of 8 bits, which are taken as the real numbers that they stand for; inputs are not rounded as the framework does.

    Inputs 8 to 11: scales and zero points of the weights, which lie as (directions, values, gates * hidden).
    """
    layer = _layer(node, 2)
    weights, recurrent = (_real_weights(node, index, 8 + 2 * at) for at, index in enumerate((1, 2)))
    return _recurrent(node, _LSTM, replace(layer, weights=weights, recurrent=recurrent))


def _real_weights(node: Operation, index: int, scale: int) -> Node:
    values, scales, zero = node.array(index, "weights"), node.array(scale, "scales"), node.array(scale + 1, "zero points")
    if values is None or scales is None:
        raise ImportModelError(f"input {index} or {scale} is missing")
    offset = np.zeros_like(scales) if zero is None else zero.astype(np.float32)
    shape = (values.shape[0], 1, -1)
    real = (values.astype(np.float32) - offset.reshape(shape)) * scales.reshape(shape)
    return node.constant(np.ascontiguousarray(real.transpose(0, 2, 1), np.float32))


CONVERTERS: dict[str, Converter] = {
    "DynamicQuantizeLSTM (com.microsoft)": _dynamic_lstm,
    "GRU": _converter(_GRU),
    "LSTM": _converter(_LSTM),
    "RNN": _converter(_RNN),
}
