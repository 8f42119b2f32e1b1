"""Work that is dealt out in groups."""

from hypothesis import given
from hypothesis import strategies as st

from vta.support.deal import Deal

takes = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=60)


def test_whoever_begins_a_group_ends_it():
    deal = Deal("aaabbbb")
    assert [deal.take("x"), deal.take("y", 2), deal.take("x", 9), deal.take("y")] == [[0], [3, 4], [1, 2], [5]]
    assert (len(deal), deal.next_of("z")) == (1, 6)
    assert deal.take("x", 2) == [6], "no other group is left"
    assert deal.take("y") == []
    assert deal.next_of("y") is None


def test_the_largest_group_is_divided():
    deal = Deal("abbbb")
    deal.take("x")
    deal.take("y")
    assert deal.take("x", 2) == [2, 3]


def test_what_is_given_back_goes_out_one_by_one():
    deal = Deal("aa")
    deal.give_back(deal.take("x", 2))
    assert [deal.take("x", 2), deal.take("x", 2), deal.take("x", 2)] == [[0], [1], []]


@given(st.lists(st.sampled_from("abc"), max_size=30), takes)
def test_each_piece_goes_out_once_and_in_one_group(keys, takes):
    deal, seen = Deal(keys), []
    for who, most in takes:
        taken = deal.take(who, most)
        assert len({keys[index] for index in taken}) <= 1
        assert bool(taken) == (len(seen) < len(keys))
        seen += taken
        assert len(deal) == len(keys) - len(seen)
    assert len(set(seen)) == len(seen)
