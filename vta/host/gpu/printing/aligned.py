"""Whether loops go through neighbors in memory."""

from __future__ import annotations

from vta.host.loop.affine import Affine, affine_of
from vta.host.loop.expression import Binary, Expr
from vta.host.loop.nest import Loop

__all__ = ["is_aligned"]


def is_aligned(position: Expr, loop: Loop) -> bool:
    """Whether a loop goes through neighbours, from a multiple of their number on."""
    affine = affine_of(position)
    if affine is None:
        return _rest_is_multiple(position, loop)
    others = {name: factor for name, factor in affine.factors.items() if name != loop.variable}
    return affine.factors.get(loop.variable) == 1 and all(part % loop.extent == 0 for part in (affine.constant, *others.values()))


def _rest_is_multiple(position: Expr, loop: Loop) -> bool:
    """The same of a sum some of whose terms are no sums of variables, but multiples of a number."""
    match position:
        case Binary("add", left, right):
            return any(_is_multiple(one, loop) and is_aligned(two, loop) for one, two in ((left, right), (right, left)))
        case _:
            return False


def _is_multiple(expression: Expr, loop: Loop) -> bool:
    match expression:
        case Binary("mul", _, right):
            found = affine_of(right)
            return (found is not None and not found.factors and found.constant % loop.extent == 0) or _multiple_affine(
                expression, loop
            )
        case Binary("add", left, right):
            return _is_multiple(left, loop) and _is_multiple(right, loop)
        case _:
            return _multiple_affine(expression, loop)


def _multiple_affine(expression: Expr, loop: Loop) -> bool:
    found: Affine | None = affine_of(expression)
    return (
        found is not None
        and loop.variable not in found.factors
        and all(part % loop.extent == 0 for part in (found.constant, *found.factors.values()))
    )
