"""Starts accumulators from their bias in one pass over the rows, in place of a reset and an addition.

The ALU cannot copy, but the maximum of a row with a larger one is the larger one. After a tile is stored its rows hold clipped
values. If the bias is raised by enough, its maximum with them is the raised bias, whatever they are. The raise is a multiple of
2^(8 + s), where s is the right shift of the operator: the shift turns it into a multiple of 256, the clip moves with it, and the
store drops it with all but the low 8 bits. Steps that begin with the addition of something as large need no raise.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.isa.instruction import AluOp
from vta.quantization.bounds import magnitude_sums
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.step import Immediate, Operand, Step

__all__ = ["with_accumulator_init"]

_LARGEST_INPUT = 128
_LARGEST_LEFT = 127
"""What a stored tile leaves in its rows is no larger."""
_LARGEST_RAISE = 127
"""Of the clip, in units of 256, so that its bounds stay immediates."""


def with_accumulator_init(operator: GemmOperator, hw: HardwareConfig) -> GemmOperator:
    """Return `operator` with `accumulator_init` set and the steps that follow from it, or as it is where that is not exact.

    It takes one digit, and the steps: add a constant, shift right, clip to 8 bits; or others that end with an int8, after the
    addition of at least 127.
    """
    if _starts_high(operator, hw):
        start = operator.epilogue[0].operand.constant
        assert start is not None, "what the steps add was looked at"
        channels = operator.output.blocks * hw.block
        first = np.resize(start, channels)
        first[len(start) if len(start) > 1 else channels :] = _LARGEST_LEFT
        return replace(operator, accumulator_init=first, epilogue=operator.epilogue[1:])
    parts = _parts(operator)
    if parts is None:
        return operator
    bias, shift, low, high = parts
    channels = operator.output.blocks * hw.block
    biases = np.zeros(channels, np.int64)
    biases[: len(bias) if len(bias) > 1 else channels] = bias
    shifts = np.zeros(channels, np.int64)
    shifts[: len(shift) if len(shift) > 1 else channels] = shift
    largest = _largest_sums(operator.digits[0].terms, channels) + np.abs(biases)
    limit = 1 << (hw.acc_bits - 1)
    for units in range(1, _LARGEST_RAISE + 1):
        raised = np.left_shift(np.int64(units), 8 + shifts)
        if (largest + raised).max() >= limit:
            return operator
        if (biases + raised).min() >= 256 * units + high:
            clip = ((AluOp.MAX, low), (AluOp.MIN, high))
            steps = [operator.epilogue[1]]
            steps += [Step(op, Immediate(256 * units + bound)) for op, bound in clip]
            return replace(operator, accumulator_init=biases + raised, epilogue=tuple(steps))
    return operator


def _starts_high(operator: GemmOperator, hw: HardwareConfig) -> bool:
    """Whether the steps begin with the addition of something that no stored value exceeds, and end with an int8."""
    if len(operator.digits) != 1 or operator.digits[0].shift or not operator.epilogue or operator.output.planes != 1:
        return False
    first = operator.epilogue[0]
    start = first.operand.constant
    if first.op is not AluOp.ADD or start is None:
        return False
    return int(start.min()) >= _LARGEST_LEFT and _leaves_int8(operator.epilogue[1:], hw)


def _leaves_int8(steps: tuple[Step, ...], hw: HardwareConfig) -> bool:
    """Whether the last steps leave an int8 whatever they begin with."""
    shifted = 0
    for step in reversed(steps):
        if step.op is not AluOp.SHR or not isinstance(step.operand, Immediate):
            break
        shifted += step.operand.value
    if shifted >= hw.acc_bits - 8:
        return True
    clips = {step.op: step.operand for step in steps[-2:]}
    return _int8_bounds(clips.get(AluOp.MAX), clips.get(AluOp.MIN)) is not None


def _parts(operator: GemmOperator) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int] | None:
    """The bias, the shift and the bounds of the clip, if the operator has this form."""
    if len(operator.digits) != 1 or operator.digits[0].shift or len(operator.epilogue) != 4 or operator.output.planes != 1:
        return None
    add, shift, lower, upper = operator.epilogue
    if [step.op for step in operator.epilogue] != [AluOp.ADD, AluOp.SHR, AluOp.MAX, AluOp.MIN]:
        return None
    bias, amounts, bounds = add.operand.constant, shift.operand.constant, _int8_bounds(lower.operand, upper.operand)
    if bias is None or amounts is None or amounts.min() < 0 or bounds is None:
        return None
    return bias, amounts, *bounds


def _int8_bounds(low: Operand | None, high: Operand | None) -> tuple[int, int] | None:
    """The bounds of a clip that leaves an int8; None if these are not such."""
    if isinstance(low, Immediate) and isinstance(high, Immediate) and -128 <= low.value <= high.value <= 127:
        return low.value, high.value
    return None


def _largest_sums(terms: tuple[GemmTerm, ...], channels: int) -> NDArray[np.int64]:
    """A bound of each channel's sum of products over int8 inputs."""
    total = np.zeros(channels, np.int64)
    for term in terms:
        sums = _output_sums(term.weights, term.taps)
        positions = term.kernel[0] * term.kernel[1] if term.window else 1
        total += np.resize(sums, channels) * positions * _LARGEST_INPUT
    return total


def _output_sums(weights: NDArray[np.int8], taps: int) -> NDArray[np.int64]:
    """The sum of the magnitudes of the weights of each output channel."""
    out, inp = (5, 4) if taps > 1 else (4, 5)
    # In this order weights that are a view of the network's lie as they do there.
    return magnitude_sums(weights.transpose(0, out, 1, inp, 2, 3).reshape(len(weights) * weights.shape[out], -1))
