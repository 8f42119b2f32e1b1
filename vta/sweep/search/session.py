"""Searches the designs of a sweep: what the optimizer proposes is run, unless a bound says that it cannot be good.

A design is looked at in up to three fidelities. Its bound tells at once whether something that ran is at least as good, whatever
its schedules. If not, it runs on the cycle engine with the compiler's schedules. In the end, where the sweep has trials, the best
are tuned.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

import numpy as np

from vta.compiler.shared import geometry_of
from vta.errors import SweepError, VTAError
from vta.schedule.bound import Bound
from vta.schedule.energy import energy_of
from vta.support.dataclass import dataclass
from vta.sweep.accuracy import Errors
from vta.sweep.networks import Networks
from vta.sweep.points import Design, Illegal, Point
from vta.sweep.ranking import entry_of
from vta.sweep.search.hypervolume import hypervolume_of
from vta.sweep.search.optimizer import Optimizer
from vta.sweep.search.space import DesignSpace, SpacePoints
from vta.sweep.session import Session, SweepResult, Watcher, begin, working_in
from vta.sweep.spec import Spec
from vta.sweep.table import Row, Status, row_of
from vta.sweep.workplace import LocalWorkplace, Workplace

__all__ = ["SearchResult", "run_search"]

_BATCH = 8
"""Designs that are run at a time, whatever there is to run them on: the same are proposed everywhere."""
_PATIENCE = 64
"""Proposals without a new design, after which one is taken at random."""
_TUNED_SHARE = 8
"""One in so many of the designs that ran is tuned."""

Costs = tuple[float, ...]


@dataclass(frozen=True)
class SearchResult:
    """A search that has ended."""

    sweep: SweepResult
    """Of the designs that ran, or, where the sweep has trials, of those that were tuned."""
    evaluated: int
    """Designs that ran."""
    discarded: int
    """Designs whose bound showed that another one is at least as good."""
    broken: int
    """Designs that no config describes, that do not fit the board, or that cannot run all layers."""
    skipped: tuple[Illegal, ...]
    """Of these, those that are no config or do not fit the board, with the numbers."""
    combinations: int
    costs: tuple[Costs | None, ...]
    """Of the designs that ran, in this order, in the criteria of the sweep; None for those that are broken."""
    hypervolumes: tuple[float, ...]
    """After each evaluation, in the frame of all of them."""
    ran: int
    """Points that were run, and not found in a table."""


def run_search(
    spec: Spec,
    folder: Path,
    evaluations: int,
    *,
    resume: bool = False,
    jobs: int | None = None,
    watch: Watcher | None = None,
    workplace: Workplace | None = None,
) -> SearchResult:
    """Run up to `evaluations` designs of `spec`, those that may be good in its criteria, in `workplace` (see `run_sweep`).

    The folder gets what a sweep has; points are numbered as if all combinations were run. Where the sweep has trials,
    `untuned.csv` has all designs, and `sweep.csv` the best of them, tuned. The seed of the sweep decides what is proposed, and a
    search that goes on proposes it again, so that it ends as if it had not been stopped. Raises `SweepError` like `run_sweep`,
    and if a package that it needs is missing.
    """
    space = DesignSpace(spec)
    points = SpacePoints(space, spec.works)
    optimizer = Optimizer(space.axes, len(spec.pareto), evaluations, spec.seed)
    begin(spec, {**spec.identity(), "search": True}, folder, resume)
    workplace = workplace or LocalWorkplace(jobs)
    table = folder / ("untuned.csv" if spec.trials else "sweep.csv")
    with working_in(folder), Session(spec, table, points, workplace, evaluations * len(spec.works), watch) as session:
        search = _Search(spec, space, points, session, optimizer)
        search.run(evaluations)
        session.finish()
        best, ran = search.ranked(), session.ran
        volumes = search.hypervolumes()
        designs, rows = {number: search.designs[number] for number in sorted(search.ran)}, session.rows
        if spec.trials and best:
            table = folder / "sweep.csv"
            chosen = sorted(best[: max(1, math.ceil(len(best) / _TUNED_SHARE))])
            designs = {number: search.designs[number] for number in chosen}
            tuned = Session(spec, table, points, workplace, len(chosen) * len(spec.works), watch)
            tuned.run((point for number in chosen for point in points.of_design(number, designs[number])), spec.trials)
            tuned.finish()
            rows, ran = tuned.rows, ran + tuned.ran
    if not designs:
        raise SweepError(f"none of the {space.size:,} configs is legal: {search.skipped[-1].reason}")
    numbers = [point.number for number, design in designs.items() for point in points.of_design(number, design)]
    sweep = SweepResult(spec, tuple(designs.values()), (), tuple(rows[number] for number in numbers), table, ran)
    return SearchResult(
        sweep, len(search.ran), search.discarded, search.broken, tuple(search.skipped), space.size,
        tuple(search.ran.values()), volumes, ran,
    )  # fmt: skip


class _Search:
    """What is known of the designs of a space."""

    def __init__(self, spec: Spec, space: DesignSpace, points: SpacePoints, session: Session, optimizer: Optimizer) -> None:
        self._spec = spec
        self._space = space
        self._points = points
        self._session = session
        self._optimizer = optimizer
        self._networks = Networks()
        self._bounds: dict[Hashable, Bound] = {}
        self._errors = Errors(spec)
        self._rng = np.random.default_rng(spec.seed)
        self._costs: dict[int, Costs | None] = {}
        """Of all that was looked at, by its number: what it costs, or at least; None if it is broken."""
        self.designs: dict[int, Design] = {}
        self.ran: dict[int, Costs | None] = {}
        """The designs that ran, in this order."""
        self.discarded = 0
        self.broken = 0
        self.skipped: list[Illegal] = []
        """Why the last design that is none is none."""

    def run(self, evaluations: int) -> None:
        """Run designs until there are so many, or no others."""
        while len(self.ran) < evaluations:
            batch = self._proposed(min(_BATCH, evaluations - len(self.ran)))
            if not batch:
                return
            self._session.run((point for number in batch for point in self._points.of_design(number, self.designs[number])), 0)
            for number in batch:
                self.ran[number] = self._measured(number)
                self._learn(number, self.ran[number])

    def ranked(self) -> list[int]:
        """The numbers of the designs that ran all layers: the front first, then the front of the others, and so on."""
        left = {number: costs for number, costs in self.ran.items() if costs is not None}
        ranked: list[int] = []
        while left:
            front = [number for number, costs in left.items() if not _dominated(costs, left.values())]
            ranked += front
            left = {number: costs for number, costs in left.items() if number not in front}
        return ranked

    def hypervolumes(self) -> tuple[float, ...]:
        """After each evaluation, in the frame of all of them."""
        every = [costs for costs in self.ran.values() if costs is not None]
        found, seen = [], []
        for costs in self.ran.values():
            if costs is not None:
                seen.append(costs)
            found.append(hypervolume_of(seen, every))
        return tuple(found)

    def _proposed(self, count: int) -> list[int]:
        """Numbers of designs that were not looked at and may be good."""
        found: list[int] = []
        again: list[int] = []
        """Those proposed once more. The optimizer hears of them in the end: each time it sorts all that it knows."""
        patience = _PATIENCE
        while len(found) < count:
            choice = self._optimizer.ask() if patience else self._unseen(found)
            if choice is None:
                break
            number = self._space.number(choice)
            if number in self._costs:
                again.append(number)
            if number in self._costs or number in found:
                patience = max(0, patience - 1)
                continue
            patience = _PATIENCE
            if self._may_be_good(number):
                found.append(number)
        for number in again:
            self._optimizer.tell(self._space.choice(number), self._costs[number])
        return found

    def _unseen(self, pending: Sequence[int]) -> tuple[int, ...] | None:
        """A choice at random that was not looked at; None if there is none."""
        known = {*self._costs, *pending}
        if len(known) >= self._space.size:
            return None
        number = int(self._rng.integers(self._space.size))
        while number in known:
            number = (number + 1) % self._space.size
        return self._optimizer.ask(self._space.choice(number))

    def _may_be_good(self, number: int) -> bool:
        """Whether a design is to be run; one that is none, or cannot be better than all that ran, is learned from at once."""
        design = self._space.design(number)
        if isinstance(design, Illegal):
            self.broken += 1
            self.skipped.append(design)
            self._learn(number, None)
            return False
        self.designs[number] = design
        least = self._least(number, design)
        if least is None or not any(_at_least_as_good(costs, least) for costs in self.ran.values() if costs is not None):
            return True
        self.discarded += 1
        self._learn(number, least)
        return False

    def _learn(self, number: int, costs: Costs | None) -> None:
        self._costs[number] = costs
        self._optimizer.tell(self._space.choice(number), costs)

    def _least(self, number: int, design: Design) -> Costs | None:
        """What a design costs at least; None where that cannot be said."""
        rows = []
        try:
            for point in self._points.of_design(number, design):
                bound = self._bound(point)
                energy = energy_of(bound.counters, design.hw, design.technology)
                rows.append(row_of(point, Status.OK, bound.cycles, bound.cycles, bound.macs, energy))
        except VTAError:
            return None
        return entry_of(design, rows, self._spec.weights, self._errors.of(design)).costs(self._spec.pareto)

    def _measured(self, number: int) -> Costs | None:
        """What a design costs; None if something did not run on it, or only in part."""
        design = self.designs[number]
        points = self._points.of_design(number, design)
        rows = [self._session.rows[point.number] for point in points]
        if not all(self._is_whole(point, row) for point, row in zip(points, rows, strict=True)):
            self.broken += 1
            return None
        return entry_of(design, rows, self._spec.weights, self._errors.of(design)).costs(self._spec.pareto)

    def _is_whole(self, point: Point, row: Row) -> bool:
        """Whether a point has a result, and no layer was left to the host because it does not fit."""
        return row.status is Status.OK and row.macs >= self._bound(point).macs

    def _bound(self, point: Point) -> Bound:
        """The bound of a point: the same for all of its network, geometry and bus. Raises a `VTAError` if it cannot run."""
        hw, bus = point.design.hw, point.design.timing.bus_bytes
        key = point.work, geometry_of(hw), bus
        if key not in self._bounds:
            self._bounds[key] = self._networks.network(point.work, hw).bound(hw, bus)
        return self._bounds[key]


def _at_least_as_good(one: Costs, other: Costs) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _dominated(costs: Costs, others: Iterable[Costs]) -> bool:
    return any(other != costs and _at_least_as_good(other, costs) for other in others)
