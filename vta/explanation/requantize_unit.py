"""Regions as they would be on a core with the requantize unit, without their data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.isa.instruction import AluOp
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import RadixDigit
from vta.tile.operator import RegionOperators, TileOperator
from vta.tile.step import Requantization, Step

__all__ = ["requantized_by_unit"]


def requantized_by_unit(regions: Sequence[RegionOperators], hw: HardwareConfig) -> tuple[RegionOperators, ...] | None:
    """The regions with one REQUANTIZE, of any parameters, in place of the steps of each operator whose results are int8.

    Tensors that are rescaled to be added join the products: on such a core most additions are one rescaling of a sum. None if
    there is nothing to replace.
    """
    before = [region.operators for region in regions]
    after = [tuple(_requantized(operator, hw) for operator in operators) for operators in before]
    if before == after:
        return None
    return tuple(replace(region, operators=operators) for region, operators in zip(regions, after, strict=True))


def _requantized(operator: TileOperator, hw: HardwareConfig) -> TileOperator:
    if not isinstance(operator, GemmOperator) or operator.tuned is None or operator.output.planes > 1 or not operator.epilogue:
        return operator
    first, *others = operator.digits
    joined = (digit for step in operator.epilogue for digit in step.operand.digits)
    terms = (*first.terms, *(term for digit in joined for term in digit.terms))
    channels = operator.output.blocks * hw.block
    parameters = np.zeros(channels, np.int64)
    step = Step(AluOp.REQUANTIZE, Requantization(bias=parameters, multiplier=parameters, control=parameters))
    digits = (RadixDigit(first.shift, terms), *others)
    return replace(operator, digits=digits, epilogue=(step,), accumulator_init=None)
