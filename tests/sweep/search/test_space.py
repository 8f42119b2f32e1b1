"""Designs by number."""

import pytest

from vta.config.hardware import HardwareConfig
from vta.errors import SweepError
from vta.sweep.points import Illegal, expand
from vta.sweep.search.space import DesignSpace, SpacePoints
from vta.sweep.spec import Spec

WORKS = ("elementwise.vta:1x1x4x4x1x16", "elementwise.vta:1x2x4x4x1x16")
SPEC = Spec(
    HardwareConfig.named("sim").to_json(),
    {"LOG_BLOCK": (4, 7, 5), "LOG_INP_BUFF_SIZE": (14, 15)},
    {"bus_bits": (64, 96, 128), "read_latency": (8,)},
    (),
    WORKS,
)


def test_numbers_are_those_of_the_whole_list():
    space = DesignSpace(SPEC)
    assert space.size == 18
    assert [space.number(space.choice(number)) for number in range(18)] == list(range(18))
    designs = [space.design(number) for number in range(18)]
    legal, illegal = expand(SPEC)
    assert tuple(design for design in designs if not isinstance(design, Illegal)) == legal
    assert {entry.reason for entry in designs if isinstance(entry, Illegal)} == {entry.reason for entry in illegal}


def test_points_are_made_when_they_are_asked_for():
    space = DesignSpace(SPEC)
    points = SpacePoints(space, WORKS)
    assert len(points) == 36
    assert [(point.number, point.workload) for point in points[:2]] == [(0, WORKS[0]), (1, WORKS[1])]
    assert points.of_design(2, space.design(2)) == points[4:6]
    with pytest.raises(SweepError, match=r"point 2: .*bus_bits = 96 is not a power of two"):
        points[2]


def test_a_space_may_be_larger_than_a_table():
    huge = Spec(SPEC.base, {f"LOG_{key}_BUFF_SIZE": tuple(range(2, 31)) for key in ("UOP", "INP", "WGT", "ACC")}, {}, (), WORKS)
    space = DesignSpace(huge)
    assert space.size == 29**4
    assert space.number(space.choice(29**4 - 1)) == 29**4 - 1
