"""What the multiplications of an operator take at least, and what the products beyond that are spent on."""

from __future__ import annotations

from collections import defaultdict

from vta.explanation.causes import Cause
from vta.schedule.term_work import term_work
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import TileOperator

__all__ = ["ProductSplit", "split_products"]


@dataclass(frozen=True)
class ProductSplit:
    """The cycles in which an operator's products are issued."""

    bound: int
    """Cycles that its multiply-accumulates take if every product is full."""
    lost: dict[Cause, int]
    """The others."""


def split_products(products: int, macs: int, operator: TileOperator | None, peak_macs: int) -> ProductSplit:
    """Split `products` cycles of an operator whose network has `macs`; the matrix unit does `peak_macs` in a cycle.

    Of an operator that is not known any more, None, all that is not full counts as padding of channels.
    """
    if not macs:
        return ProductSplit(0, {Cause.MOVES: products})
    scheduled = None if operator is None else operator.scheduled
    if scheduled is None:
        bound = min(products, -(-macs // peak_macs))
        return ProductSplit(bound, {Cause.CHANNEL_PADDING: products - bound})
    own, further = _terms(scheduled)
    least = sum(term_work(term, scheduled).products for term in own)
    nominal = scheduled.output.elements * sum(term.products_per_row for term in own)
    bound = min(products, -(-macs * min(least, nominal) // (peak_macs * nominal)))
    left = products - bound
    unfilled = min(left, max(0, least - bound))
    wide = min(left - unfilled, sum(term_work(term, scheduled).products for term in further))
    cause = Cause.DEPTHWISE if _is_grouped(own) else Cause.CHANNEL_PADDING
    return ProductSplit(bound, {cause: unfilled, Cause.WIDE_VALUES: wide, Cause.ZERO_PADDING: left - unfilled - wide})


def _terms(operator: GemmOperator) -> tuple[list[GemmTerm], list[GemmTerm]]:
    """The terms that the network multiplies by, the largest of each source, and what stands beside them for wider values."""
    by_source: dict[str, list[GemmTerm]] = defaultdict(list)
    for term in operator.terms:
        if not term.is_transfer:
            by_source[term.source.name].append(term)
    if not by_source:
        return [operator.main_term], []
    own = [max(terms, key=lambda term: term.products_per_row * term.taps) for terms in by_source.values()]
    return own, [term for terms in by_source.values() for term in terms if not any(term is one for one in own)]


def _is_grouped(terms: list[GemmTerm]) -> bool:
    return any(term.diagonal or term.groups > 1 for term in terms)
