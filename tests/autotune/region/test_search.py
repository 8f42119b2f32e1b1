"""The search for a region's schedules, on costs that are known."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.autotune._tasks import small_task
from tests.integer_graphs import BASELINE
from vta.autotune.region.search import RegionSearch, SearchLimits
from vta.errors import CompileError
from vta.schedule.choose import choose_schedule

SCHEDULE = choose_schedule(small_task().operator, BASELINE)


def numbered(number):
    """Schedules to tell apart."""
    return replace(SCHEDULE, inp_slots=number)


def choice(*numbers):
    return tuple(None if number is None else numbered(number) for number in numbers)


def numbers(choice):
    return tuple(schedule.inp_slots if schedule else 0 for schedule in choice)


def cycles(choice):
    """Least where neighbours are alike, and next to that where numbers are high."""
    values = numbers(choice)
    return 1000 + 10 * sum(abs(a - b) for a, b in pairwise(values)) - sum(values)


def cycles_near(choice, index):
    """Of an operator and those beside it."""
    return cycles(choice[max(0, index - 1) : index + 2])


def test_one_after_the_other_takes_what_is_best_beside_its_neighbors():
    search = RegionSearch(cycles, cycles_near, choice(1, 5, 1), SearchLimits())
    search.descend({index: [numbered(number) for number in range(1, 6)] for index in range(3)})
    assert numbers(search.best) in {(5, 5, 5), (1, 1, 1)}
    assert search.best_cost == cycles(search.best)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 40), st.integers(0, 9))
def test_the_result_is_never_worse_and_the_budget_holds(start, evaluations, seed):
    timed = []

    def counted(choice):
        timed.append(choice)
        return cycles(choice)

    search = RegionSearch(counted, cycles_near, choice(*start), SearchLimits(evaluations, 60.0, seed))
    search.descend({index: [numbered(number) for number in (2, 4)] for index in range(len(start))})
    search.wander(range(len(start)), lambda index, schedule, rng: numbered(int(rng.integers(1, 9))))
    assert search.best_cost == cycles(search.best) == min(map(cycles, timed))
    assert len(timed) == len(set(timed)) <= search.evaluations <= evaluations


def test_what_does_not_help_near_is_not_timed_as_a_whole():
    timed = []
    search = RegionSearch(lambda choice: timed.append(choice) or cycles(choice), cycles_near, choice(1, 1, 1), SearchLimits())
    search.descend({1: [numbered(2)]})
    assert timed == [choice(1, 1, 1)]
    search.descend({2: [numbered(1)]})
    assert search.evaluations == 2


def wandered(seed):
    search = RegionSearch(cycles, cycles_near, choice(1, 2, 3, 4), SearchLimits(60, 60.0, seed))
    search.wander(range(4), lambda index, schedule, rng: numbered(int(rng.integers(1, 99))))
    return search.best


def test_the_same_seed_finds_the_same():
    assert wandered(3) == wandered(3)
    assert len({wandered(seed) for seed in range(8)}) > 1


def test_a_choice_that_does_not_fit_counts_for_nothing():
    def narrow(choice):
        if numbers(choice)[0] > 2:
            raise CompileError("too large")
        return cycles(choice)

    search = RegionSearch(narrow, lambda choice, index: narrow(choice), choice(1), SearchLimits())
    search.descend({0: [numbered(number) for number in (9, 2, 5)]})
    assert numbers(search.best) == (2,)
    assert search.evaluations == 4


def test_no_time_left_leaves_the_start():
    search = RegionSearch(cycles, cycles_near, choice(1, 2), SearchLimits(seconds=0.0))
    search.descend({0: [numbered(2)]})
    search.wander([0], lambda *_: numbered(2))
    assert numbers(search.best) == (1, 2)
    assert search.evaluations == 1


def test_operators_without_a_schedule_are_left_alone_and_each_timing_is_told():
    told = []
    search = RegionSearch(
        lambda choice: 9 - numbers(choice)[1],
        lambda choice, index: 9 - numbers(choice)[index],
        choice(None, 1),
        SearchLimits(),
        lambda search: told.append(search.evaluations),
    )
    search.descend({1: [numbered(3), numbered(2)]})
    assert numbers(search.best) == (0, 3)
    assert told == [2, 3]


def test_a_neighbor_that_is_none_is_no_timing():
    search = RegionSearch(cycles, cycles_near, choice(1), SearchLimits())
    search.wander([0], lambda *_: None)
    assert search.evaluations == 1
