"""LSTM in integers: bytes in and out, cells and gates of 16 bits, as TFLite's kernel rounds them.

Products are of bytes and run on VTA; gates and cells are computed on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import Apply, like
from vta.frontend._recurrent import Sequence2D, split_columns
from vta.frontend.tflite.model import TensorRecord
from vta.frontend.tflite.operation import Operation, Quantization, quantization_of
from vta.ir import names as ops
from vta.ir.graph import Node, constant
from vta.support.dataclass import dataclass

__all__ = ["IntegerCell", "LstmTensors", "gate_products", "integer_cell"]

Array = NDArray[Any]

_INT16 = {"a_min": -(2**15), "a_max": 2**15 - 1}
_ONE = 2**15 - 1
"""What a gate that is open has."""
_GATE_SCALE = np.float32(2.0**-12)
"""Of what goes into an activation, where nothing is normalised: 3 integer bits."""
_CELL_EXPONENTS = range(-15, -8)
"""Powers of two that the scale of cells may be: 0 to 6 integer bits."""
_INTERMEDIATES, _OTHER_INTERMEDIATES = 5, 12


@dataclass(frozen=True)
class LstmTensors:
    """Where the inputs of the kernel are. Of four: for the input, forget, cell and output gates; three have none for the cell."""

    own: tuple[int, int, int, int]
    recurrent: tuple[int, int, int, int]
    peepholes: tuple[int, int, int]
    biases: tuple[int, int, int, int]
    norms: tuple[int, int, int, int]
    projection: int
    projection_bias: int
    hidden: int
    cell: int


@dataclass(frozen=True)
class _Gate:
    """How one gate is made of its sums, at 16 bits."""

    activation: str
    peephole: tuple[Node, float] | None
    """Weights, int32 of shape (hidden,), and their scale."""
    norm: tuple[Node, Node, float] | None
    """Weights and biases, (hidden,), and the scale of the weights."""

    def opened(self, apply: Apply, sums: Node, cell: Node) -> Node:
        """The gate as int32, of sums (samples, hidden) and cells as int32."""
        if self.peephole is not None:
            weight, scale = self.peephole
            sums = _narrow(apply, apply(ops.ADD, sums, _scaled(apply, apply(ops.MULTIPLY, cell, weight), scale)))
        value = apply(ops.CAST, sums, dtype="int16")
        if self.norm is not None:
            weight, bias, scale = self.norm
            value = apply(ops.QNN_NORMALIZE16, value, weight, bias, scale=scale)
        return _active(apply, self.activation, value)


@dataclass(frozen=True)
class IntegerCell:
    """One step of an integer LSTM; states are the hidden bytes and the cells of 16 bits."""

    apply: Apply
    recurrent: Callable[[Node], Node]
    """From the hidden bytes to their part of the sums of all gates."""
    gates: tuple[_Gate, ...]
    """Forget, output, cell, and the input gate where it is not what the forget gate leaves."""
    exponent: int
    """The scale of cells is two to this power."""
    cell_clip: int
    """0: none."""
    shown: Callable[[Node], Node]
    """From the gated cells, int32 with 30 fractional bits, to the hidden bytes."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """The states after a step. `gates` are the parts of the sums that come from the step's input."""
        hidden, cell = held
        apply = self.apply
        sums = _narrow(apply, apply(ops.ADD, gates, self.recurrent(hidden)))
        parts = split_columns(apply, sums, len(self.gates))
        before = apply(ops.CAST, cell, dtype="int32")
        forget, new = (self.gates[at].opened(apply, parts[at], before) for at in (0, 2))
        into = apply(ops.SUBTRACT, like(_ONE, forget), forget)
        if len(self.gates) > 3:
            into = self.gates[3].opened(apply, parts[3], before)
        kept = _shifted(apply, apply(ops.MULTIPLY, forget, before), 15)
        found = _shifted(apply, apply(ops.MULTIPLY, into, new), 30 + self.exponent)
        after = _narrow(apply, apply(ops.ADD, kept, found))
        if self.cell_clip > 0:
            after = apply(ops.CLIP, after, a_min=-self.cell_clip, a_max=self.cell_clip)
        out = self.gates[1].opened(apply, parts[1], after)
        narrow = apply(ops.CAST, after, dtype="int16")
        bounded = _active(apply, ops.QNN_TANH16, narrow, 15 + self.exponent)
        return [self.shown(apply(ops.MULTIPLY, out, bounded)), narrow]


def integer_cell(node: Operation, at: LstmTensors) -> IntegerCell:
    """The cell of an operator. Raises `UnsupportedNodeError` for the kernel's other forms."""
    hidden, cell = node.tensor(at.hidden), node.tensor(at.cell)
    _check(node, at, hidden, cell)
    exponent = round(math.log2(cell.scales[0]))
    state, shown = quantization_of(hidden), _quantization(node, _INTERMEDIATES - 1)
    order, inner = _order(node, at), _inner_scales(node, at)
    bound = _bound(node, "CellClip", cell.scales[0], 2**15)
    scales = [_weight_scale(node, at.recurrent[gate], state.scale, inner[gate]) for gate in order]
    weight = _joined(node, at.recurrent, order)
    return IntegerCell(
        node.apply,
        lambda value: _products(node.apply, value, weight, None, state, scales),
        tuple(_gate(node, at, gate, exponent, inner[gate]) for gate in order),
        exponent,
        bound,
        lambda value: _hidden(node, at, value, state, shown),
    )


def gate_products(node: Operation, at: LstmTensors, steps: Sequence2D) -> Sequence2D:
    """The parts of the sums of all gates that come from the inputs of the steps, at 16 bits, as int32."""
    source, order, inner = quantization_of(node.tensor()), _order(node, at), _inner_scales(node, at)
    scales = [_weight_scale(node, at.own[gate], source.scale, inner[gate]) for gate in order]
    bias = None
    if not _normalised(node, at):
        bias = constant(np.concatenate([_integers(node, at.biases[gate], "int32") for gate in order]), node.name)
    weight = _joined(node, at.own, order)
    return steps.mapped(node.apply, lambda rows: _narrow(node.apply, _products(node.apply, rows, weight, bias, source, scales)))


def _check(node: Operation, at: LstmTensors, hidden: TensorRecord, cell: TensorRecord) -> None:
    count = len(node.record.intermediates)
    if count == _OTHER_INTERMEDIATES:
        raise UnsupportedNodeError("the integer kernel with 12 intermediate scales; the one with 5 is imported")
    if count != _INTERMEDIATES:
        raise ImportModelError(f"it has {count} intermediate tensors; the integer kernel has {_INTERMEDIATES}")
    if hidden.dtype != "int8" or cell.dtype != "int16" or len(cell.scales) != 1:
        raise UnsupportedNodeError(f"of int8 values with states of {hidden.dtype} and {cell.dtype}")
    if node.has(at.peepholes[2]) and hidden.shape[-1] != cell.shape[-1]:
        # LiteRT's kernel reads as many peepholes as there are hidden values.
        raise UnsupportedNodeError(f"peepholes of {cell.shape[-1]} values and a projection to {hidden.shape[-1]}")
    exponent = math.log2(cell.scales[0])
    if round(exponent) not in _CELL_EXPONENTS or abs(exponent - round(exponent)) > 1e-3:
        raise UnsupportedNodeError(f"its cell has scale {cell.scales[0]}; powers of two from 2^-15 to 2^-9 are imported")


def _order(node: Operation, at: LstmTensors) -> tuple[int, ...]:
    """Which gates there are, as `IntegerCell` has them."""
    return (1, 3, 2, 0) if node.has(at.own[0]) else (1, 3, 2)


def _normalised(node: Operation, at: LstmTensors) -> bool:
    return node.has(at.norms[1])


def _quantization(node: Operation, which: int) -> Quantization:
    """How an intermediate value stands for real numbers."""
    tensor = node.model.tensors[node.record.intermediates[which]]
    if len(tensor.scales) != 1:
        raise ImportModelError(f"its intermediate tensor {tensor.name!r} has {len(tensor.scales)} scales; it needs one")
    return Quantization(tensor.scales[0], tensor.zero_points[0])


def _inner_scales(node: Operation, at: LstmTensors) -> list[np.float32]:
    """Of the sums of each gate."""
    if not _normalised(node, at):
        return [_GATE_SCALE] * 4
    coupled = not node.has(at.own[0])
    return [_GATE_SCALE if coupled and gate == 0 else np.float32(_quantization(node, gate).scale) for gate in range(4)]


def _scale_of(node: Operation, index: int) -> np.float32:
    tensor = node.tensor(index)
    if len(tensor.scales) != 1:
        raise UnsupportedNodeError(f"its weights {tensor.name!r} have {len(tensor.scales)} scales; those with one are imported")
    if tensor.zero_points[0] != 0:
        raise UnsupportedNodeError(f"its weights {tensor.name!r} have zero point {tensor.zero_points[0]}; 0 is imported")
    return np.float32(tensor.scales[0])


def _weight_scale(node: Operation, index: int, source: float, inner: np.float32) -> float:
    """The scale of products with weights by that of what they become, in single precision as TFLite has it."""
    return float(_scale_of(node, index) * np.float32(source) / inner)


def _integers(node: Operation, index: int, dtype: str) -> Array:
    value = node.array(index, "weights")
    if value.dtype != dtype:
        raise UnsupportedNodeError(f"its input {index} holds {value.dtype}; {dtype} is imported")
    return value


def _joined(node: Operation, indices: Sequence[int], order: Sequence[int]) -> Node:
    parts = [_integers(node, indices[gate], "int8") for gate in order]
    if any(part.ndim != 2 or part.shape != parts[0].shape for part in parts):
        raise ImportModelError(f"weights of gates have shapes {[part.shape for part in parts]}")
    return constant(np.concatenate(parts), node.name)


def _gate(node: Operation, at: LstmTensors, gate: int, exponent: int, inner: np.float32) -> _Gate:
    peephole = norm = None
    where = {0: at.peepholes[0], 1: at.peepholes[1], 3: at.peepholes[2]}.get(gate, -1)
    if where >= 0 and node.has(at.peepholes[2]):
        scale = np.float32(2.0**exponent) * _scale_of(node, where) / inner
        peephole = (node.constant(_integers(node, where, "int16").astype(np.int32)), float(scale))
    if _normalised(node, at):
        weight, bias = (_integers(node, part[gate], kind) for part, kind in ((at.norms, "int16"), (at.biases, "int32")))
        norm = (node.constant(weight), node.constant(bias), float(_scale_of(node, at.norms[gate])))
    return _Gate(ops.QNN_TANH16 if gate == 2 else ops.QNN_SIGMOID16, peephole, norm)


def _bound(node: Operation, option: str, scale: float, limit: int) -> int:
    """What a clip of real numbers is in levels; 0 where there is none."""
    bound = node.option(option)
    return int(min(float(np.float32(bound) / np.float32(scale)), limit - 1.0)) if bound > 0 else 0


def _hidden(node: Operation, at: LstmTensors, value: Node, state: Quantization, shown: Quantization) -> Node:
    """The hidden bytes of the gated cells, projected where the layer has a projection."""
    half = np.float32(2.0**-15)
    made = node.apply(
        ops.QNN_REQUANTIZE,
        value,
        input_scale=float(half / np.float32(shown.scale) * half),
        output_scale=1.0,
        output_zero_point=-shown.zero_point if node.has(at.projection) else shown.zero_point,
        rounding="tflite",
    )
    if not node.has(at.projection):
        return made
    weight = constant(_integers(node, at.projection, "int8"), node.name)
    product = node.apply(ops.QNN_DENSE, made, weight, input_scale=1.0, input_zero_point=-shown.zero_point, kernel_scale=1.0)
    if node.has(at.projection_bias):
        product = node.apply(ops.BIAS_ADD, product, node.constant(_integers(node, at.projection_bias, "int32")))
    bound = _bound(node, "ProjClip", state.scale, 2**7)
    limits = {"a_min": -bound, "a_max": bound} if bound > 0 else {}
    return node.apply(
        ops.QNN_REQUANTIZE,
        product,
        input_scale=float(_scale_of(node, at.projection) * np.float32(shown.scale) / np.float32(state.scale)),
        output_scale=1.0,
        output_zero_point=state.zero_point,
        rounding="tflite",
        **limits,
    )


def _products(apply: Apply, value: Node, weight: Node, bias: Node | None, source: Quantization, scales: Sequence[float]) -> Node:
    """Products with the weights of all gates, each gate at 16 bits, as int32 that is not narrowed yet."""
    made = apply(ops.QNN_DENSE, value, weight, input_scale=source.scale, input_zero_point=source.zero_point, kernel_scale=1.0)
    made = made if bias is None else apply(ops.BIAS_ADD, made, bias)
    return _scaled(apply, made, tuple(np.repeat(scales, weight.shape[0] // len(scales)).tolist()))


def _scaled(apply: Apply, value: Node, scale: float | tuple[float, ...]) -> Node:
    return apply(ops.QNN_REQUANTIZE, value, input_scale=scale, output_scale=1.0, out_dtype="int32", rounding="tflite")


def _narrow(apply: Apply, value: Node) -> Node:
    """What 16 bits hold, as int32."""
    return apply(ops.CLIP, value, **_INT16)


def _shifted(apply: Apply, value: Node, amount: int) -> Node:
    """An int32 by two to a power, rounded, halves away from zero: those of negative numbers go down."""
    moved = apply(ops.ADD, apply(ops.ADD, value, apply(ops.RIGHT_SHIFT, value, like(31, value))), like(1 << (amount - 1), value))
    return apply(ops.RIGHT_SHIFT, moved, like(amount, value))


def _active(apply: Apply, activation: str, value: Node, integer_bits: int = 3) -> Node:
    """An activation of int16 values, as int32 with 15 fractional bits."""
    return apply(ops.CAST, apply(activation, value, integer_bits=integer_bits), dtype="int32")
