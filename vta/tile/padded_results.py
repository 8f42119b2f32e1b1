"""Lets operators store a result inside its padding at once, in place of a copy that pads it for some of its readers.

The others read it there, as a product's window may begin inside its source.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator, OutputPadding
from vta.tile.operator import Tensor, TileOperator
from vta.tile.sliced_reads import Slice, can_read, copied_term, is_container, reading

__all__ = ["PaddedResults", "with_padded_results"]

_Operators = list[TileOperator | None]


@dataclass(frozen=True)
class PaddedResults:
    """Operators, None for the copies that are not needed, and which operator stores what each of these stored."""

    operators: _Operators
    stored_by: dict[int, int]


def with_padded_results(operators: Sequence[TileOperator | None], kept: Collection[str]) -> PaddedResults:
    """The operators with results stored inside their padding; outputs called as in `kept` stay as they are."""
    current, stored_by = list(operators), {}
    for at, copy in enumerate(operators):
        source = _padded_source(copy)
        if source is None or source.name in kept:
            continue
        padding = copy.output_padding if isinstance(copy, GemmOperator) else None
        assert padding is not None, "a source that is padded has one"
        writer = _writer(current, source)
        inside = Slice(padding.stored, source, padding.top, padding.left)
        others = [other for index, other in enumerate(current) if other is not None and index not in (at, writer)]
        readers = [other for other in others if any(tensor.name == source.name for tensor in other.sources)]
        if writer is None or not all(can_read(reader, inside) for reader in readers) or is_container(source, others):
            continue
        current = [reading(other, inside) if isinstance(other, GemmOperator) else other for other in current]
        current[writer], current[at] = _storing(current[writer], padding), None
        stored_by[at] = writer
    return PaddedResults(current, stored_by)


def _padded_source(operator: TileOperator | None) -> Tensor | None:
    """The tensor that an operator only pads, if that is what it does, and each has memory of its own."""
    if not isinstance(operator, GemmOperator) or operator.output_padding is None or operator.stored.container is not None:
        return None
    term = copied_term(operator)
    if term is None or term.padding != (0, 0) or term.source.container is not None:
        return None
    sizes = (term.source.height, term.source.width), (operator.output.height, operator.output.width)
    return term.source if sizes[0] == sizes[1] else None


def _writer(operators: _Operators, tensor: Tensor) -> int | None:
    """The place of the operator that stores a tensor, if it can do so inside a padding."""
    for at, operator in enumerate(operators):
        if operator is not None and operator.stored.name == tensor.name:
            return at if isinstance(operator, GemmOperator) and operator.output_padding is None else None
    return None


def _storing(operator: TileOperator | None, padding: OutputPadding) -> GemmOperator:
    assert isinstance(operator, GemmOperator)
    return replace(operator, output_padding=padding)
