"""What changes of the passes and products would save, counted in micro-ops of the compute unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vta.isa.instruction import DEPTHWISE_TAPS, AluOp
from vta.schedule.term_work import term_work
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["requantized_in", "with_depthwise_unit"]

_PASSES = {"close": 5, "shift": 4}
"""Over a row of results, its start among them (docs/requantisation.md)."""


def requantized_in(regions: Sequence[RegionOperators], total: int, way: str) -> int | None:
    """The cycles if results were rescaled in another way, ``close`` or ``shift``; None if nothing is rescaled by products."""
    saved = [
        operator.output.elements * max(0, _passes(operator) - _PASSES[way])
        for operator in _operators(regions)
        if _multiplies(operator) and not operator.scratch_operands
    ]
    return total - sum(saved) if any(saved) else None


def with_depthwise_unit(regions: Sequence[RegionOperators], total: int) -> int | None:
    """The cycles if depthwise convolutions took three columns of their kernels at a time."""
    saved = 0
    for operator in _operators(regions):
        term = operator.main_term
        if (
            term.diagonal
            and term.window is None
            and term.taps == 1
            and term.kernel[1] == DEPTHWISE_TAPS
            and term.dilation[1] == 1
        ):
            saved += term_work(term, operator).products * (DEPTHWISE_TAPS - 1) // DEPTHWISE_TAPS
    return total - saved if saved else None


def _operators(regions: Sequence[RegionOperators]) -> Iterator[GemmOperator]:
    for region in regions:
        for operator in region.operators:
            if operator.tuned is not None:
                yield operator.tuned


def _passes(operator: GemmOperator) -> int:
    return operator.alu_passes + (0 if operator.leaves_zeros else 1)


def _multiplies(operator: GemmOperator) -> bool:
    return any(step.op is AluOp.MUL for step in operator.epilogue)
