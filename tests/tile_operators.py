"""Tile operators for tests, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from vta.isa.instruction import AluOp
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor
from vta.tile.step import Immediate, PerChannel, Step, TensorOperand


def alu_step(op: AluOp, value: Any) -> Step:
    """A step whose operand is a whole number, an array of one value a channel, or a term."""
    if isinstance(value, GemmTerm):
        return Step(op, TensorOperand((RadixDigit(0, (value,)),)))
    return Step(op, PerChannel(value) if isinstance(value, np.ndarray) else Immediate(value))


def plain(step: Step) -> tuple[AluOp, Any]:
    """The operation of a step, and its operand as a whole number, an array, or digits."""
    match step.operand:
        case Immediate(value) | PerChannel(value) | TensorOperand(value):
            return step.op, value
    raise AssertionError(f"{step.operand} has no value")


def gemm_operator(output: Tensor, *terms: GemmTerm, name: str = "conv", kind: str = "conv2d", steps: Any = ()) -> GemmOperator:
    """An operator of one digit."""
    return GemmOperator(name=name, kind=kind, output=output, digits=(RadixDigit(0, terms),), epilogue=tuple(steps))
