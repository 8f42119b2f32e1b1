"""ALU steps on a tile in the accumulator, and the classes of what they take as second operand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.isa.instruction import AluOp
from vta.support.dataclass import dataclass
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor

__all__ = ["Branch", "Immediate", "Join", "Operand", "PerChannel", "Requantization", "Step", "TensorOperand"]


@dataclass(frozen=True, eq=False)
class Operand:
    """The second operand of a step. The facts here are those of an operand that brings nothing of its own."""

    @property
    def constant(self) -> NDArray[np.int64] | None:
        """The value that it has wherever it is used, shape (1,), or (C,) for one a channel; None if it has no such."""
        return None

    @property
    def digits(self) -> tuple[RadixDigit, ...]:
        """What is computed to make it."""
        return ()

    @property
    def reads_tensors(self) -> bool:
        """Whether it is computed from tensors."""
        return False

    @property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """The values per channel, shape (C,) each, that it brings on chip, in order of use."""
        return ()

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that it holds, weights apart."""
        return ()

    @property
    def scratch_tiles(self) -> int:
        """How many times the rows of a tile it needs beside the tile, if products cannot join the tile itself."""
        return 0

    @property
    def extra_passes(self) -> int:
        """How often rows go through the ALU for it, besides once for the step."""
        return 0

    @property
    def structure(self) -> Hashable:
        """What tells operands apart, but for values."""
        return type(self).__name__

    def relocated(self, tensors: Mapping[str, Tensor]) -> Operand:
        """The same operand on the tensors that `tensors` has for the names of its own."""
        return self

    def flattened(self) -> Operand:
        """The same operand with rows and columns of its sources as one axis."""
        return self


@dataclass(frozen=True)
class Immediate(Operand):
    """One value that the instruction holds."""

    value: int

    @property
    def constant(self) -> NDArray[np.int64]:
        """The value, shape (1,)."""
        return np.array([self.value], np.int64)


@dataclass(frozen=True, eq=False)
class PerChannel(Operand):
    """One value per channel, or one per channel and phase of the output."""

    values: NDArray[np.int64]
    """Shape (C,), or (C, SH, SW), of which output (y, x) takes ``[:, y % SH, x % SW]``."""

    @property
    def phases(self) -> tuple[int, int]:
        """SH and SW; (1, 1) where all places take the same."""
        return (self.values.shape[1], self.values.shape[2]) if self.values.ndim > 1 else (1, 1)

    @property
    def has_phases(self) -> bool:
        """Whether places differ in what they take."""
        return self.values.ndim > 1

    @property
    def constant(self) -> NDArray[np.int64] | None:
        """The values, shape (C,), if all places take the same."""
        return None if self.has_phases else np.atleast_1d(self.values)

    @property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """The values; those of one phase after those of another."""
        if not self.has_phases:
            return (self.values,)
        return tuple(self.values[:, y, x] for y, x in np.ndindex(self.phases))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The values."""
        return (self.values,)

    @property
    def structure(self) -> Hashable:
        """The kind, with the phases."""
        return type(self).__name__, self.values.shape[1:]


@dataclass(frozen=True, eq=False, kw_only=True)
class Requantization(Operand):
    """The parameters of REQUANTIZE for each channel, shape (C,) each, as docs/isa-extensions.md lays them out."""

    bias: NDArray[np.int64]
    multiplier: NDArray[np.int64]
    control: NDArray[np.int64]
    wide: bool = False
    """Results keep 32 bits."""
    table: NDArray[np.int8] | None = None
    """Shape (256,): what results of 8 bits are looked up in."""

    @property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """The parameters, in the order of their rows."""
        return self.bias, self.multiplier, self.control

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The parameters, and the table."""
        return self.vectors if self.table is None else (*self.vectors, self.table)

    @property
    def structure(self) -> Hashable:
        """The kind, with what becomes of results."""
        return type(self).__name__, self.wide, self.table is not None


@dataclass(frozen=True, eq=False)
class TensorOperand(Operand):
    """A sum of products, computed into accumulator rows of its own unless it can be added to the tile right away."""

    products: tuple[RadixDigit, ...]
    steps: tuple[Step, ...] = ()
    """What is done to the products before they are an operand: of immediate and per-channel operands only."""

    @property
    def digits(self) -> tuple[RadixDigit, ...]:
        """What is computed to make it."""
        return self.products

    @property
    def reads_tensors(self) -> bool:
        """It is."""
        return True

    @property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """Those of its steps."""
        return tuple(values for step in self.steps for values in step.operand.vectors)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Those of its steps."""
        return tuple(values for step in self.steps for values in step.operand.arrays)

    @property
    def scratch_tiles(self) -> int:
        """The rows of its own."""
        return 1

    @property
    def extra_passes(self) -> int:
        """One a step."""
        return len(self.steps)

    @property
    def structure(self) -> Hashable:
        """The kind, with that of the steps where there are any."""
        return (type(self).__name__, tuple(step.structure for step in self.steps)) if self.steps else type(self).__name__

    def relocated(self, tensors: Mapping[str, Tensor]) -> TensorOperand:
        """The same operand on the tensors that `tensors` has for the names of its own."""
        return replace(self, products=tuple(digit.relocated(tensors) for digit in self.products))

    def flattened(self) -> TensorOperand:
        """The same operand with rows and columns of its sources as one axis."""
        return replace(self, products=tuple(digit.flattened() for digit in self.products))


@dataclass(frozen=True, eq=False)
class Branch(Operand):
    """A copy of the tile in accumulator rows of its own, with steps applied to it; the step leaves the tile as it is."""

    steps: tuple[Step, ...]
    """Of immediate and per-channel operands only."""
    slot: int = 0
    """Which of the rows beside the tile hold it."""
    copy_elided: bool = False
    """What its steps leave is never larger than what it copies, so that the maximum of both is the next copy."""

    @property
    def vectors(self) -> tuple[NDArray[np.int64], ...]:
        """Those of its steps."""
        return tuple(values for step in self.steps for values in step.operand.vectors)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Those of its steps."""
        return tuple(values for step in self.steps for values in step.operand.arrays)

    @property
    def scratch_tiles(self) -> int:
        """The rows up to those of its slot."""
        return 1 + self.slot

    @property
    def extra_passes(self) -> int:
        """One a step; a copy that is not elided takes one more."""
        return len(self.steps) + (not self.copy_elided)

    @property
    def structure(self) -> Hashable:
        """The kind, with that of the steps."""
        return type(self).__name__, tuple(step.structure for step in self.steps)


@dataclass(frozen=True)
class Join(Operand):
    """The copy that the branch of the same slot made."""

    slot: int = 0


@dataclass(frozen=True, eq=False)
class Step:
    """One ALU operation on the whole tile."""

    op: AluOp
    operand: Operand

    @cached_property
    def joins_products(self) -> bool:
        """Whether it adds products that GEMM can sum up right on top of the tile."""
        operand, digits = self.operand, self.operand.digits
        plain = isinstance(operand, TensorOperand) and not operand.steps
        return plain and self.op is AluOp.ADD and len(digits) == 1 and digits[0].shift == 0

    @property
    def terms(self) -> tuple[GemmTerm, ...]:
        """The terms of its operand."""
        return tuple(term for digit in self.operand.digits for term in digit.terms)

    @property
    def structure(self) -> Hashable:
        """What tells steps apart, but for values."""
        return self.op, self.operand.structure

    def relocated(self, tensors: Mapping[str, Tensor]) -> Step:
        """The same step on the tensors that `tensors` has for the names of its own."""
        return replace(self, operand=self.operand.relocated(tensors))

    def flattened(self) -> Step:
        """The same step with rows and columns of its sources as one axis."""
        return replace(self, operand=self.operand.flattened())
