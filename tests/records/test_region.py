"""Records of schedules that were chosen together: kept, read, found again, and used whole or not at all."""

from dataclasses import replace

import pytest

from tests.autotune._tasks import two_layers
from tests.integer_graphs import BASELINE
from tests.records.test_check import with_knob
from tests.records.test_log import record
from vta.compiler.compile import graph_regions
from vta.errors import TuningError
from vta.records.log import parse_line, pick_best, to_line
from vta.records.region import (
    best_choices,
    choice_records,
    chosen_schedules,
    pick_best_with_regions,
    region_identity,
)


def choice(*numbers, cycles=1000, region="r"):
    """A choice of points of the small task's space, one for each operator."""
    return choice_records([record(number=number) for number in numbers], region, range(len(numbers)), cycles)


def only_region(graph, hw=BASELINE):
    (region,) = graph_regions(graph, hw)
    return region


def test_a_place_survives_the_file():
    first, _ = choice(3, 4)
    assert parse_line(to_line(first)).record == first
    assert parse_line(to_line(first)).record.place.position == 0


def test_a_published_reader_finds_a_plain_record():
    plain, placed = record(number=3), choice(3, 4)[0]
    assert replace(placed, place=None) == plain
    assert to_line(placed).startswith(to_line(plain)[: to_line(plain).index('"vta"')])


@pytest.mark.parametrize("broken", ['{"region": "r"}', '{"region": "r", "choice": "c", "position": "x"}', "7"])
def test_a_malformed_place_is_said(broken):
    line = to_line(record()).rstrip()
    line = line[: line.rindex("}}")] + f', "region": {broken}' + "}}"
    assert parse_line(line).problem.startswith("vta: region")


def test_the_choice_of_the_fewest_cycles_counts():
    slow, fast, other = choice(1, 2, cycles=900), choice(3, 4, cycles=800), choice(5, region="other")
    found = best_choices([*slow, *fast[::-1], *other])
    assert found == {(BASELINE.model, "r"): tuple(fast), (BASELINE.model, "other"): tuple(other)}


def test_choices_are_not_mixed_and_not_used_in_part():
    first, second = choice(1, 2, cycles=900), choice(3, 4, cycles=900)
    assert best_choices([first[0], second[1]]) == {}
    assert best_choices([first[0], second[1], first[1]]) == {(BASELINE.model, "r"): tuple(first)}
    failed = [first[0], replace(first[1], error=4)]
    assert best_choices(failed) == {}


def test_picking_keeps_the_best_record_and_the_best_choice():
    records = [record(2e-3, 0), record(1e-3, 1), *choice(2, 3, cycles=900), *choice(4, 5, cycles=800)]
    kept = pick_best_with_regions(records)
    assert kept == [record(1e-3, 1), *choice(4, 5, cycles=800)]
    assert pick_best_with_regions(kept) == kept
    assert pick_best(kept) == pick_best(records)


def test_a_region_is_known_by_its_workloads_and_what_they_read():
    same = [region_identity(only_region(two_layers()), BASELINE) for _ in range(2)]
    others = [
        region_identity(only_region(graph), BASELINE)
        for graph in (two_layers(middle=48), two_layers(size=5), two_layers(residual=False))
    ]
    assert len({*same, *others}) == 4
    renamed = only_region(two_layers(name="other"))
    assert region_identity(renamed, BASELINE) == same[0], "names do not count"


def test_schedules_are_used_whole_or_not_at_all():
    region = only_region(two_layers())
    identity = region_identity(region, BASELINE)
    records = choice_records([record(number=1), record(number=2)], identity, [0, 1], 1000)
    assert len(chosen_schedules(records, region, BASELINE)) == 2
    with pytest.raises(TuningError, match=r"schedules for operators \[0\] of the region, wanted \[0, 1\]"):
        chosen_schedules(records[:1], region, BASELINE)
    large = replace(records[1], entity=with_knob("inp_slots", "ot", 100).entity)
    with pytest.raises(TuningError, match="region0: second: input buffer: "):
        chosen_schedules([records[0], large], region, BASELINE)
