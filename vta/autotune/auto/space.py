"""All schedules of a kernel that its sketches allow, as genomes that can be drawn, changed and mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from vta.autotune.auto.machine import Figures, Machine
from vta.autotune.auto.sketch import Choice, Sketch
from vta.host.loop.compute import Kernel
from vta.host.loop.errors import LoopError
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Step
from vta.support.dataclass import dataclass

__all__ = ["Genome", "Made", "ScheduleSpace"]

_ATTEMPTS = 64
_RETRIES = 400


@dataclass(frozen=True)
class Genome:
    """A schedule as what was chosen: the sketch, and which option of each knob."""

    sketch: str
    genes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Made:
    """A schedule, and what is known of it without running it."""

    genome: Genome
    steps: tuple[Step, ...]
    program: Program
    figures: Figures


class ScheduleSpace:
    """The schedules of a kernel. What was made once is kept."""

    def __init__(self, kernel: Kernel, machine: Machine) -> None:
        self.kernel = kernel
        self._machine = machine
        self.sketches: Mapping[str, Sketch] = {sketch.name: sketch for sketch in machine.sketches(kernel)}
        self._made: dict[Genome, Made | None] = {}

    @property
    def size(self) -> int:
        """How many genomes there are, those that do not fit among them."""
        return sum(sketch.size for sketch in self.sketches.values())

    def choices(self, genome: Genome) -> dict[str, Choice]:
        """What a genome says of each knob."""
        knobs = self.sketches[genome.sketch].knobs
        return {knob.name: knob.options[gene] for knob, gene in zip(knobs, genome.genes, strict=True)}

    def genome(self, sketch: str, choices: Mapping[str, Choice]) -> Genome | None:
        """The genome of choices; None where the sketches have them no more."""
        if sketch not in self.sketches:
            return None
        genes = []
        for knob in self.sketches[sketch].knobs:
            if choices.get(knob.name) not in knob.options:
                return None
            genes.append(knob.options.index(choices[knob.name]))
        return Genome(sketch, tuple(genes))

    def hinted(self, hint: Mapping[str, Choice]) -> Genome | None:
        """A genome that is as a hint says of some knobs, and of the others has the first choice; None where none fits."""
        for sketch in self.sketches.values():
            if any(name not in {knob.name for knob in sketch.knobs} for name in hint):
                continue
            found = self.genome(sketch.name, {knob.name: hint.get(knob.name, knob.options[0]) for knob in sketch.knobs})
            if found is not None and self.fits(found):
                return found
        return None

    def random(self, rng: np.random.Generator, rounds: int = 1) -> Genome | None:
        """The most hopeful of `rounds` genomes of one sketch at random that fit; None where none was found."""
        names = list(self.sketches)
        weights = np.log2([1 + sketch.size for sketch in self.sketches.values()])
        sketch = self.sketches[names[int(rng.choice(len(names), p=weights / weights.sum()))]]
        drawn = [genome for _ in range(rounds) if (genome := self._drawn(sketch, rng)) is not None]
        return min(drawn, key=lambda genome: sketch.guess(self.choices(genome)), default=None)

    def _drawn(self, sketch: Sketch, rng: np.random.Generator) -> Genome | None:
        for _ in range(_RETRIES):
            found = Genome(sketch.name, sketch.drawn(rng))
            if self.fits(found):
                return found
        return None

    def mutated(self, genome: Genome, rng: np.random.Generator) -> Genome:
        """The genome with a choice or two changed, of numbers often to a neighbor; itself where nothing fits."""
        knobs = self.sketches[genome.sketch].knobs
        open_ones = [at for at, knob in enumerate(knobs) if len(knob.options) > 1]
        for _ in range(_ATTEMPTS if open_ones else 0):
            genes = list(genome.genes)
            for _ in range(1 + int(rng.integers(2))):
                at = open_ones[int(rng.integers(len(open_ones)))]
                count = len(knobs[at].options)
                near = isinstance(knobs[at].options[0], int) and rng.random() < 0.5
                genes[at] = int(np.clip(genes[at] + rng.choice([-1, 1]), 0, count - 1)) if near else int(rng.integers(count))
            found = replace(genome, genes=tuple(genes))
            if found != genome and self.fits(found):
                return found
        return genome

    def crossed(self, first: Genome, second: Genome, rng: np.random.Generator) -> Genome:
        """A mix of two; the first where they have no sketch in common, or no mix fits."""
        if first.sketch != second.sketch:
            return first
        for _ in range(_ATTEMPTS):
            taken = rng.random(len(first.genes)) < 0.5
            genes = tuple(a if own else b for a, b, own in zip(first.genes, second.genes, taken, strict=True))
            found = replace(first, genes=genes)
            if self.fits(found):
                return found
        return first

    def fits(self, genome: Genome) -> bool:
        """Whether the machine has room for it, as far as that is known before it is made."""
        return not self.sketches[genome.sketch].problem(self.choices(genome))

    def make(self, genome: Genome) -> Made | None:
        """The schedule of a genome; None where it is not legal after all."""
        if genome not in self._made:
            self._made[genome] = self._make(genome)
        return self._made[genome]

    def _make(self, genome: Genome) -> Made | None:
        steps = self.sketches[genome.sketch].steps(self.choices(genome))
        try:
            program = lower(scheduled(self.kernel, steps))
        except LoopError:
            return None
        figures = self._machine.figures(program)
        return None if figures is None else Made(genome, steps, program, figures)

    def make_all(self, genomes: Sequence[Genome]) -> list[Made]:
        """Those of some genomes that are legal."""
        return [made for genome in dict.fromkeys(genomes) if (made := self.make(genome)) is not None]
