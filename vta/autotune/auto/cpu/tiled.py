"""The sketch around a reduction: tiles of its results in registers, inside tiles whose data stay in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

import numpy as np

from vta.autotune.auto.cpu.copies import apart_steps, inner_steps, rows_of, shared_steps
from vta.autotune.auto.cpu.limits import Limits
from vta.autotune.auto.sketch import WHOLE, Choices, Knob, Sketch, divisors, number_of, order_of, orders, part_of
from vta.autotune.auto.structure import Structure, Unit, has_byte_products
from vta.host.loop.compute import Axis
from vta.host.loop.expression import Load, Var, loads, walk
from vta.host.loop.steps import ComputeAt, Dot, Part, Reorder, Split, Step, Unroll, Vectorize
from vta.support.dataclass import dataclass

__all__ = ["TiledSketch"]

_APART, _SHARED, _OUTER, _INSIDE = "apart", "shared", "outer", "inside"
_STEPS = (1, 2, 4)
_LATENCY = 4.0
"""Cycles until a sum can take the next product."""


@dataclass(frozen=True)
class _Tiled:
    """An axis of the reader that is cut into tiles."""

    name: str
    count: int
    """How many values it has, or vectors of them."""
    lanes: int
    """Values of a vector, for the axis along which vectors lie; else 1."""


class TiledSketch(Sketch):
    """A reduction whose results are computed a tile at a time, inside what reads them.

    Of each axis there is a tile in registers (``tile.AXIS``) inside one that threads share (``outer.AXIS``). Loops over these
    have an order each. The reduction has an order, some loops of it are written out, and it may be parted: then the sums of a
    larger tile wait in memory while a part of the products is added to each. What feeds it is computed by itself or for a tile,
    and so are results that are put into another layout.
    """

    name = "tiled"

    def __init__(self, structure: Structure, limits: Limits) -> None:
        self.limits = limits
        self.structure = structure
        self._lanes = limits.lanes(_item_bytes(structure.main.output.dtype))
        self._dot = has_byte_products(structure.main)
        *_, last = structure.reader.axes
        self._vector = last
        self._tiled = tuple(item for axis in structure.reader.axes if (item := self._cut(axis)).count > 1)
        self._whole = tuple(axis.name for axis in structure.reader.axes if self._cut(axis).count == 1 and axis is not last)
        self._main = {axis.name: other.name for axis, other in zip(structure.reader.axes, structure.main.axes, strict=True)}
        self._reduce = tuple(axis.name for axis in structure.main.reduce if axis.extent > 1 and axis is not self._dot)
        self._read_axes = tuple(map(self._axes_of, loads(structure.main.value)))
        self.knobs = tuple(self._knobs())

    def _cut(self, axis: Axis) -> _Tiled:
        if axis is not self._vector:
            return _Tiled(axis.name, axis.extent, 1)
        # A vector that is not full is one all the same.
        return _Tiled(axis.name, ceil(axis.extent / self._lanes), self._lanes if axis.extent > self._lanes else 1)

    def _axes_of(self, place: Load) -> tuple[str, ...]:
        """The axes that a load of the reduction moves with, as the reader calls them."""
        names = {node.name for position in place.indices for node in walk(position) if isinstance(node, Var)}
        return tuple(axis.name for axis in self._tiled if self._main[axis.name] in names)

    def _knobs(self) -> list[Knob]:
        structure, most = self.structure, self.limits.registers
        knobs = []
        for axis in self._tiled:
            small = tuple(range(1, min(axis.count, most) + 1))
            knobs.append(Knob(f"tile.{axis.name}", tuple(dict.fromkeys((*small, *divisors(axis.count, most))))))
            knobs.append(Knob(f"outer.{axis.name}", divisors(axis.count)))
        names = [axis.name for axis in self._tiled]
        knobs += [Knob("outer", orders(names)), Knob("middle", orders(names)), Knob("sums", orders(self._reduce))]
        knobs.append(Knob("inner", orders(names)))
        knobs.append(Knob("unroll", tuple(range(min(3, len(self._reduce)) + 1))))
        knobs.append(Knob("step", _STEPS))
        knobs.append(Knob("shared", tuple(range(1, len(names) + 1)) or (0,)))
        parts = [
            (axis.name, count)
            for axis in structure.main.reduce
            if axis.name in self._reduce
            for count in divisors(axis.extent)[:-1]
        ]
        knobs.append(Knob("part", (WHOLE, *parts)))
        knobs += [Knob(f"at.{stage.name}", (_APART, _SHARED, _OUTER)) for stage in structure.producers]
        if structure.turned is not None:
            known = all(axis.name in structure.units for axis in self._tiled)
            knobs.append(Knob("turn", (_INSIDE, _APART) if known else (_APART,)))
        return knobs

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`."""
        sums = prod(number_of(choices, f"tile.{axis.name}") for axis in self._tiled)
        if sums + 2 > self.limits.registers:
            return "the registers"
        if any(number_of(choices, f"tile.{axis.name}") > number_of(choices, f"outer.{axis.name}") for axis in self._tiled):
            return "a tile larger than the one around it"
        rests = sum(
            number_of(choices, f"outer.{axis.name}") % number_of(choices, f"tile.{axis.name}") > 0 for axis in self._tiled
        )
        if rests > 1:
            return "tiles that leave rests along several axes"
        if sums * self._written_out(choices) * 2**rests > self.limits.written_out:
            return "the length of the code"
        return ""

    def guess(self, choices: Choices) -> float:
        """See `Sketch.guess`: loads, products and waiting for each of the sums in registers."""
        sizes = {axis.name: number_of(choices, f"tile.{axis.name}") for axis in self._tiled}
        sums = prod(sizes.values())
        loads = sum(prod(sizes[name] for name in names) for names in self._read_axes)
        step = max(sums / 2, loads / 2, _LATENCY)
        whole = prod(ceil(axis.count / sizes[axis.name]) * sizes[axis.name] / axis.count for axis in self._tiled)
        return (step + 1) / sums * whole

    def _written_out(self, choices: Choices) -> int:
        """Steps of the reduction that are written out."""
        extents = self._reduce_extents(choices)
        order = order_of(choices, "sums")
        unrolled = order[len(order) - number_of(choices, "unroll") :]
        if unrolled:
            return prod(extents[name] for name in unrolled)
        return number_of(choices, "step") if self._steps_fit(choices) else 1

    def _steps_fit(self, choices: Choices) -> bool:
        order = order_of(choices, "sums")
        step = number_of(choices, "step")
        return bool(order) and step > 1 and self._reduce_extents(choices)[order[-1]] % step == 0

    def _reduce_extents(self, choices: Choices) -> dict[str, int]:
        part, count = part_of(choices)
        return {axis.name: count if axis.name == part else axis.extent for axis in self.structure.main.reduce}

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        return _Plan(self, choices).steps()

    @property
    def lanes(self) -> int:
        """Values of the sums' type in a register."""
        return self._lanes

    @property
    def tiled(self) -> tuple[_Tiled, ...]:
        """The axes that are cut into tiles."""
        return self._tiled

    @property
    def whole(self) -> tuple[str, ...]:
        """Those that have one value, but for the one of vectors."""
        return self._whole

    @property
    def vector(self) -> str:
        """The axis along which vectors lie."""
        return self._vector.name

    @property
    def main_axes(self) -> dict[str, str]:
        """The axes of the reduction by those of what reads it."""
        return self._main

    @property
    def dot(self) -> str:
        """The axis that dot products of bytes take; empty if none does."""
        return self._dot.name if self._dot is not None else ""

    def steps_fit(self, choices: Choices) -> bool:
        """Whether the innermost loop of the reduction can be written out a few steps at a time."""
        return self._steps_fit(choices)


@dataclass(frozen=True)
class _Plan:
    """One schedule of a `TiledSketch`."""

    sketch: TiledSketch
    choices: Choices

    def steps(self) -> tuple[Step, ...]:
        """All steps, in an order in which they can be applied."""
        structure, lanes = self.sketch.structure, self.sketch.lanes
        part, count = part_of(self.choices)
        main, reader = structure.main.name, structure.reader.name
        products = f"{main}.part" if part else main
        base, attach, base_steps, shared = self.base()
        steps: list[Step] = [Part(main, part, count, products)] if part else []
        steps += base_steps
        inside = base != reader
        if inside:
            steps += [*self.tile_steps(reader, {}), ComputeAt(reader, base, attach)]
        if part:
            steps += self.tile_steps(main, self.sketch.main_axes, (products,))
            steps += self.attached(main, base, attach)
            steps += [*self.product_steps(products), *self.attached(products, main, self.tile_loop())]
        else:
            at = self.tile_loop()
            steps += [*self.product_steps(main), *self.attached(main, reader, at or (attach if not inside else ""))]
        for stage in structure.producers:
            place = {_SHARED: shared, _OUTER: attach}.get(str(self.choices[f"at.{stage.name}"]), "")
            own = inner_steps(stage, lanes) if place else apart_steps(stage, lanes)
            steps += [*own, *self.attached(stage.name, base, place)]
        others = [*structure.others, *([structure.turned] if structure.turned is not None and not inside else [])]
        return (*steps, *(step for stage in others for step in apart_steps(stage, lanes)))

    def attached(self, stage: str, reader: str, loop: str) -> list[Step]:
        """Where a stage is computed; by itself without a loop."""
        return [ComputeAt(stage, reader, loop)] if loop else []

    def tile_loop(self) -> str:
        """The innermost of the loops over tiles in registers."""
        order = order_of(self.choices, "middle")
        return f"{order[-1]}.m" if order else (self.sketch.whole[-1] if self.sketch.whole else "")

    def base(self) -> tuple[str, str, list[Step], str]:
        """The stage with the outer loops; the innermost of these, their steps, and the loop that threads share."""
        structure = self.sketch.structure
        if structure.turned is not None and self.choices["turn"] == _INSIDE:
            return self.turned_base()
        reader = structure.reader.name
        steps: list[Step] = []
        ragged = []
        for axis in self.sketch.tiled:
            size = number_of(self.choices, f"outer.{axis.name}") * axis.lanes
            steps.append(Split(reader, axis.name, size, f"{axis.name}.o", f"{axis.name}.t"))
            ragged += [axis.name] if _extent(structure.reader.axes, axis.name) % size else []
        outer = self.outer_order(ragged)
        loops = [f"{name}.o" for name in outer]
        attach, whole = self.attach_loop(loops)
        inner = {axis.name: f"{axis.name}.t" for axis in self.sketch.tiled}
        steps += self.tile_steps(reader, inner, (*loops, *whole))
        shared = self.shared(reader, loops, len(ragged))
        return reader, self.renamed(attach, shared), [*steps, *shared], _shared_loop(shared)

    def attach_loop(self, loops: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """The innermost loop outside of tiles, and the loops of one value, which are put there."""
        whole = self.sketch.whole
        return (whole[-1] if whole else loops[-1] if loops else ""), whole

    def renamed(self, loop: str, shared: Sequence[Step]) -> str:
        """A loop, or the one that it became a part of."""
        fused = _shared_loop(shared)
        return fused if loop and loop in fused.split("+") else loop

    def outer_order(self, ragged: Sequence[str]) -> list[str]:
        """Those whose blocks leave a rest last: threads cannot share them."""
        order = list(order_of(self.choices, "outer"))
        return [name for name in order if name not in ragged] + [name for name in order if name in ragged]

    def shared(self, stage: str, loops: Sequence[str], ragged: int) -> tuple[Step, ...]:
        """The steps that let threads share the first loops."""
        count = min(number_of(self.choices, "shared"), len(loops) - ragged)
        return shared_steps(stage, loops[:count]) if count > 0 else ()

    def tile_steps(self, stage: str, loop_of: dict[str, str], before: Sequence[str] = ()) -> list[Step]:
        """Loops over tiles in registers, and these, behind the loops `before`; `loop_of` says what axes are called by now."""
        steps: list[Step] = []
        order = order_of(self.choices, "middle")
        vector = self.sketch.vector
        registers = {}
        for axis in self.sketch.tiled:
            size = number_of(self.choices, f"tile.{axis.name}") * axis.lanes
            steps.append(Split(stage, loop_of.get(axis.name, axis.name), size, f"{axis.name}.m", f"{axis.name}.r"))
            registers[axis.name] = f"{axis.name}.r"
            if axis.name == vector:
                steps.append(Split(stage, f"{vector}.r", axis.lanes, f"{vector}.u", f"{vector}.l"))
                registers[vector] = f"{vector}.u"
        lane = f"{vector}.l" if vector in registers else loop_of.get(vector, vector)
        whole = [loop_of.get(name, name) for name in self.sketch.whole]
        whole = [name for name in whole if name not in before]
        inner = [registers[name] for name in order_of(self.choices, "inner")]
        loops = (*before, *(f"{name}.m" for name in order), *whole, *inner, lane)
        return [*steps, Reorder(stage, loops), *(Unroll(stage, loop) for loop in inner), Vectorize(stage, lane)]

    def product_steps(self, stage: str) -> list[Step]:
        """A tile in registers inside the reduction."""
        steps: list[Step] = []
        sketch = self.sketch
        named = sketch.main_axes
        vector = named[sketch.vector]
        last = next((axis for axis in sketch.tiled if axis.name == sketch.vector), None)
        spatial = [named[name] for name in order_of(self.choices, "inner")]
        whole = [named[name] for name in sketch.whole]
        lane = vector
        if last is not None:
            steps.append(Split(stage, vector, last.lanes, f"{vector}.u", f"{vector}.l"))
            spatial[spatial.index(vector)] = f"{vector}.u"
            lane = f"{vector}.l"
        order = list(order_of(self.choices, "sums"))
        single = [axis.name for axis in sketch.structure.main.reduce if axis.name not in order and axis.name != sketch.dot]
        unrolled = order[len(order) - number_of(self.choices, "unroll") :]
        if not unrolled and sketch.steps_fit(self.choices):
            *order, inner = order
            steps.append(Split(stage, inner, number_of(self.choices, "step"), f"{inner}.m", f"{inner}.s"))
            order += [f"{inner}.m", f"{inner}.s"]
            unrolled = [f"{inner}.s"]
        dots = [sketch.dot] if sketch.dot else []
        parts = [stage] if part_of(self.choices)[0] else []
        steps.append(Reorder(stage, (*parts, *single, *order, *whole, *spatial, lane, *dots)))
        steps += [Unroll(stage, loop) for loop in (*unrolled, *spatial)]
        return [*steps, Vectorize(stage, lane), *(Dot(stage, loop) for loop in dots)]

    def turned_base(self) -> tuple[str, str, list[Step], str]:
        """Outer loops over the output, into which results are put from the reader's layout."""
        structure = self.sketch.structure
        turned = structure.turned
        assert turned is not None
        steps: list[Step] = []
        named: dict[str, str] = {}
        ragged = []
        for axis in self.sketch.tiled:
            unit = structure.units.get(axis.name, Unit(""))
            size = number_of(self.choices, f"outer.{axis.name}") * unit.size * axis.lanes
            steps.append(Split(turned.name, unit.axis, size, f"{unit.axis}.o", f"{unit.axis}.t"))
            named[unit.axis] = f"{unit.axis}.t"
            ragged += [axis.name] if _extent(turned.axes, unit.axis) % size else []
        outer = self.outer_order(ragged)
        loops = [f"{structure.units[name].axis}.o" for name in outer]
        rows = rows_of(turned, self.sketch.lanes, loop_of=named)
        lead = [named.get(axis.name, axis.name) for axis in turned.axes]
        lead = [loop for loop in lead if loop not in rows.taken]
        single = [loop for loop in lead if loop not in named.values()]
        inner = [loop for loop in lead if loop in named.values()]
        attach = single[-1] if single else loops[-1] if loops else ""
        steps += [*rows.splits, Reorder(turned.name, (*loops, *single, *inner, *rows.loops)), *rows.kinds]
        shared = self.shared(turned.name, loops, len(ragged))
        return turned.name, self.renamed(attach, shared), [*steps, *shared], _shared_loop(shared)


def _shared_loop(steps: Sequence[Step]) -> str:
    """The loop that threads share; empty where there is none."""
    return getattr(steps[-1], "loop", "") if steps else ""


def _item_bytes(dtype: str) -> int:
    return np.dtype(dtype).itemsize


def _extent(axes: Sequence[Axis], name: str) -> int:
    return next(axis.extent for axis in axes if axis.name == name)
