"""Lets operators read some rows or columns of a tensor where they lie, in place of a copy of them.

A product's window may begin inside its source, which is padding below zero, so a slice that only products read is no operator.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from vta.support.dataclass import dataclass
from vta.tile.access_map import rows_read
from vta.tile.gemm_operator import COPY, GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor, TileOperator
from vta.tile.step import Operand, TensorOperand

__all__ = ["Slice", "can_read", "copied_term", "is_container", "reading", "without_slices"]


@dataclass(frozen=True)
class Slice:
    """A tensor that is neighboring rows and columns of another one, all blocks of channels."""

    source: Tensor
    output: Tensor
    top: int
    left: int


def without_slices(operators: Sequence[TileOperator], kept: Collection[str]) -> list[TileOperator | None]:
    """The operators, None for slices that all their readers can read from the source; outputs called as in `kept` stay."""
    current: list[TileOperator | None] = list(operators)
    for at, operator in enumerate(operators):
        found = _slice_of(current[at] or operator)
        if found is None or found.output.name in kept:
            continue
        others = [other for other in current if other is not None]
        readers = [other for other in others if any(tensor.name == found.output.name for tensor in other.sources)]
        if readers and all(can_read(reader, found) for reader in readers) and not is_container(found.output, others):
            current[at] = None
            current = [reading(other, found) if isinstance(other, GemmOperator) else other for other in current]
    return current


def _slice_of(operator: TileOperator) -> Slice | None:
    if not isinstance(operator, GemmOperator) or operator.kind != COPY or operator.output.container is not None:
        return None
    term = copied_term(operator)
    if term is None or operator.output_padding is not None:
        return None
    return Slice(term.source, operator.output, -term.padding[0], -term.padding[1])


def copied_term(operator: GemmOperator) -> GemmTerm | None:
    """The only term of an operator that copies neighboring rows and columns and does nothing else, padding aside."""
    if len(operator.terms) != 1 or operator.epilogue:
        return None
    (term,) = operator.digits[0].terms
    whole = term.diagonal and term.kernel == (1, 1) and term.strides == (1, 1) and max(term.padding) <= 0
    return term if whole and np.array_equal(term.weights[0, 0, 0, 0], np.eye(term.weights.shape[-1])) else None


def is_container(tensor: Tensor, operators: Sequence[TileOperator]) -> bool:
    """Whether other tensors lie inside of one."""
    tensors = [other for operator in operators for other in operator.tensors]
    return any(other.container is not None and other.container.name == tensor.name for other in tensors)


def can_read(reader: TileOperator, found: Slice) -> bool:
    """Whether only its products read the slice, and nothing around it."""
    if not isinstance(reader, GemmOperator):
        return False
    # Operators that do not requantize by the unit keep the copies that they had.
    digits = reader.all_digits if reader.requantizations else reader.digits
    own = [term for digit in digits for term in digit.terms if term.source.name == found.output.name]
    every = [term for term in reader.terms if any(tensor.name == found.output.name for tensor in term.tensors)]
    return len(own) == len(every) and all(_stays_inside(term, reader.output) for term in own)


def _stays_inside(term: GemmTerm, output: Tensor) -> bool:
    sizes = (term.source.height, term.source.width), (output.height, output.width)
    for axis, (size, outputs) in enumerate(zip(*sizes, strict=True)):
        read = rows_read(term, axis, outputs=range(outputs), kernel=range(term.kernel[axis]))
        if read.start < 0 or read.stop > size or term.source_dilation[axis] != 1:
            return False
    return True


def reading(reader: GemmOperator, found: Slice) -> GemmOperator:
    """The operator, reading the source where it reads the slice."""
    if all(tensor.name != found.output.name for tensor in reader.sources):
        return reader
    epilogue = tuple(replace(step, operand=_moved_operand(step.operand, found)) for step in reader.epilogue)
    return replace(reader, digits=_moved_digits(reader.digits, found), epilogue=epilogue)


def _moved_operand(operand: Operand, found: Slice) -> Operand:
    if not isinstance(operand, TensorOperand):
        return operand
    return replace(operand, products=_moved_digits(operand.products, found))


def _moved_digits(digits: Sequence[RadixDigit], found: Slice) -> tuple[RadixDigit, ...]:
    return tuple(replace(digit, terms=tuple(_moved(term, found) for term in digit.terms)) for digit in digits)


def _moved(term: GemmTerm, found: Slice) -> GemmTerm:
    if term.source.name != found.output.name:
        return term
    return replace(term, source=found.source, padding=(term.padding[0] - found.top, term.padding[1] - found.left))
