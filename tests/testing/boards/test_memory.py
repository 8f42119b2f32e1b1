"""The cache of a stand-in hides what a cache may hide, and nothing else."""

import numpy as np
import pytest

from vta.testing.boards.memory import BoardMemory

START = 0x10000000


@pytest.fixture
def memory():
    return BoardMemory(START, 1 << 14, 32)


def test_what_the_cpu_writes_is_in_memory_once_it_is_flushed(memory):
    memory.cpu[100:110] = 7
    assert not np.array_equal(memory.dram[100:110], memory.cpu[100:110])
    memory.flush(START + 105, 1)
    np.testing.assert_array_equal(memory.dram[96:128], memory.cpu[96:128])


def test_what_the_accelerator_writes_is_seen_once_it_is_invalidated(memory):
    memory.dram[200:210] = 7
    assert not (memory.cpu[200:210] == 7).all()
    memory.invalidate(START + 200, 10)
    assert (memory.cpu[192:224] == memory.dram[192:224]).all()


def test_invalidating_loses_what_was_not_flushed(memory):
    memory.invalidate(START, 64)
    memory.cpu[0:4] = ~memory.cpu[0:4]
    before = memory.dram[0:4].copy()
    memory.invalidate(START + 20, 1)
    np.testing.assert_array_equal(memory.cpu[0:4], before)


def test_a_line_that_was_only_read_is_not_written_back(memory):
    memory.dram[0:32] = 7
    memory.flush(START, 64)
    memory.evict()
    assert (memory.dram[0:32] == 7).all()


def test_an_old_copy_of_a_lines_rest_goes_back_with_it(memory):
    memory.invalidate(START, 32)
    memory.dram[16:32] = 7
    memory.cpu[0:16] = 9
    memory.flush(START, 16)
    assert not (memory.dram[16:32] == 7).all()


def test_without_a_cache_both_see_the_same():
    memory = BoardMemory(START, 1 << 14, 0)
    memory.cpu[5] = 77
    assert memory.dram[5] == 77
    memory.dram[6] = 78
    assert memory.cpu[6] == 78
