"""Slots of an on-chip buffer."""

from collections import OrderedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from vta.codegen.slots import Slots


def test_slots_lie_one_after_the_other():
    slots = Slots(10, 4, 3)
    assert [slots.take(key) for key in "abc"] == [10, 14, 18]
    assert slots.find("b") == 14
    assert slots.find("d") is None


def test_the_oldest_content_makes_room():
    slots = Slots(0, 2, 2)
    for key in "abc":
        slots.take(key)
    assert slots.find("a") is None
    assert slots.find("b") == 2
    assert slots.find("c") == 0


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 5), st.lists(st.integers(0, 8), max_size=40))
def test_what_is_found_is_what_was_taken_last(count, keys):
    slots = Slots(7, 3, count)
    model: OrderedDict[int, int] = OrderedDict()
    for key in keys:
        found = slots.find(key)
        assert found == model.get(key)
        if found is None:
            if len(model) == count:
                model.popitem(last=False)
            row = slots.take(key)
            assert row not in model.values()
            assert row in range(7, 7 + 3 * count, 3)
            model[key] = row
