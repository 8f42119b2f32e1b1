"""Segments of streams on hardware: their tokens, and that their end waits for all stores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.devices.device import RunOptions, Tokens
from vta.devices.engine.segments import ends_with_finish, finish, segment_of, settling, token_moves, tokens_after
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.isa import Opcode, Unit, blank_instructions, decode, encode, units_of

QUEUES = ("load_to_compute", "compute_to_load", "compute_to_store", "store_to_compute")
COUNTS = st.builds(Tokens, *[st.integers(0, 5)] * 4)


@given(have=COUNTS, want=COUNTS)
def test_moves_lead_from_one_count_to_the_other(have, want):
    moves = token_moves(have, want)
    assert tokens_after(moves, have) == want
    device = SimDevice(BASELINE, 1 << 16)
    assert device.run(encode(moves, BASELINE), RunOptions(tokens=have)).tokens == want


@given(left=COUNTS, seed=st.integers(0, 100))
def test_settling_changes_no_tokens_in_any_order(left, seed):
    rows = settling(left)
    assert tokens_after(rows, left) == left
    code = np.concatenate([encode(rows, BASELINE), finish(BASELINE)])
    assert SimDevice(BASELINE, 1 << 16).run(code, RunOptions(tokens=left, seed=seed)).tokens == left


@pytest.mark.parametrize("pushed", range(4))
def test_after_settling_all_stores_came_before_finish(pushed):
    """The compute unit takes one token more than stores left: the last comes from behind the last store."""
    left = Tokens(store_to_compute=pushed)
    rows = settling(left)
    units = units_of(rows)
    first_push = np.flatnonzero(units == Unit.STORE)[0]
    pops = np.flatnonzero(rows["pop_next"][:] & (units == Unit.COMPUTE))
    assert first_push == 0
    assert len(pops) == pushed + 1
    assert np.count_nonzero(units == Unit.STORE) == pushed + 1


def test_segments_are_checked():
    stream = np.zeros((3, 16), np.uint8)
    assert len(segment_of(stream, RunOptions(first=1))) == 2
    with pytest.raises(DeviceError, match=r"segment \[2, 4\) is not inside the stream of 3 instructions"):
        segment_of(stream, RunOptions(first=2, last=4))
    with pytest.raises(DeviceError, match="has shape"):
        segment_of(np.zeros((3, 8), np.uint8), RunOptions())


def test_finish_is_known():
    code = finish(BASELINE)
    assert ends_with_finish(code)
    assert decode(code, BASELINE)["opcode"][0] == Opcode.FINISH
    assert not ends_with_finish(encode(blank_instructions(1), BASELINE))
    assert not ends_with_finish(np.zeros((0, 16), np.uint8))
