"""The share of a box that designs dominate."""

import math

import pytest

pytest.importorskip("moocore", reason="needs the packages of the extra search")

from vta.sweep.search.hypervolume import hypervolume_of

E = math.e


def test_it_is_that_of_the_logarithms_in_the_frame_of_all():
    every = [(1, E**4), (E**2, E**2), (E**4, 1)]
    assert hypervolume_of(every) == pytest.approx(0.25)
    assert hypervolume_of([(E, E)], every) == pytest.approx(9 / 16)
    assert hypervolume_of([(E**2, E), (E, E**2)], every) == pytest.approx(8 / 16)


def test_units_do_not_matter():
    costs = [(3.0, 40.0, 7.0), (5.0, 20.0, 7.0), (9.0, 10.0, 7.0)]
    scaled = [(1000 * first, second / 8, third) for first, second, third in costs]
    assert hypervolume_of(costs) == pytest.approx(hypervolume_of(scaled))


def test_what_never_differs_does_not_count():
    assert hypervolume_of([(2, 5), (8, 5)]) == 1.0
    assert hypervolume_of([(8, 5)], [(2, 5), (8, 5)]) == 0.0
    assert hypervolume_of([(2, 5)]) == 1.0
    assert hypervolume_of([]) == 0.0
