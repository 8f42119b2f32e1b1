"""What is printed of a region is read back as the same region, and prints the same."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from tests.tile.text._regions import regions
from vta.codegen.tile_text import parse_region, print_region
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators, Tensor
from vta.tile.text.constants import UnknownConstant, constants_of
from vta.tile.text.parser import parse_operators
from vta.tile.text.printer import print_operators


def same(one, other):
    """Whether two values are equal, arrays by their values and objects by their fields."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one).__module__.startswith("vta.") and hasattr(one, "__dataclass_fields__"):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return one == other


@settings(max_examples=30)
@given(regions())
def test_with_the_constants_the_operators_are_the_same(region):
    parsed = parse_operators(print_operators(region), constants_of(region.operators))
    assert same(parsed.region, region)


@settings(max_examples=30)
@given(regions())
def test_without_them_the_text_is_the_same(region):
    text = print_operators(region)
    parsed = parse_operators(text).region
    assert print_operators(parsed) == text
    constants = constants_of(parsed.operators).values()
    assert all(isinstance(values, UnknownConstant) and not values.any() for values in constants)


schedules = st.builds(
    Schedule, **{field.name: st.booleans() if field.type == "bool" else st.integers(1, 1 << 20) for field in fields(Schedule)}
)


@settings(max_examples=30)
@given(regions(), st.data())
def test_schedules_are_read_back(region, data):
    chosen = tuple(data.draw(schedules) if operator.scheduled else None for operator in region.operators)
    text = print_region(region, chosen, BASELINE)
    parsed = parse_region(text)
    assert parsed.schedules == chosen
    assert print_region(parsed.region, parsed.schedules, BASELINE) == text


def test_different_tensors_of_one_name_are_refused():
    tensor = Tensor("x", 1, 1, 2, 2)
    with pytest.raises(ValueError, match="two tensors are called x"):
        print_operators(RegionOperators("r", (), (tensor,), (replace(tensor, height=3),)))


def test_a_constant_of_another_shape_is_not_taken(two_layers):
    region = two_layers
    text = print_operators(region)
    wrong = {digest: np.zeros(3, np.int8) for digest in constants_of(region.operators)}
    with pytest.raises(Exception, match="what the constant of this digest is, int8 of shape 3"):
        parse_operators(text, wrong)


def test_what_is_read_back_can_be_scheduled(two_layers):
    parsed = parse_operators(print_operators(two_layers)).region
    for operator, original in zip(parsed.operators, two_layers.operators, strict=True):
        assert choose_schedule(operator.scheduled, BASELINE) == choose_schedule(original.scheduled, BASELINE)
