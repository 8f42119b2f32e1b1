"""The sketch of rows: what is found of a row, such as its sum, and what is made of it stay in memory that a block shares."""

from __future__ import annotations

from collections.abc import Sequence

from vta.autotune.auto.sketch import Choices, Knob, Sketch, number_of
from vta.host.gpu.schedule import cheap_stages
from vta.host.gpu.tiling import fetch_steps
from vta.host.loop.compute import Axis, Kernel, Stage
from vta.host.loop.expression import Var, walk
from vta.host.loop.grid import GridLimits
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Bind, ComputeAt, Fuse, Inline, Part, Reorder, Share, Split, Step
from vta.support.dataclass import dataclass

__all__ = ["RowSketch", "Rows", "rows_of"]

_THREADS = (32, 64, 128, 256, 512, 1024)
_ROWS = (1, 2, 4, 8, 16)
_PARTS = (1, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Rows:
    """A kernel whose output has elements along a row of which reductions find something, one value for all of them."""

    first: tuple[Step, ...]
    """What is done before: cheap stages are computed where they are read."""
    stages: tuple[Stage, ...]
    """All but the output."""
    out: Stage
    row: tuple[Axis, ...]
    """Axes of the output along which what was found is the same."""

    @property
    def lead(self) -> tuple[Axis, ...]:
        """The other axes: rows are told apart by them."""
        return tuple(axis for axis in self.out.axes if axis not in self.row)


def rows_of(kernel: Kernel) -> Rows | None:
    """The rows of a kernel; None where its output reads no reduction, or each of its elements another value of it."""
    first = tuple(Inline(name) for name in cheap_stages(kernel))
    *stages, out = scheduled(kernel, first).kernel.stages
    found = {stage.output for stage in stages if stage.reduce}
    places = [item for item in out.reads() if item.buffer in found]
    apart = {node.name for item in places for position in item.indices for node in walk(position) if isinstance(node, Var)}
    row = tuple(axis for axis in out.axes if axis.extent > 1 and axis.name not in apart)
    if out.reduce or not places or not row or len(row) == len(out.axes):
        return None
    return Rows(first, tuple(stages), out, row)


class RowSketch(Sketch):
    """Blocks of `rows` rows, for which `threads` threads compute one stage after the other; reductions in `parts` first."""

    name = "rows"

    def __init__(self, rows: Rows, limits: GridLimits) -> None:
        self._rows = rows
        self._limits = limits
        self._last = max(rows.lead, key=lambda axis: (axis.extent > 1, rows.lead.index(axis)))
        """The axis of which a block has some."""
        threads = tuple(count for count in _THREADS if count <= limits.threads)
        each = tuple(count for count in _ROWS if count <= self._last.extent)
        self.knobs = (Knob("threads", threads or (limits.threads,)), Knob("rows", each), Knob("parts", _PARTS))

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`: what is too large is found when a schedule is made."""
        return ""

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        threads, most = number_of(choices, "threads"), number_of(choices, "parts")
        parts = [step for stage in self._rows.stages if (step := _part(stage, most)) is not None]
        block, steps = self._out_steps(number_of(choices, "rows"), threads)
        held = [(stage.name, [axis.name for axis in stage.axes]) for stage in self._rows.stages]
        axes = {stage.name: [axis.name for axis in stage.axes] for stage in self._rows.stages}
        held += [(part.name, [part.name, *axes[part.stage]]) for part in parts]
        for name, own in held:
            steps += [ComputeAt(name, self._rows.out.name, block), Share(name), *fetch_steps(name, own, [threads])]
        return (*self._rows.first, *parts, *steps)

    def _out_steps(self, rows: int, threads: int) -> tuple[str, list[Step]]:
        """The loop over blocks, and the steps of the output."""
        name, last = self._rows.out.name, self._last.name
        lead = [axis.name for axis in self._rows.lead if axis.name != last]
        own = [axis.name for axis in self._rows.row]
        steps: list[Step] = []
        if rows > 1:
            steps.append(Split(name, last, rows, "rows", "each", guard=True))
            last, own = "rows", ["each", *own]
        steps.append(Reorder(name, (*lead, last, *own)))
        block = _fused(name, [*lead, last], steps)
        return block, [*steps, *fetch_steps(name, own, [threads]), Bind(name, block, "blockIdx.x")]


def _fused(name: str, loops: Sequence[str], steps: list[Step]) -> str:
    block, *others = loops
    for loop in others:
        steps.append(Fuse(name, block, loop, f"{block}_{loop}"))
        block = f"{block}_{loop}"
    return block


def _part(stage: Stage, most: int) -> Part | None:
    """The step that cuts a reduction into so many parts at most, of more than one value each."""
    if not stage.reduce:
        return None
    longest = max(stage.reduce, key=lambda axis: axis.extent)
    parts = max(count for count in range(1, min(longest.extent, most) + 1) if longest.extent % count == 0)
    return Part(stage.name, longest.name, longest.extent // parts, f"{stage.name}.parts") if parts > 1 else None
