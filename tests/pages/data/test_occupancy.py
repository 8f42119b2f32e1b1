"""Rows that are in use."""

import numpy as np

from vta.isa.program import SymbolKind
from vta.pages.data.accesses import DRAM, accesses
from vta.pages.data.occupancy import BUFFERS, occupancy
from vta.pages.data.row_lives import RowLives


def lives_of(rows):
    return sorted(zip(*(column.tolist() for column in rows.lives()), strict=True))


def test_a_row_lives_from_its_write_to_its_last_read():
    rows = RowLives(8)
    rows.write(0, 2, 10, 12)
    rows.read(0, 1, 20)
    rows.read(0, 1, 30)
    rows.write(0, 2, 40, 41)
    rows.read(1, 1, 50)
    assert lives_of(rows) == [(10, 30), (10, 50), (40, 41)]


def test_what_is_written_in_parts_is_one_life():
    rows = RowLives(4)
    rows.write(1, 1, 5, 6)
    rows.write(1, 1, 8, 9)
    rows.read(1, 1, 20)
    assert lives_of(rows) == [(5, 20)]


def test_a_life_ends_before_the_next_one_in_its_row():
    rows = RowLives(1)
    rows.write(0, 1, 0, 2)
    rows.read(0, 1, 9)
    rows.write(0, 1, 7, 8)
    assert lives_of(rows) == [(0, 7), (7, 8)]


def test_nothing_is_read_that_was_not_written(module):
    """Of the buffers on the chip: each read lies on rows that an earlier instruction wrote."""
    for region in module.regions:
        written = {name: np.zeros(1 << 20, dtype=bool) for name in (*BUFFERS, DRAM)}
        for symbol in region.program.symbols:
            if symbol.kind in (SymbolKind.INPUT, SymbolKind.UOP, SymbolKind.CONSTANT):
                written[DRAM][symbol.offset : symbol.offset + symbol.nbytes] = True
        for access in accesses(region.program):
            rows = written[access.memory][access.first : access.first + access.rows]
            if access.reads:
                assert rows[0], access
                assert rows[-1], access
            else:
                rows[:] = True


def test_memories_are_never_more_than_full(module, report, runs):
    found = occupancy(runs, module.hw, 50)
    assert len(found.edges) == 51
    assert found.edges[-1] == report.cycles
    for buffer in found.buffers:
        assert 0 < buffer.peak <= 1
        assert max(buffer.level) <= buffer.peak + 1e-3
    width = np.diff(found.edges)
    moved = report.counters.dram_bytes
    read = sum(nbytes for name, nbytes in moved.items() if name != "out")
    np.testing.assert_allclose(np.dot(found.read_per_cycle, width), read, rtol=1e-3)
    np.testing.assert_allclose(np.dot(found.written_per_cycle, width), moved["out"], rtol=1e-3)
    assert max(found.tensor_bytes) <= sum(region.program.image_bytes for region in module.regions)
