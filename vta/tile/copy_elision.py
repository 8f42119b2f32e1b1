"""Copies the rows of a tile for a branch in one pass, in place of a reset and an addition.

The ALU cannot copy, but the maximum of a row with a larger one is the larger one. Where what a branch leaves in its rows is
never larger than what the next tile copies into them, the maximum is the copy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.isa.instruction import AluOp
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.step import Branch, Step

__all__ = ["with_elided_copies"]


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Range:
    """Bounds of values: one for all channels, or one each."""

    low: Ints
    high: Ints


def with_elided_copies(operator: GemmOperator, hw: HardwareConfig) -> GemmOperator:
    """Return `operator` with the branches marked whose copies the maximum can make."""
    half = 1 << (hw.acc_bits - 1)
    every = _Range(np.array([-half]), np.array([half - 1]))
    value = every
    steps: list[Step] = []
    for step in operator.epilogue:
        if isinstance(step.operand, Branch):
            left = value
            for part in step.operand.steps:
                left = _after(part, left, every)
            # Unused channels of the last block hold zeros everywhere.
            elided = max(int(left.high.max()), 0) <= int(value.low.min())
            steps.append(replace(step, operand=replace(step.operand, copy_elided=elided)))
        else:
            value = _after(step, value, every)
            steps.append(step)
    return replace(operator, epilogue=tuple(steps))


def _after(step: Step, value: _Range, every: _Range) -> _Range:
    """The range after a step; all there is where a step may wrap, takes a tensor or varies by place."""
    operand = step.operand.constant
    if operand is None:
        return every
    if step.op in (AluOp.MAX, AluOp.MIN):
        bound = np.maximum if step.op is AluOp.MAX else np.minimum
        return _Range(bound(value.low, operand), bound(value.high, operand))
    if step.op is AluOp.SHR and operand.min() >= 0:
        return _Range(value.low >> operand, value.high >> operand)
    if step.op is AluOp.ADD:
        found = value.low + operand, value.high + operand
    elif step.op is AluOp.MUL:
        found = value.low * operand, value.high * operand
    else:
        return every
    low, high = np.minimum(*found), np.maximum(*found)
    fits = (low >= every.low) & (high <= every.high)
    return _Range(np.where(fits, low, every.low), np.where(fits, high, every.high))
