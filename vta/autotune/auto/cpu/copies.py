"""Stages that are computed one value after the other: in vectors, along rows of what is written and of what is read."""

from __future__ import annotations

from collections.abc import Sequence

from vta.autotune.auto.structure import unit_axis
from vta.host.loop.compute import Axis, Stage
from vta.host.loop.expression import loads
from vta.host.loop.steps import Fuse, Parallel, Reorder, Split, Step, Transpose, Unroll, Vectorize
from vta.support.dataclass import dataclass

__all__ = ["Rows", "apart_steps", "inner_steps", "rows_of", "shared_steps"]


@dataclass(frozen=True)
class Rows:
    """The innermost loops of a stage."""

    splits: tuple[Step, ...]
    """That make them."""
    loops: tuple[str, ...]
    """In order."""
    kinds: tuple[Step, ...]
    """How they run, once they are in this order."""
    taken: tuple[str, ...]
    """The axes, or the loops that stand for these, of which they are made."""


def rows_of(stage: Stage, lanes: int, width: int = 1, turn: bool = True, loop_of: dict[str, str] | None = None) -> Rows:
    """Vectors along the last axis, `width` of them at a time.

    Where all that is read lies along another axis, squares of values are turned in registers if `turn`. `loop_of` names the loops
    that stand for axes.
    """
    if not stage.axes:
        return Rows((), (), (), ())
    name, named, last = stage.name, loop_of or {}, _last(stage)
    inner = named.get(last.name, last.name)
    along = _read_along(stage)
    other = along if turn and along is not None and along[0] != last.name else None
    if along is not None and along[0] == last.name and along[1]:
        lanes = along[1]
    splits: tuple[Step, ...] = ()
    kinds: tuple[Step, ...] = ()
    loops: tuple[str, ...] = (inner,)
    if last.extent > lanes:
        loops = (f"{last.name}.v", f"{last.name}.l")
        splits = (Split(name, inner, lanes, *loops),)
        if width > 1 and other is None and last.extent % lanes == 0:
            more = f"{last.name}.w", f"{last.name}.u"
            splits += (Split(name, loops[0], width, *more),)
            kinds, loops = (Unroll(name, more[1]),), (*more, loops[1])
    if other is None:
        return Rows(splits, loops, (*kinds, Vectorize(name, loops[-1])), (inner,))
    axis, size = other
    turned = named.get(axis, axis)
    block, item = f"{axis}.b", f"{axis}.i"
    *outer, vector = loops
    splits += (Split(name, turned, size or lanes, block, item),)
    return Rows(splits, (block, *outer, item, vector), (Transpose(name, item), Vectorize(name, vector)), (turned, inner))


def _last(stage: Stage) -> Axis:
    """The axis along which neighbours lie in what is written."""
    return next((axis for axis in reversed(stage.axes) if axis.extent > 1), stage.axes[-1])


def _read_along(stage: Stage) -> tuple[str, int] | None:
    """The axis, and the size of its blocks, along which all that is read lies."""
    found = {unit_axis(item) for item in loads(stage.value) if any(size > 1 for size in item.buffer.shape)}
    if len(found) != 1 or stage.reduce:
        return None
    (along,) = found
    return along if along is not None and any(axis.name == along[0] and axis.extent > 1 for axis in stage.axes) else None


def inner_steps(stage: Stage, lanes: int) -> tuple[Step, ...]:
    """The steps of a stage that is computed inside another."""
    rows = rows_of(stage, lanes)
    lead = [axis.name for axis in stage.axes if axis.name not in rows.taken]
    return (*rows.splits, Reorder(stage.name, (*lead, *rows.loops)), *rows.kinds)


def apart_steps(stage: Stage, lanes: int, width: int = 1, turn: bool = True) -> tuple[Step, ...]:
    """The steps of a stage that is computed by itself: threads share the outer loops, but not the one around rows."""
    if stage.reduce:
        return _reduction_steps(stage, lanes)
    rows = rows_of(stage, lanes, width, turn)
    lead = [axis.name for axis in stage.axes if axis.name not in rows.taken]
    shared = shared_steps(stage.name, lead[:-1] or lead)
    return (*rows.splits, Reorder(stage.name, (*lead, *rows.loops)), *rows.kinds, *shared)


def shared_steps(stage: str, loops: Sequence[str]) -> tuple[Step, ...]:
    """The outermost loops of a stage as one that threads share; none of them may have a rest."""
    if not loops:
        return ()
    steps: list[Step] = []
    last = loops[0]
    for loop in loops[1:]:
        steps.append(Fuse(stage, last, loop, f"{last}+{loop}"))
        last = f"{last}+{loop}"
    return (*steps, Parallel(stage, last))


def _reduction_steps(stage: Stage, lanes: int) -> tuple[Step, ...]:
    """Vectors along the last axis where it fills them and all reads lie along it; else one value after the other."""
    names = [axis.name for axis in stage.axes]
    along = {unit_axis(item) for item in loads(stage.value)}
    if not names or stage.axes[-1].extent % lanes or along != {(names[-1], 0)}:
        return shared_steps(stage.name, names)
    rows = rows_of(stage, lanes, turn=False)
    *outer, vector = rows.loops
    order = (*names[:-1], *outer, *(axis.name for axis in stage.reduce), vector)
    return (*rows.splits, Reorder(stage.name, order), *rows.kinds, *shared_steps(stage.name, names[:-1]))
