"""The last stage of tuning: the schedules of all operators of a region are chosen together.

A task is tuned alone, but the instruction stream of a region runs through: while the last tile of a layer is stored, the next one
already loads. Which of the good schedules of a layer is best depends on its neighbours, and on what follows its products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np

from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.region.search import Choice, RegionSearch, SearchLimits
from vta.autotune.space import Space
from vta.autotune.task import Task
from vta.codegen.region_timing import RegionTimer
from vta.config.hardware import HardwareConfig
from vta.devices.device import Counters
from vta.errors import TuningError
from vta.records.history import History
from vta.records.knobs import entity_of, fitting_schedule
from vta.records.log import Record, record_of
from vta.records.objective import FEWEST_CYCLES, Objective
from vta.records.region import choice_records, fitting_choice, ranked_choices, region_identity
from vta.records.workload import workload_of
from vta.schedule.choose import choose_schedule
from vta.schedule.energy import energy_of
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["RegionOptions", "RegionReport", "RegionWatcher", "changed_schedule", "tune_region"]

_CHANGED_KNOBS = 2
"""At most, of one random change."""


@dataclass(frozen=True)
class RegionOptions:
    """How to choose for a region."""

    candidates: int = 8
    """Recorded schedules of each task that are tried for an operator, the cheapest ones."""
    limits: SearchLimits = field(default_factory=SearchLimits)
    device: str = "cycle"
    """What records say where they were measured."""
    objective: Objective = FEWEST_CYCLES
    """What is to be small."""


@dataclass(frozen=True)
class RegionReport:
    """What choosing for a region has brought."""

    name: str
    identity: str
    operators: int
    """Those whose schedules were chosen."""
    alone_cycles: int
    """Of the region with the best schedule of each task."""
    best_cycles: int
    alone_energy_pj: float | None
    """The same, in energy, where it is judged."""
    best_energy_pj: float | None
    evaluations: int
    seconds: float
    records: tuple[Record, ...]
    """What to add to the log: empty if compiling with it gives these cycles already."""


RegionWatcher = Callable[[str, int, int, float], None]
"""Told of a region's name, how many choices were timed, how many may be, and the least of the objective so far."""


def tune_region(
    region: RegionOperators,
    hw: HardwareConfig,
    tasks: Sequence[Task],
    records: Sequence[Record],
    options: RegionOptions = RegionOptions(),
    watch: RegionWatcher | None = None,
) -> RegionReport | None:
    """Choose the schedules of a region's operators together; None if it has none to choose.

    `tasks` are those of the network, `records` those of its log. It begins with what compiling with this log would take, the best
    record of each workload or an earlier choice for this region, and is never worse. The cycles are those of the cycle engine.
    """
    operators = _tuned_operators(region, hw, tasks)
    if not operators:
        return None
    objective = options.objective
    history = History(records, objective=objective)
    alone = tuple(_alone(operator, history, hw) for operator in region.operators)
    identity = region_identity(region, hw)
    chosen = _recorded(region, identity, hw, records, objective)
    in_use = alone if chosen is None else tuple(new or old for new, old in zip(chosen, alone, strict=True))

    def told(search: RegionSearch) -> None:
        if watch is not None:
            watch(region.name, search.evaluations, options.limits.evaluations, search.best_cost)

    costs = _Costs(RegionTimer(region, hw), hw, objective)
    search = RegionSearch(costs.whole, costs.near if costs.adds_up else None, alone, options.limits, told)
    search.offer(in_use)
    search.descend({index: operator.candidates(records, options) for index, operator in operators.items()})
    search.wander(tuple(operators), lambda index, *more: operators[index].neighbor(*more))
    (alone_cycles, alone_energy), (best_cycles, best_energy) = costs.measured(alone), costs.measured(search.best)
    records_kept: tuple[Record, ...] = ()
    if search.best != in_use:
        made = _made(hw, operators, search.best, options)
        records_kept = tuple(choice_records(made, identity, tuple(operators), best_cycles, best_energy)) if made else ()
    return RegionReport(
        region.name, identity, len(operators), alone_cycles, best_cycles, alone_energy, best_energy, search.evaluations,
        search.seconds, records_kept,
    )  # fmt: skip


class _Costs:
    """What choices for a region cost in an objective."""

    def __init__(self, timer: RegionTimer, hw: HardwareConfig, objective: Objective) -> None:
        self._timer = timer
        self._hw = hw
        self._objective = objective

    @property
    def adds_up(self) -> bool:
        """Whether what is better for some of the operators is better for the region."""
        return not (self._objective.time_power and self._objective.energy_power)

    def measured(self, choice: Choice) -> tuple[int, float | None]:
        """Cycles, and energy in pJ where it is judged."""
        return self._known(*self._timer.run(choice))

    def whole(self, choice: Choice) -> float:
        """Of the region."""
        return self._objective.value(*self.measured(choice))

    def near(self, choice: Choice, index: int) -> float:
        """Of an operator with those beside it."""
        return self._objective.value(*self._known(*self._timer.run_near(choice, index)))

    def _known(self, cycles: int, counters: Counters) -> tuple[int, float | None]:
        if not self._objective.has_energy:
            return cycles, None
        return cycles, energy_of(counters, self._hw, self._objective.technology)["total"]


def changed_schedule(space: Space, schedule: Schedule, rng: np.random.Generator) -> Schedule | None:
    """The schedule with one or two knobs changed; None if it is not in the space, or the change leaves it."""
    number = space.find(schedule)
    if number is None:
        return None
    changed = space.positions([number])
    for _ in range(int(rng.integers(1, _CHANGED_KNOBS + 1))):
        knob = int(rng.integers(len(space.dims)))
        changed[0, knob] = rng.integers(space.dims[knob])
    moved = int(space.numbers(changed)[0])
    return None if moved in (-1, number) else space.schedule(moved)


class _Operator:
    """One operator of a region, and the schedules to try for it."""

    def __init__(self, operator: GemmOperator, task: Task) -> None:
        self.operator = operator
        self.task = task

    def candidates(self, records: Iterable[Record], options: RegionOptions) -> list[Schedule]:
        """The cheapest recorded schedules that every use of the workload can take, and those that the compiler makes."""
        hw = self.task.hw
        wanted = hw.model, self.task.workload, options.device
        of_task = [record for record in records if (record.model, record.workload, record.device) == wanted and not record.error]
        found: dict[Schedule, None] = {}
        for record in sorted(of_task, key=lambda record: (options.objective.of(record), record.cost)):
            if len(found) == options.candidates:
                break
            try:
                schedule = fitting_schedule(record.entity, self.operator, hw)
            except TuningError:
                continue
            if self._fits(schedule):
                found[schedule] = None
        defaults = [choose_schedule(operator, hw) for operator in (self.operator, self.task.operator)]
        return list(dict.fromkeys([*found, *filter(self._fits, defaults)]))

    def neighbor(self, schedule: Schedule, rng: np.random.Generator) -> Schedule | None:
        """The schedule with one or two knobs changed; None if it is not in the space of the task, or the change leaves it."""
        return changed_schedule(self.task.space, schedule, rng)

    def _fits(self, schedule: Schedule) -> bool:
        """Whether the task allows it and every use of the workload can take it: what its record says is for all."""
        allowed = self.task.skip_padding or not schedule.skip_padding
        return allowed and not any(
            broken_limits(operator.laid_out(schedule), schedule, self.task.hw) for operator in self.task.variants
        )


def _tuned_operators(region: RegionOperators, hw: HardwareConfig, tasks: Iterable[Task]) -> dict[int, _Operator]:
    """By position: the operators whose schedules are chosen."""
    by_workload = {task.workload: task for task in tasks}
    found = {}
    for index, operator in enumerate(region.operators):
        if (tuned := operator.tuned) is not None:
            workload = workload_of(tuned, hw)
            if workload not in by_workload:
                raise TuningError(f"{region.name}: {operator.name}: no task for the workload {workload.identity}")
            found[index] = _Operator(tuned, by_workload[workload])
    return found


def _alone(operator: TileOperator, history: History, hw: HardwareConfig) -> Schedule | None:
    """The schedule that the compiler takes for an operator without a choice for its region."""
    scheduled = operator.scheduled
    if scheduled is None:
        return None
    return choose_schedule(scheduled, hw) if operator.tuned is None else history.choose(scheduled, hw)


def _recorded(
    region: RegionOperators, identity: str, hw: HardwareConfig, records: Iterable[Record], objective: Objective
) -> Choice | None:
    """What was chosen for the region before, if it can be used."""
    return fitting_choice(ranked_choices(records, objective).get((hw.model, identity), []), region, hw)[0]


def _made(hw: HardwareConfig, operators: Mapping[int, _Operator], choice: Choice, options: RegionOptions) -> list[Record]:
    """Records of a choice, each with what its schedule costs alone; none if one of them cannot be measured alone."""
    candidates = []
    for index, operator in operators.items():
        schedule = choice[index]
        assert schedule is not None, "an operator with a task has a schedule"
        number = operator.task.space.find(schedule)
        candidates.append(Candidate(operator.task, schedule, -1 if number is None else number))
    technology = options.objective.technology if options.objective.has_energy else None
    results = measure(candidates, in_process(hw, technology=technology))
    if any(result.error for result in results):
        return []
    # Knobs are those of the operator at its place: of a workload with several uses the task has another one.
    return [
        record_of(used.task.workload, hw, entity_of(candidate.schedule, used.operator), candidate.number, result, options.device)
        for candidate, result, used in zip(candidates, results, operators.values(), strict=True)
    ]
