"""A processor as the search sees it."""

from __future__ import annotations

from vta.autotune.auto.cpu.cost import figures_of
from vta.autotune.auto.cpu.limits import Limits
from vta.autotune.auto.cpu.plain import PlainSketch
from vta.autotune.auto.cpu.tiled import TiledSketch
from vta.autotune.auto.machine import Figures
from vta.autotune.auto.sketch import Choices, Sketch
from vta.autotune.auto.structure import heaviest, structure_of
from vta.host.loop.compute import Kernel
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Cache, Step
from vta.host.processors import CpuTarget
from vta.records.host.target import matches, target_text
from vta.support.dataclass import dataclass

__all__ = ["CpuMachine", "cpu_machine"]


class _Cached(Sketch):
    """A sketch of a kernel one of whose stages is computed into a buffer of its own first."""

    def __init__(self, inner: Sketch, cache: Cache) -> None:
        self._inner, self._cache = inner, cache
        self.name, self.knobs = f"cached {inner.name}", inner.knobs

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`."""
        return self._inner.problem(choices)

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        return (self._cache, *self._inner.steps(choices))


@dataclass(frozen=True)
class CpuMachine:
    """A processor, with what it has room for; see `Machine`."""

    target: CpuTarget
    limits: Limits
    text: str

    def matches(self, text: str) -> bool:
        """See `Machine.matches`."""
        return matches(text, self.target)

    def sketches(self, kernel: Kernel) -> tuple[Sketch, ...]:
        """Around the heaviest reduction, or each stage by itself."""
        structure = structure_of(kernel)
        if structure is not None:
            return (TiledSketch(structure, self.limits),)
        found: list[Sketch] = [PlainSketch(kernel, self.limits)]
        reduction = heaviest(kernel)
        if reduction is not None:
            cache = Cache(reduction.name, f"{reduction.name}.tile")
            inner = structure_of(scheduled(kernel, [cache]).kernel)
            found += [_Cached(TiledSketch(inner, self.limits), cache)] if inner is not None else []
        return tuple(found)

    def figures(self, program: Program) -> Figures | None:
        """See `Machine.figures`."""
        found = figures_of(program, self.limits)
        if found.written_out > self.limits.written_out * 2 or found.local_bytes > self.limits.local_bytes:
            return None
        return Figures(found.cycles, found.values)


def cpu_machine(target: CpuTarget, limits: Limits) -> CpuMachine:
    """A processor, which records call as it calls itself."""
    return CpuMachine(target, limits, target_text(target))
