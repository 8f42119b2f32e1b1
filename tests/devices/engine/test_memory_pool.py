from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.devices.engine.memory_pool import MemoryPool
from vta.errors import DeviceError

PAGE = 4096


def test_addresses_are_pages_and_never_zero():
    pool = MemoryPool(16 * PAGE)
    assert [pool.allocate(n) for n in (1, PAGE, PAGE + 1, 0)] == [PAGE, 2 * PAGE, 3 * PAGE, 5 * PAGE]


def test_out_of_memory_names_needed_and_available():
    pool = MemoryPool(4 * PAGE)
    pool.allocate(PAGE)
    with pytest.raises(DeviceError, match=r"12288 bytes needed, 8192 available .*of 16384"):
        pool.allocate(3 * PAGE)


def test_a_pool_without_room_for_a_page():
    with pytest.raises(DeviceError, match="0 available"):
        MemoryPool(PAGE).allocate(1)


def test_freed_neighbors_join():
    pool = MemoryPool(4 * PAGE)
    first, second, third = (pool.allocate(PAGE) for _ in range(3))
    pool.free(first)
    pool.free(third)
    pool.free(second)
    assert pool.allocate(3 * PAGE) == PAGE


@pytest.mark.parametrize("address", [0, PAGE, 2 * PAGE + 1])
def test_free_refuses_what_is_not_allocated(address):
    pool = MemoryPool(8 * PAGE)
    pool.free(pool.allocate(1))
    pool.allocate(PAGE)
    pool.allocate(PAGE)
    pool.free(PAGE)
    with pytest.raises(DeviceError, match="is not allocated"):
        pool.free(address)


def test_negative_sizes_are_refused():
    with pytest.raises(DeviceError, match="-1 bytes"):
        MemoryPool(8 * PAGE).allocate(-1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20 * PAGE)), max_size=40))
@settings(deadline=None, max_examples=100)
def test_allocations_never_overlap_and_nothing_leaks(steps):
    pool = MemoryPool(64 * PAGE)
    live = {}
    for grow, value in steps:
        if grow and value <= pool.largest:
            address = pool.allocate(value)
            live[address] = max(1, -(-value // PAGE)) * PAGE
        elif not grow and live:
            address = sorted(live)[value % len(live)]
            pool.free(address)
            del live[address]
        spans = sorted((start, start + size) for start, size in live.items())
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert all(start >= PAGE and end <= pool.capacity and start % PAGE == 0 for start, end in spans)
        assert pool.available == 63 * PAGE - sum(live.values())
