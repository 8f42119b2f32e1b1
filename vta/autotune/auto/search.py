"""The search for one kernel: draft schedules by the analytic model, verify them by one that learned, time the few best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from vta.autotune.auto.sketch import Choice
from vta.autotune.auto.space import Genome, Made, ScheduleSpace
from vta.autotune.tuners.cost_model import CostModel
from vta.support.dataclass import dataclass

__all__ = ["STRATEGIES", "Experience", "KernelSearch", "Strategy"]

Floats = NDArray[np.float64]

STRATEGIES = ("draft", "evolution", "random")
"""Draft, verify and time; evolve by what was learned alone; draw at random."""
Strategy = str

_GENERATIONS = 2
_PARENTS = 12
_FRESH_SHARE = 0.25
"""Of a population that is drawn at random."""
_CROSSED_SHARE = 0.3
"""Of children that have two parents."""
_RANDOM_SHARE = 0.1
"""Of trials that no model has chosen."""
_HOPEFUL = 4
"""Genomes at random of which the most hopeful is drafted."""
_NEAR_BEST = 12
"""Drafts that are small changes of the best timed ones."""
_FEWEST_TO_LEARN = 8
_LEARNED_LIMIT = 3000
"""Trials that the model learns from."""


@dataclass
class Experience:
    """What all kernels of a session have taught: figures of timed schedules, and how near they came to their kernel's best."""

    seed: int = 0
    batches: dict[str, tuple[list[tuple[float, ...]], list[float]]] = field(default_factory=dict)
    """Figures and seconds (infinite: it failed) by kernel."""

    def add(self, kernel: str, made: Made, seconds: float) -> None:
        """Take note of a trial."""
        figures, costs = self.batches.setdefault(kernel, ([], []))
        figures.append(made.figures.values)
        costs.append(seconds)

    def model(self) -> CostModel | None:
        """A model of scores, 1 for the best schedule of a kernel; None as long as there is little to learn from."""
        parts = [(np.array(figures), _scores(costs)) for figures, costs in self.batches.values() if np.isfinite(costs).any()]
        if sum(len(scores) for _, scores in parts) < _FEWEST_TO_LEARN:
            return None
        figures = np.concatenate([part for part, _ in parts])[-_LEARNED_LIMIT:]
        scores = np.concatenate([part for _, part in parts])[-_LEARNED_LIMIT:]
        model = CostModel("reg", self.seed)
        model.fit(figures, scores, [len(scores)])
        return model


def _scores(costs: Sequence[float]) -> Floats:
    known = np.array(costs)
    return np.asarray(known.min() / known, dtype=np.float64)


@dataclass(frozen=True)
class _Timed:
    made: Made
    seconds: float


class KernelSearch:
    """Proposes schedules of a kernel, none twice, and learns what they cost. The same seed and costs give the same proposals."""

    def __init__(
        self,
        name: str,
        space: ScheduleSpace,
        experience: Experience,
        seed: int = 0,
        strategy: Strategy = "draft",
        population: int = 32,
        hints: Sequence[Mapping[str, Choice]] = (),
    ) -> None:
        self._name = name
        self._space = space
        self._experience = experience
        self._strategy = strategy
        self._population = population
        self._rng = np.random.default_rng([seed, *name.encode()])
        self._timed: list[_Timed] = []
        self._proposed: set[Genome] = set()
        self._hints = [genome for hint in hints if (genome := space.hinted(hint)) is not None]
        self.exhausted = False
        """Whether nothing new was found to propose."""

    def update(self, made: Made, seconds: float) -> None:
        """Learn what a schedule costs, infinitely many seconds if it failed."""
        self._proposed.add(made.genome)
        self._timed.append(_Timed(made, seconds))
        self._experience.add(self._name, made, seconds)

    def propose(self, count: int) -> list[Made]:
        """Up to `count` schedules to time; fewer where no others were found."""
        known = [made for made in self._space.make_all(self._hints) if made.genome not in self._proposed][:count]
        self._proposed.update(made.genome for made in known)
        left = count - len(known)
        chosen = [*known, *(self._random(left) if self._strategy == "random" else self._searched(left))]
        self._proposed.update(made.genome for made in chosen)
        self.exhausted = not chosen
        return chosen

    def timed(self) -> list[tuple[Made, float]]:
        """All schedules that were timed and did not fail, with their seconds, the best first."""
        return [(item.made, item.seconds) for item in self._ranked()]

    def _ranked(self) -> list[_Timed]:
        return sorted((item for item in self._timed if np.isfinite(item.seconds)), key=lambda item: item.seconds)

    def _random(self, count: int) -> list[Made]:
        found: dict[Genome, Made] = {}
        for _ in range(8 * count):
            genome = self._space.random(self._rng)
            if genome is None or len(found) == count:
                break
            made = self._space.make(genome) if genome not in self._proposed else None
            if made is not None:
                found[genome] = made
        return list(found.values())

    def _searched(self, count: int) -> list[Made]:
        model = self._experience.model()
        learned = None if model is None else _predicted(model)
        if self._strategy == "evolution":
            if learned is None:
                return self._random(count)
            drafts, judge = self._evolved(learned), learned
        else:
            drafts = [*self._evolved(_drafted), *self._near_the_best()]
            judge = learned or _drafted
        fresh = [made for made in {made.genome: made for made in drafts}.values() if made.genome not in self._proposed]
        scores = judge(fresh) if fresh else np.zeros(0)
        ranked = [fresh[at] for at in np.argsort(-scores, kind="stable")]
        lucky = round(_RANDOM_SHARE * count) if learned is not None else 0
        return self._with_random(_distinct(ranked), count, lucky)

    def _with_random(self, ranked: Sequence[Made], count: int, lucky: int) -> list[Made]:
        """The first of some schedules, and some at random."""
        chosen = list(ranked[: count - lucky])
        taken = {made.genome for made in chosen}
        extra = [made for made in self._random(count - len(chosen)) if made.genome not in taken]
        return chosen + extra

    def _evolved(self, judge: Callable[[Sequence[Made]], Floats]) -> list[Made]:
        """All schedules of some generations, the first of which has the best timed ones and others at random."""
        best = [item.made.genome for item in self._ranked()[:_PARENTS]]
        rng = self._rng
        drawn = [self._space.random(rng, self._rounds) for _ in range(self._population - len(best) // 2)]
        population = self._space.make_all([*best, *(genome for genome in drawn if genome is not None)])
        seen = {made.genome: made for made in population}
        for _ in range(_GENERATIONS):
            if not population:
                break
            ranked = [population[at] for at in np.argsort(-judge(population), kind="stable")]
            parents = ranked[:_PARENTS]
            children = [self._child(parents) for _ in range(int(self._population * (1 - _FRESH_SHARE)))]
            new = self._space.make_all([genome for genome in children if genome not in seen])
            seen.update({made.genome: made for made in new})
            population = [*parents, *new]
        return list(seen.values())

    @property
    def _rounds(self) -> int:
        """Of how many at random one is taken: only drafts use what is known without learning."""
        return _HOPEFUL if self._strategy == "draft" else 1

    def _child(self, parents: Sequence[Made]) -> Genome:
        rng = self._rng
        # Better ones more often.
        first, second = (parents[int(len(parents) * rng.random() ** 2)].genome for _ in range(2))
        crossed = self._space.crossed(first, second, rng) if rng.random() < _CROSSED_SHARE else first
        return self._space.mutated(crossed, rng)

    def _near_the_best(self) -> list[Made]:
        best = [item.made.genome for item in self._ranked()[:4]]
        near = [self._space.mutated(genome, self._rng) for genome in best for _ in range(_NEAR_BEST // 4)]
        return self._space.make_all(near)


def _drafted(made: Sequence[Made]) -> Floats:
    """The judgment of the analytic model: the fewer cycles the better."""
    return -np.array([item.figures.cycles for item in made], dtype=np.float64)


def _predicted(model: CostModel) -> Callable[[Sequence[Made]], Floats]:
    return lambda made: model.predict(np.array([item.figures.values for item in made], dtype=np.float64))


def _distinct(ranked: Sequence[Made]) -> list[Made]:
    """Those whose program no earlier one has: other choices may make the same."""
    found: dict[tuple[float, ...], Made] = {}
    for made in ranked:
        found.setdefault(made.figures.values, made)
    return list(found.values())
