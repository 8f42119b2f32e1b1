"""Short names of layers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from vta.pages.data.names import short_names


def test_what_most_share_is_left_out():
    found = short_names(["net/stage_1/conv", "net/stage_2/conv", "net/stage_3/conv", "input"])
    assert list(found.values()) == ["stage_1/conv", "stage_2/conv", "stage_3/conv", "input"]
    assert short_names(["resnet_a0", "resnet_b1"]) == {"resnet_a0": "a0", "resnet_b1": "b1"}
    assert short_names(["alone/here"]) == {"alone/here": "alone/here"}


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from("ab/_1"), max_size=60), max_size=8), st.integers(5, 30))
def test_short_names_differ_and_have_bounded_length(names, longest):
    found = short_names(names, longest)
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
    assert all(len(text) <= longest + len(" (99)") for text in found.values())
