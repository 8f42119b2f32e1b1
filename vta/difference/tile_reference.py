"""What an operator of the tile level computes, in NumPy: sums of products over packed blocks, and the steps after them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.isa.instruction import AluOp
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Immediate, Join, PerChannel, Requantization, Step, TensorOperand

__all__ = ["evaluate_operator"]

Ints = NDArray[np.int64]


def evaluate_operator(operator: GemmOperator, sources: Mapping[str, NDArray[np.int8]], hw: HardwareConfig) -> NDArray[np.uint8]:
    """What is stored, packed: flat bytes, plane by plane.

    `sources` gives the elements of each memory that it reads, shape (elements, BATCH, BLOCK), by name.
    """
    return _Evaluation(operator, sources, hw).run()


class _Evaluation:
    def __init__(self, operator: GemmOperator, sources: Mapping[str, NDArray[np.int8]], hw: HardwareConfig) -> None:
        self.operator = operator
        self.sources = sources
        self.hw = hw
        self.dtype = np.dtype(f"int{hw.acc_bits}")
        self.scratch: dict[int, Ints] = {}
        self.result: NDArray[np.int8] | None = None

    def run(self) -> NDArray[np.uint8]:
        operator, out = self.operator, self.operator.output
        acc = self._zeros()
        if operator.accumulator_init is not None:
            acc = self._wrap(acc + self._by_channel(operator.accumulator_init))
        acc = self._apply(operator.epilogue, self._accumulate(operator.digits, acc))
        if self.result is not None:
            return self._stored(self.result).view(np.uint8).reshape(-1)
        planes = [self._stored((acc >> 8 * plane).astype(np.int8)) for plane in range(out.planes)]
        return np.stack(planes).view(np.uint8).reshape(-1)

    def _stored(self, values: NDArray[np.int8]) -> NDArray[np.int8]:
        """With what lies around the output, if something does."""
        padding, out = self.operator.output_padding, self.operator.output
        if padding is None:
            return values
        stored = np.full(
            (*values.shape[:2], padding.stored.height, padding.stored.width, *values.shape[4:]), padding.value, np.int8
        )
        rows, columns = slice(padding.top, padding.top + out.height), slice(padding.left, padding.left + out.width)
        stored[:, :, rows, columns] = values
        return stored

    def _zeros(self) -> Ints:
        out = self.operator.output
        return np.zeros((out.batch, out.blocks, out.height, out.width, self.hw.batch, self.hw.block), np.int64)

    def _wrap(self, values: Ints) -> Ints:
        return values.astype(self.dtype).astype(np.int64)

    def _by_channel(self, values: NDArray[np.int64]) -> Ints:
        """A value per channel, for all places; channels beyond those that it has are zero."""
        out = self.operator.output
        full = np.zeros(out.blocks * self.hw.block, np.int64)
        full[: len(values)] = values
        return full.reshape(1, out.blocks, 1, 1, 1, self.hw.block)

    def _accumulate(self, digits: tuple[RadixDigit, ...], acc: Ints) -> Ints:
        for digit in digits:
            acc = self._wrap(acc << digit.shift)
            for term in digit.terms:
                acc = self._wrap(acc + self._products(term))
        return acc

    def _products(self, term: GemmTerm) -> Ints:
        source = self._elements(term.source)
        acc = self._zeros()
        for kh, kw, tap in product(range(term.kernel[0]), range(term.kernel[1]), range(term.taps)):
            rows, from_rows = _meeting(term, 0, kh, 0, acc.shape[2], source.shape[2])
            columns, from_columns = _meeting(term, 1, kw, tap, acc.shape[3], source.shape[3])
            if not len(rows) or not len(columns):
                continue
            read = source[:, :, from_rows[:, None], from_columns[None, :]].astype(np.int64)
            at = (0, 0) if term.window else (kh, kw)
            acc[:, :, rows[:, None], columns[None, :]] += self._multiplied(term, read, at, tap)
        return acc

    def _multiplied(self, term: GemmTerm, read: Ints, at: tuple[int, int], tap: int) -> Ints:
        if term.computed is not None:
            return self._by_tensor(self._elements(term.computed), read)
        weights = term.weights[:, :, at[0], at[1]].astype(np.int64)
        if term.diagonal:
            blocks = self.operator.output.blocks
            own = np.broadcast_to(weights[:, 0], (blocks, *weights.shape[2:])) if len(weights) == 1 else weights[:blocks, 0]
            read = read[:, :blocks]
            if term.taps > 1:
                return read * own[:, tap][None, :, None, None, None, :]
            return np.asarray(np.einsum("nchwbi,coi->nchwbo", read, own, optimize=True))
        return np.asarray(np.einsum("nchwbi,ocpi->nohwbp", read, weights, optimize=True))

    def _by_tensor(self, weights: NDArray[np.int8], read: Ints) -> Ints:
        """Products with a tensor (N, CI, 1, W, BATCH, BLOCK), each of whose columns is an output channel."""
        batch, blocks, _, width, _, lanes = weights.shape
        columns = weights.reshape(batch, blocks, width // lanes, lanes, lanes).astype(np.int64)
        return np.asarray(np.einsum("nchwbi,ncopi->nohwbp", read, columns, optimize=True))

    def _elements(self, tensor: Tensor) -> NDArray[np.int8]:
        memory = tensor.memory
        shape = (tensor.batch, memory.blocks, tensor.height, tensor.width, self.hw.batch, self.hw.block)
        whole = self.sources[memory.name].reshape(shape)
        return whole[:, tensor.first_block : tensor.first_block + tensor.blocks]

    def _apply(self, steps: tuple[Step, ...], acc: Ints) -> Ints:
        for step in steps:
            acc = self._stepped(step, acc)
        return acc

    def _stepped(self, step: Step, acc: Ints) -> Ints:
        match step.operand:
            case PerChannel() as operand if operand.has_phases:
                return self._phases(step.op, operand, acc)
            case PerChannel(values):
                return self._alu(step.op, acc, self._by_channel(values))
            case Immediate(value):
                return self._alu(step.op, acc, np.int64(value))
            case Branch() as branch:
                self.scratch[branch.slot] = self._apply(branch.steps, acc.copy())
                return acc
            case Join(slot):
                return self._alu(step.op, acc, self.scratch[slot])
            case Requantization() as operand:
                return self._requantized(operand, acc)
            case TensorOperand(digits) if step.joins_products:
                return self._accumulate(digits, acc)
            case TensorOperand(digits, inner):
                return self._alu(step.op, acc, self._apply(inner, self._accumulate(digits, self._zeros())))
        raise NotImplementedError(f"a step with {type(step.operand).__name__}")

    def _phases(self, op: AluOp, operand: PerChannel, acc: Ints) -> Ints:
        down, across = operand.phases
        result = acc.copy()
        for y, x in np.ndindex(down, across):
            part = acc[:, :, y::down, x::across]
            result[:, :, y::down, x::across] = self._alu(op, part, self._by_channel(operand.values[:, y, x]))
        return result

    def _alu(self, op: AluOp, x: Ints, y: Ints | np.int64) -> Ints:
        match op:
            case AluOp.MIN:
                result = np.minimum(x, y)
            case AluOp.MAX:
                result = np.maximum(x, y)
            case AluOp.ADD:
                result = x + y
            case AluOp.MUL:
                result = x * y
            case _:
                left = np.where(y < -31, 0, x << np.clip(-y, 0, 31))
                result = np.where(y >= 0, x >> np.clip(y, 0, 31), left)
        return self._wrap(np.asarray(result))

    def _requantized(self, operand: Requantization, acc: Ints) -> Ints:
        bias, multiplier, control = (self._by_channel(values) for values in operand.vectors)
        once = (control >> 6 & 1) != 0
        if operand.wide:
            return self._wrap(_scaled(acc + bias, multiplier, control >> 8 & 31, control & 31, once))
        lifts = (control >> 5 & 1) != 0
        left, right = np.where(lifts, -control & 31, 0), np.where(lifts, 0, control & 31)
        zero_point, low, high = ((control >> 8 * byte).astype(np.int8) for byte in (1, 2, 3))
        narrow = np.minimum(np.maximum(_scaled(acc + bias, multiplier, left, right, once) + zero_point, low), high)
        table = operand.table
        self.result = (narrow if table is None else table[narrow + 128]).astype(np.int8)
        return np.zeros_like(acc)


def _meeting(term: GemmTerm, axis: int, kernel: int, tap: int, extent: int, size: int) -> tuple[Ints, Ints]:
    """Outputs along an axis that read inside the source at a kernel position, and what they read."""
    outputs = np.arange(extent)
    at = outputs * term.strides[axis] + kernel * term.dilation[axis] + tap - term.padding[axis]
    rows, between = np.divmod(at, term.source_dilation[axis])
    inside = (between == 0) & (rows >= 0) & (rows < size)
    return outputs[inside], rows[inside]


def _scaled(x: Ints, multiplier: Ints, left: Ints, right: Ints, once: NDArray[np.bool_]) -> Ints:
    """The product of REQUANTIZE (docs/isa-extensions.md)."""
    raised = (x.astype(np.int32).astype(np.int64) << left).astype(np.int32).astype(np.int64)
    first = (raised * multiplier + np.where(once & (right > 0), 0, 1 << 30)) >> 31
    half = (np.int64(1) << right) >> 1
    away = ~once & (first < 0) & (right > 0)
    return np.asarray((first + half - away) >> right)
