"""The operator that multiplies: sums of products, ALU steps on them, and a store; with all that is true of it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.support.dataclass import dataclass
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor, TileOperator
from vta.tile.step import Requantization, Step, TensorOperand

__all__ = ["COPY", "GemmOperator", "OutputPadding"]

_FINISHED_PLACES = 8
"""Places of a tile from which on its products requantize, as the template of products has it."""
COPY = "copy"
"""Kind of the operators that only move values."""


@dataclass(frozen=True)
class OutputPadding:
    """Rows and columns of one value around what an operator stores."""

    stored: Tensor
    """The output with its padding."""
    top: int
    left: int
    value: int


class _Layout(Protocol):
    @property
    def flat(self) -> bool: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class GemmOperator(TileOperator):
    """Accumulate the digits, apply the epilogue, store the low 8 bits (or all four bytes as planes)."""

    digits: tuple[RadixDigit, ...]
    epilogue: tuple[Step, ...] = ()
    accumulator_init: NDArray[np.int64] | None = None
    """One value per channel that the accumulator starts from, never below what a stored tile leaves in it; None: zero."""
    output_padding: OutputPadding | None = None

    @cached_property
    def leaves_zeros(self) -> bool:
        """Whether the rows of a tile are zero once it is stored, and need no reset for the next."""
        last = self.epilogue[-1].operand if self.epilogue else None
        return isinstance(last, Requantization) and not last.wide

    @cached_property
    def products_requantize(self) -> bool:
        """Whether the last products of a tile that is not small requantize its rows, which take no pass of the ALU then."""
        if not self.leaves_zeros or len(self.epilogue) > 1 or self.output.height * self.output.width < _FINISHED_PLACES:
            return False
        return any(not term.sparse and term.source_dilation == (1, 1) for term in self.digits[-1].terms)

    @cached_property
    def requantizations(self) -> int:
        """How many steps take the parameters of REQUANTIZE, those of tensor operands included."""
        operands = [step.operand for step in self.epilogue]
        inner = [step.operand for operand in operands if isinstance(operand, TensorOperand) for step in operand.steps]
        return sum(isinstance(operand, Requantization) for operand in (*operands, *inner))

    @cached_property
    def table(self) -> NDArray[np.int8] | None:
        """What results are looked up in, shape (256,)."""
        last = self.epilogue[-1].operand if self.epilogue else None
        return last.table if isinstance(last, Requantization) else None

    @property
    def stored(self) -> Tensor:
        """The tensor in memory: the output, with its padding where it has one."""
        return self.output if self.output_padding is None else self.output_padding.stored

    @cached_property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once."""
        return tuple({tensor.name: tensor for term in self.terms for tensor in term.tensors}.values())

    @cached_property
    def all_digits(self) -> tuple[RadixDigit, ...]:
        """Its digits, then those of tensor operands."""
        return (*self.digits, *(digit for step in self.epilogue for digit in step.operand.digits))

    @cached_property
    def terms(self) -> tuple[GemmTerm, ...]:
        """All terms, those of tensor operands too."""
        return tuple(term for digit in self.all_digits for term in digit.terms)

    @cached_property
    def main_term(self) -> GemmTerm:
        """The term with the most work, one that slides over its input where several have the same; it shapes the schedule."""
        # Beside products of several columns there are only others with few blocks that are not zero.
        return max(self.terms, key=lambda term: (term.taps, term.products_per_row, not term.pointwise))

    @cached_property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """The operands that are a value per channel, in order of use; those of branches too. Each phase counts as one."""
        first = () if self.accumulator_init is None else (self.accumulator_init,)
        return (*first, *(values for step in self.epilogue for values in step.operand.vectors))

    @property
    def constants(self) -> tuple[NDArray[np.int64], ...]:
        """The arrays of values per channel, phases and all."""
        first = () if self.accumulator_init is None else (self.accumulator_init,)
        return (*first, *(values for step in self.epilogue for values in step.operand.arrays))

    @cached_property
    def scratch_tiles(self) -> int:
        """How many times the rows of a tile its steps need beside them, for tensor operands and for branches."""
        return max((step.operand.scratch_tiles for step in self.epilogue if not step.joins_products), default=0)

    @cached_property
    def scratch_operands(self) -> int:
        """Tensor operands that are computed into rows of their own."""
        return sum(step.operand.reads_tensors and not step.joins_products for step in self.epilogue)

    @cached_property
    def alu_passes(self) -> int:
        """How often the rows of a tile go through the ALU for its steps, those of branches and their copies included."""
        passes = sum(1 + step.operand.extra_passes for step in self.epilogue if not step.joins_products)
        return passes - self.products_requantize

    @cached_property
    def workload_key(self) -> Hashable:
        """What decides the schedule: shapes and the structure of terms and steps, but no values."""
        out, stored = self.output, self.stored
        shape = out.batch, out.blocks, out.height, out.width, out.planes, stored.height, stored.width
        terms = tuple(term.workload_key for term in self.terms)
        digits = tuple((digit.shift, len(digit.terms)) for digit in self.all_digits)
        return shape, terms, digits, self._epilogue_structure, self.accumulator_init is not None

    @cached_property
    def variant_key(self) -> Hashable:
        """What tells operators of one recorded workload apart, as far as schedules go."""
        shapes = ((digit.shift, tuple((term.weights.shape, term.is_transfer) for term in digit.terms)) for digit in self.digits)
        return self.output.planes, self.output_padding is not None, self._epilogue_structure, tuple(shapes)

    @property
    def _epilogue_structure(self) -> Hashable:
        return tuple(step.structure for step in self.epilogue)

    @cached_property
    def flattened(self) -> GemmOperator:
        """The same with rows and columns as one axis, where every term reads its own position only and nothing is padded."""
        size = self.output.height, self.output.width
        if self.output_padding is not None or not all(
            term.pointwise and (term.broadcasts or (term.source.height, term.source.width) == size) for term in self.terms
        ):
            return self
        digits = tuple(digit.flattened() for digit in self.digits)
        epilogue = tuple(step.flattened() for step in self.epilogue)
        return replace(self, output=self.output.flattened(), digits=digits, epilogue=epilogue)

    def laid_out(self, schedule: _Layout) -> GemmOperator:
        """The operator as `schedule` cuts it: flattened, if the schedule says so."""
        return self.flattened if schedule.flat else self

    def relocated(self, tensors: Mapping[str, Tensor]) -> GemmOperator:
        """The same operator on the tensors that `tensors` has for the names of its own."""
        padding = self.output_padding
        if padding is not None:
            padding = replace(padding, stored=tensors.get(padding.stored.name, padding.stored))
        return replace(
            self,
            output=tensors.get(self.output.name, self.output),
            digits=tuple(digit.relocated(tensors) for digit in self.digits),
            epilogue=tuple(step.relocated(tensors) for step in self.epilogue),
            output_padding=padding,
        )

    @cached_property
    def computes_weights(self) -> bool:
        """Whether it multiplies by tensors that the region stores."""
        return any(term.computed is not None for term in self.terms)

    @property
    def scheduled(self) -> GemmOperator:
        """The operator itself."""
        return self

    @property
    def tuned(self) -> GemmOperator | None:
        """The operator itself, if it does more than move values, by weights that are known."""
        return None if self.kind == COPY or self.computes_weights else self

    def check(self, hw: HardwareConfig) -> None:
        """Do nothing: what does not fit, no schedule fits, and whoever chooses one says so."""
