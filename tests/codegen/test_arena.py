"""Placing tensors in the arena."""

from hypothesis import given, settings
from hypothesis import strategies as st

from vta.codegen.arena import Lifetime, place

lifetimes = st.tuples(st.integers(1, 100), st.integers(0, 12), st.integers(0, 5)).map(
    lambda drawn: Lifetime(drawn[0], drawn[1], drawn[1] + drawn[2])
)


@settings(deadline=None, max_examples=200)
@given(st.lists(lifetimes, max_size=20))
def test_tensors_alive_together_do_not_overlap_and_all_lie_in_the_arena(tensors):
    offsets, size = place(tensors)
    assert len(offsets) == len(tensors)
    for index, (tensor, offset) in enumerate(zip(tensors, offsets, strict=True)):
        assert 0 <= offset <= size - tensor.size
        for other, at in zip(tensors[:index], offsets[:index], strict=True):
            if tensor.meets(other):
                assert offset + tensor.size <= at or at + other.size <= offset
    alive = [sum(t.size for t in tensors if t.first <= time <= t.last) for time in range(20)]
    assert max(alive) <= size <= sum(t.size for t in tensors)


def test_a_chain_needs_little_more_than_its_two_largest_neighbors():
    chain = [Lifetime(size, index, index + 1) for index, size in enumerate((4, 10, 3, 8, 1, 12))]
    assert place(chain)[1] == 14


def test_lifetimes_include_both_ends():
    assert Lifetime(1, 0, 3).meets(Lifetime(1, 3, 4))
    assert not Lifetime(1, 0, 2).meets(Lifetime(1, 3, 4))
    offsets, size = place([Lifetime(5, 0, 1), Lifetime(5, 1, 2), Lifetime(5, 2, 3)])
    assert size == 10
    assert offsets[0] == offsets[2]


def test_nothing_takes_no_memory():
    assert place([]) == ([], 0)
