"""Chooses the schedules of whole regions on configs with the requantize unit, and puts them into the folder `tuning`.

    python -m benchmarks.shipped_regions --models DIR [--config CONFIG] [--trials N] [--seed N] [--progress FILE] [NAME...]

Compiling takes them for the same networks, and nothing else does. The search begins with what compiling would take, or with what
the log has for another region of as many operators, if that is faster. It changes the schedule of one operator at a time, and
keeps what the cycle engine likes better, until a round brings nothing; then it changes neighbors together, at random from
`--seed`. It ends after `--trials` choices that are timed for a region. No clock is looked at: the same log and arguments lead to
the same log. With `--trials 0` what is there is timed again. DIR holds the files of `benchmarks.models`.

The log is written after each region. With `--progress` a line is added to FILE then, and regions that have one, of the same seed
and as many trials, are passed over: so the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.shipped_records import known_records, write
from benchmarks.units import chosen
from vta.codegen.interleave import can_take_turns, pairs_of
from vta.codegen.region_timing import RegionTimer
from vta.codegen.take_turns import schedules_together
from vta.compiler.compile import compile_model, graph_regions
from vta.compiler.schedules import Schedules
from vta.config.hardware import HardwareConfig
from vta.errors import CompileError
from vta.records.knobs import entity_of
from vta.records.log import Record, record_of
from vta.records.measurement import Measurement
from vta.records.region import choice_records, fitting_choice, ranked_choices, region_identity
from vta.records.shipped import SHIPPED
from vta.records.workload import workload_of
from vta.schedule.choose import choose_schedule, fastest_schedules
from vta.schedule.resources import broken_limits
from vta.schedule.roofline import roofline_of
from vta.schedule.schedule import Schedule
from vta.schedule.strips import row_strips
from vta.schedule.tile_sizes import equal_sizes
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators, TileOperator

CONFIG = "sim_rq"
TRIALS = 3000
_ROWS = (1, 2, 3, 4, 5, 7, 8, 10, 14, 20, 28)
_SMALLER = (("inp", "acc"), ("inp",), ("acc",), ("inp", "inp", "acc", "acc"), ("acc", "acc"), ("inp", "acc", "acc"))
"""Buffers that are halved for the compiler's choice."""
_FASTEST = 12
"""Schedules that are the fastest by estimate."""
_LAGS = (2, 3, 5, 8)
_MOST_TOGETHER = 3
"""Operators that change together."""
_TURNS = 0.3
"""How often a schedule that is drawn takes turns."""
_WORSE = 0.003
"""How much worse than the last choice one may be at first."""
_SMALL = 500_000
"""Cycles of a region that is timed whole for every choice."""

Choice = tuple[Schedule | None, ...]


def with_less(hw: HardwareConfig, buffers: Sequence[str]) -> HardwareConfig:
    """The config with buffers of half the size, for each time that they are named."""
    keys = {f"log_{name}_buff_size": buffers.count(name) for name in buffers}
    return replace(hw, **{key: getattr(hw, key) - halvings for key, halvings in keys.items()})


def candidates(operator: GemmOperator, current: Schedule, hw: HardwareConfig) -> Iterator[Schedule]:
    """Schedules to try in place of one that an operator has."""
    for buffers in ((), *_SMALLER):
        yield from _default(operator, with_less(hw, buffers))
    for rows in _ROWS:
        if (strips := row_strips(operator, rows, hw)) is not None:
            yield from (strips, replace(strips, inp_slots=2 * strips.inp_slots), replace(strips, weights_outer=True))
    yield from fastest_schedules(operator, hw, _FASTEST)
    # One large tile in place of two: each waits for the store of the last one, but inputs are loaded less often.
    yield from fastest_schedules(operator, hw, _FASTEST, one_tile=True)
    yield replace(current, weights_outer=not current.weights_outer)
    yield replace(current, skip_padding=not current.skip_padding)
    for factor in (2, 0.5):
        yield replace(current, inp_slots=max(1, int(current.inp_slots * factor)))
        yield replace(current, wgt_slots=max(1, int(current.wgt_slots * factor)))
    yield from _other_sizes(operator.laid_out(current), current)


def _default(operator: GemmOperator, hw: HardwareConfig) -> list[Schedule]:
    try:
        return [choose_schedule(operator, hw)]
    except CompileError:
        return []


def _other_sizes(operator: GemmOperator, current: Schedule) -> Iterator[Schedule]:
    out = operator.output
    extents = {"tile_co": out.blocks, "tile_h": out.height, "tile_w": out.width, "tile_ci": operator.main_term.source.blocks}
    for name, extent in extents.items():
        sizes, size = equal_sizes(extent), getattr(current, name)
        yield from (replace(current, **{name: other}) for other in [each for each in sizes if each < size][-1:])
        yield from (replace(current, **{name: other}) for other in [each for each in sizes if each > size][:1])


def _key(operator: TileOperator) -> Hashable:
    return None if operator.tuned is None else operator.tuned.workload_key


class Search:
    """The best choice for a region so far."""

    def __init__(self, region: RegionOperators, hw: HardwareConfig, known: Iterable[Sequence[Record]] = ()) -> None:
        """Begin with what compiling takes, or with a choice of `known`, of this region or another, if it is faster."""
        self._region = region
        self._hw = hw
        self._timer = RegionTimer(region, hw)
        self.best: Choice = Schedules(SHIPPED, hw).of_region(region)
        self.cycles = self._timer.cycles(self.best)
        self.begin = self.cycles
        self._left = 0
        self._near: dict[int, int] = {}
        for records in known:
            choice, _ = fitting_choice([tuple(records)], region, hw)
            if choice is not None and (cycles := self._timer.cycles(choice)) < self.cycles:
                self.best, self.cycles = choice, cycles

    def run(self, trials: int, seed: int) -> None:
        """Change one schedule at a time until a round brings nothing, then several at random, in so many trials."""
        self._left = trials
        before = None
        while before != self.cycles and self._left > 0:
            before = self.cycles
            for index in self._by_loss():
                operator, schedule = self._region.operators[index], self.best[index]
                if operator.tuned is None or schedule is None or self._left <= 0:
                    continue
                tried = [replace(each, turns=schedule.turns) for each in candidates(operator.tuned, schedule, self._hw)]
                tried += [replace(schedule, turns=lag) for lag in _LAGS if schedule.turns]
                for other in dict.fromkeys(tried):
                    if self._left > 0 and self._offer(index, operator.tuned, other):
                        self._offer_to_others(index, schedule)
                self._offer_turns(index)
        self._wander(random.Random(seed))

    def _by_loss(self) -> list[int]:
        """The positions of the operators, first those that take the most cycles beyond their roofline."""
        operators = [operator.scheduled for operator in self._region.operators]
        least = [0 if operator is None else roofline_of(operator, self._hw).cycles for operator in operators]

        def lost(index: int) -> int:
            return self._timer.cycles_near(self.best, index) - sum(least[max(0, index - 1) : index + 2])

        return sorted(range(len(operators)), key=lost, reverse=True)

    def _wander(self, rng: random.Random) -> None:
        """Change neighbors together at random, also from choices that are a little worse than the best: the later, the less."""
        pools, trials = self._pools(), self._left
        current, cycles = self.best, self.cycles
        while pools and self._left > 0:
            first = rng.choice(list(pools))
            window = [index for index in range(first, first + rng.randint(1, _MOST_TOGETHER)) if index in pools]
            choice = list(current)
            for index in window:
                choice[index] = replace(rng.choice(pools[index]), turns=rng.choice((0, *_LAGS)) if rng.random() < _TURNS else 0)
            try:
                found = self._timed(choice)
            except CompileError:
                continue
            if found < cycles * (1 + _WORSE * self._left / trials):
                current, cycles = tuple(choice), found
            if found < self.cycles:
                self.best, self.cycles = current, found

    def _pools(self) -> dict[int, list[Schedule]]:
        """By position: the schedules to draw from."""
        pools = {}
        for index, (operator, schedule) in enumerate(zip(self._region.operators, self.best, strict=True)):
            if (tuned := operator.tuned) is not None and schedule is not None:
                found = dict.fromkeys((schedule, *candidates(tuned, schedule, self._hw)))
                pools[index] = [each for each in found if not broken_limits(tuned.laid_out(each), each, self._hw)]
        return pools

    def _offer_to_others(self, index: int, before: Schedule) -> None:
        """Offer what an operator has now to those of the same shape that have what it had `before`."""
        found, key = self.best[index], _key(self._region.operators[index])
        assert found is not None, "the operator has a schedule"
        for other, operator in enumerate(self._region.operators):
            if operator.tuned is not None and other != index and _key(operator) == key and self.best[other] == before:
                self._offer(other, operator.tuned, found)

    def _offer_turns(self, index: int) -> None:
        """Let an operator take turns with the next one, in place of those that they take with others, or by other schedules."""
        first, second = (*self._region.operators, None)[index : index + 2]
        if second is None or not can_take_turns(first, second):
            return
        assert isinstance(first, GemmOperator), "operators that take turns multiply"
        assert isinstance(second, GemmOperator), "the second too"
        for schedules, lag in product(schedules_together(first, second, self._hw), _LAGS):
            if self._left <= 0:
                return
            choice = [*self.best[:index], replace(schedules[0], turns=lag), schedules[1], *self.best[index + 2 :]]
            before = choice[index - 1] if index else None
            if before is not None:
                choice[index - 1] = replace(before, turns=0)
            self._take(tuple(choice), index)

    def _offer(self, index: int, operator: GemmOperator, schedule: Schedule) -> bool:
        """Keep another schedule for an operator, if the region takes fewer cycles with it."""
        if broken_limits(operator.laid_out(schedule), schedule, self._hw):
            return False
        choice = (*self.best[:index], schedule, *self.best[index + 1 :])
        return len(self._pairs(choice)) >= len(self._pairs(self.best)) and self._take(choice, index)

    def _take(self, choice: Choice, index: int) -> bool:
        """Keep a choice if it takes fewer cycles."""
        try:
            cycles = self._timed(choice) if self._helps_near(choice, index) else self.cycles
        except CompileError:
            return False
        if cycles >= self.cycles:
            return False
        self.best, self.cycles = choice, cycles
        self._near.clear()
        return True

    def _helps_near(self, choice: Choice, index: int) -> bool:
        """Whether a choice is better for an operator and those beside it; of a small region nothing is left out by that."""
        if self.cycles < _SMALL:
            return True
        if index not in self._near:
            self._near[index] = self._timer.cycles_near(self.best, index)
        self._left -= 1
        return self._timer.cycles_near(choice, index) < self._near[index]

    def _timed(self, choice: Sequence[Schedule | None]) -> int:
        self._left -= 1
        return self._timer.cycles(choice)

    def _pairs(self, choice: Choice) -> tuple[object, ...]:
        return pairs_of(self._region.operators, choice, self._hw)

    def records(self) -> list[Record]:
        """What says so in a log."""
        made, positions = [], []
        for index, (operator, schedule) in enumerate(zip(self._region.operators, self.best, strict=True)):
            if (tuned := operator.tuned) is None or schedule is None:
                continue
            alone = RegionTimer(RegionOperators(operator.name, (operator,), operator.sources, (operator.stored,)), self._hw)
            cycles = alone.cycles([replace(schedule, turns=0)])
            result = Measurement((cycles / self._hw.platform.clock_hz,), cycles)
            made.append(record_of(workload_of(tuned, self._hw), self._hw, entity_of(schedule, tuned), -1, result, "cycle"))
            positions.append(index)
        return choice_records(made, region_identity(self._region, self._hw), positions, self.cycles)


def main(argv: Sequence[str] | None = None) -> int:
    """Search, network by network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--config", default=CONFIG)
    parser.add_argument("--trials", type=int, default=TRIALS, help="choices to time for a region (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--progress", type=Path, metavar="FILE", help="what is done; created if it is not there")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).resolve().parents[1] / "tuning", metavar="DIR")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(argv)
    hw = HardwareConfig.named(options.config)
    path = options.output / f"{hw.bitstream}.log"
    for network, model in chosen(options.models, options.names):
        for region in graph_regions(compile_model(model, hw).graph, hw):
            identity = region_identity(region, hw)
            done = {"region": identity, "config": options.config, "trials": options.trials, "seed": options.seed}
            if options.progress is not None and done in _lines(options.progress):
                continue
            known = [record for records in known_records(path).values() for record in records]
            search = Search(region, hw, (choice for choices in ranked_choices(known).values() for choice in choices))
            search.run(options.trials, options.seed)
            others = [each for each in known if each.place is None or each.place.region != identity]
            write(path, {"": [*others, *search.records()]})
            if options.progress is not None:
                with options.progress.open("a") as file:
                    file.write(json.dumps(done) + "\n")
            print(f"{network:45} {region.name:10} {search.begin:>12,} {search.cycles:>12,}", flush=True)
    return 0


def _lines(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
