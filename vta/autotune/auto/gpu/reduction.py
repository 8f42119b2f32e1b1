"""The stages of a kernel as tiles of a reduction see them: what is summed up, what that reads, and who reads the sums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod

import numpy as np

from vta.autotune.auto.structure import heaviest
from vta.host.gpu.schedule import cheap_stages
from vta.host.loop.affine import affine_of
from vta.host.loop.compute import Axis, Kernel, Stage
from vta.host.loop.expression import Binary, Cast, Const, Expr, Load, Var, loads, map_expression, walk
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Cache, CacheRead, Inline, Part, Step
from vta.support.dataclass import dataclass

__all__ = ["Reduction", "Source", "parted", "read_through", "reduction_of"]

_MOST_TILED = 3
"""Axes that threads of a block are told apart by."""
_WORDS = ("float32", "int32")


@dataclass(frozen=True)
class Source:
    """Something that a reduction reads."""

    name: str
    """Of the buffer."""
    stage: bool
    """Whether a stage computes it for the reduction alone."""
    cheap: bool
    """Whether it may as well be computed, or read, anew each time."""
    dimensions: tuple[tuple[tuple[str, int], ...], ...]
    """Of each index: the axes of the reduction, and the factors that they count with."""
    item_bytes: int
    copied: bool
    """Whether neighbours can be copied together."""
    groups: tuple[tuple[str, int], ...] = ()
    """Axes of the reduction of which only the quotient by a number counts, as those of outputs that read a group of channels."""

    def bytes_of(self, extents: Mapping[str, int]) -> int:
        """What is read of it where the axes have some extents."""
        return self.item_bytes * prod(
            1 + sum(abs(factor) * (extents[axis] - 1) for axis, factor in terms) for terms in self.dimensions
        )


@dataclass(frozen=True)
class Reduction:
    """The heaviest reduction of a kernel, and the one stage that reads it."""

    first: tuple[Step, ...]
    """What is done before: cheap stages are computed where they are read."""
    main: Stage
    out: Stage
    """The kernel's output, which reads each sum at its own place, or a place more or less of those axes that have one value."""
    axes: dict[str, str]
    """The axes of `out` by those of the reduction, those with one value left out."""
    sources: tuple[Source, ...]
    others: tuple[Stage, ...]
    """Stages that are computed by themselves."""
    dot: str
    """The axis of a dot product of bytes; empty if there is none."""

    @property
    def tiled(self) -> tuple[Axis, ...]:
        """The axes of `out` along which blocks are cut, the last ones."""
        return tuple(axis for axis in self.out.axes if axis.extent > 1)[-_MOST_TILED:]

    @property
    def sums(self) -> tuple[Axis, ...]:
        """The axes of the reduction that can be cut."""
        return tuple(axis for axis in self.main.reduce if axis.extent > 1 and axis.name != self.dot)


def reduction_of(kernel: Kernel) -> Reduction | None:
    """What can be tiled of a kernel; None where its heaviest reduction is not read by its output alone, place by place."""
    main = heaviest(kernel)
    if main is None or main is kernel.stages[-1]:
        return None
    feeding = {stage.name for stage in kernel.stages if kernel.readers(stage) == [main] and not stage.reduce}
    first = tuple(Inline(name) for name in cheap_stages(kernel) if name not in feeding)
    left = scheduled(kernel, first).kernel
    main, out = left.stage(main.name), left.stages[-1]
    axes = _same_axes(main, out)
    if out.reduce or left.readers(main) != [out] or axes is None or not any(axis.extent > 1 for axis in out.axes):
        return None
    sources = _sources(left, main, feeding)
    if sources is None:
        return None
    own = {main.name, out.name, *(source.name for source in sources if source.stage)}
    others = tuple(stage for stage in left.stages if stage.name not in own)
    return Reduction(first, main, out, axes, sources, others, _dot(main))


def _same_axes(main: Stage, out: Stage) -> dict[str, str] | None:
    """The axes of what reads sums by those of these, where each sum is read at its place."""
    mine, theirs = ([axis for axis in stage.axes if axis.extent > 1] for stage in (main, out))
    if [axis.extent for axis in mine] != [axis.extent for axis in theirs]:
        return None
    named = {one.name: other.name for one, other in zip(mine, theirs, strict=True)}
    for place in out.reads():
        if place.buffer is not main.output:
            continue
        for axis, position in zip(main.axes, place.indices, strict=True):
            if axis.extent > 1 and position != Var(named[axis.name]):
                return None
    return named


def _sources(kernel: Kernel, main: Stage, feeding: set[str]) -> tuple[Source, ...] | None:
    """What a reduction reads; None where a place is no sum of axes, or one buffer is read at two places."""
    found: dict[str, Source] = {}
    cheap = set(cheap_stages(kernel))
    for place in loads(main.value):
        groups: dict[str, tuple[str, int]] = {}
        dimensions = [affine_of(map_expression(position, partial(_named, groups))) for position in place.indices]
        name = place.buffer.name
        if name in found or any(part is None for part in dimensions):
            return None
        stage = kernel.stage(name) if name in feeding else None
        factors = [part.factors.items() for part in dimensions if part is not None]
        terms = tuple(tuple(term for term in some if term[0] not in groups) for some in factors)
        copied = place.buffer.dtype in _WORDS and (stage is None or isinstance(stage.value, Load))
        item = np.dtype(place.buffer.dtype).itemsize
        is_cheap = stage is None or name in cheap
        found[name] = Source(name, stage is not None, is_cheap, terms, item, copied, tuple(groups.values()))
    return tuple(found.values())


def _named(groups: dict[str, tuple[str, int]], node: Expr) -> Expr | None:
    """A quotient of an axis as a variable of its own, which `groups` then has."""
    match node:
        case Binary(operation="floordiv", left=Var(name=name), right=Const(value=size)):
            groups[str(node)] = (name, int(size))
            return Var(str(node))
        case _:
            return None


def _dot(stage: Stage) -> str:
    """The axis of four products of bytes that lie beside each other."""
    last = stage.reduce[-1]
    match stage.value:
        case Binary("mul", Cast(Load() as left, "int32"), Cast(Load() as right, "int32")):
            kinds = left.buffer.dtype == right.buffer.dtype == "int8"
            if kinds and stage.combine == "add" and last.extent == 4 and all(_ends_with(item, last) for item in (left, right)):
                return last.name
    return ""


def _ends_with(place: Load, axis: Axis) -> bool:
    *others, end = place.indices
    return end == axis.var and not any(node == axis.var for position in others for node in walk(position))


def parted(reduction: Reduction, axis: str, count: int) -> tuple[tuple[Step, ...], str, str]:
    """Steps that cut a reduction into parts, the name of the stage that keeps the parts, and of the one that sums them up."""
    name = reduction.main.name
    parts, sums = f"{name}.parts", f"{name}.part"
    return (Part(name, axis, count, parts), Cache(parts, sums)), parts, sums


def read_through(stage: str, source: str) -> CacheRead:
    """The step by which a stage reads a buffer through a copy."""
    return CacheRead(stage, source, f"{source}.copy")
