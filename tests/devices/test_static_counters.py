"""Counters from instructions alone equal those of a run."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.devices.device import Counters, RunOptions
from vta.devices.static_counters import count_instructions, count_operators
from vta.testing.fuzz.campaign import case_of
from vta.testing.fuzz.engines import open_device
from vta.testing.fuzz.points import default_points


@given(st.sampled_from(default_points()), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_equal_to_a_run(point, seed):
    program, timing = case_of(point, seed)
    device = open_device("sim", program, timing)
    base = device.allocate(program.image_bytes)
    device.write(base, program.image)
    operators = np.arange(len(program.instructions), dtype=np.int32) % 3 - 1
    result = device.run(program.encoded(base), RunOptions(operator_index=operators, operator_count=2))
    assert count_instructions(program.instructions, program.hw) == result.counters
    assert count_operators(program.instructions, operators, 2, program.hw) == result.operators


def test_nothing():
    program, _ = case_of(default_points()[0], 0)
    assert count_instructions(program.instructions[:0], program.hw) == Counters()
