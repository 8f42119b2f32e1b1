"""Bytes of DRAM that a stream may touch, against a walk over every element."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.config.targets import MemoryType
from vta.isa import Opcode, blank_instructions
from vta.isa.transfers import first_transfer_outside

NUMBERS = st.integers(0, 5)
FIELDS = ("dram_base", "x_size", "y_size", "x_stride")


@st.composite
def transfers(draw):
    rows = blank_instructions(draw(st.integers(0, 4)))
    for row in rows:
        row["opcode"] = draw(st.sampled_from([Opcode.LOAD, Opcode.STORE, Opcode.GEMM]))
        row["memory_type"] = MemoryType.OUT if row["opcode"] == Opcode.STORE else draw(st.sampled_from(list(MemoryType)))
        for name in FIELDS:
            row[name] = draw(NUMBERS)
    return rows


def walked(row, hw):
    """First byte and the byte after the last that a transfer reads or writes; None if it moves nothing."""
    if row["opcode"] not in (Opcode.LOAD, Opcode.STORE):
        return None
    size = hw.elem_bytes(MemoryType(row["memory_type"]))
    base, width, height, stride = (int(row[name]) for name in FIELDS)
    elements = [base + y * stride + x for y in range(height) for x in range(width)]
    return (min(elements) * size, (max(elements) + 1) * size) if elements else None


@given(rows=transfers(), cuts=st.lists(st.integers(0, 40), max_size=6, unique=True))
def test_the_first_transfer_outside_is_found(rows, cuts):
    edges = sorted(64 * cut for cut in cuts)
    ranges = list(zip(edges[::2], edges[1::2], strict=False))
    expected = None
    for index, row in enumerate(rows):
        span = walked(row, BASELINE)
        if span and not any(start <= span[0] and span[1] <= end for start, end in ranges):
            expected = (index, *span)
            break
    found = first_transfer_outside(rows, BASELINE, ranges)
    assert (found and (found.instruction, found.start, found.end)) == expected


def test_neighboring_ranges_are_not_one():
    row = blank_instructions(1)
    row["memory_type"], row["x_size"], row["y_size"] = MemoryType.INP, 2, 1
    assert first_transfer_outside(row, BASELINE, [(0, 32)]) is None
    assert first_transfer_outside(row, BASELINE, [(0, 16), (16, 32)]) is not None


def test_addresses_beyond_32_bits_are_not_taken_for_small_ones():
    row = blank_instructions(1)
    row["memory_type"], row["x_size"], row["y_size"], row["dram_base"] = MemoryType.WGT, 1, 1, np.uint32(0xFFFFFFFF)
    found = first_transfer_outside(row, BASELINE, [(0, 1 << 20)])
    assert found.start == 0xFFFFFFFF * 256
