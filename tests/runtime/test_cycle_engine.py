from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timed_programs import CONFIGS, programs, timings
from vta.errors import DeviceError
from vta.isa import encode
from vta.isa.assembly import assemble_instructions
from vta.runtime.cycle_engine import CycleEngine, Preset
from vta.runtime.device import TIMELINE_KINDS, TIMELINE_UNITS, RunOptions, Tokens
from vta.testing.timing_reference import reference_timing
from vta.timing import TimingParameters

HW = CONFIGS[0]
EXAMPLE = """
    load inp sram=0 dram=256 y=1 x=4 stride=4 push=next
    gemm uop=0:4 loop=1,1 pop=prev
    finish
"""


def run(text, timing=None, preset=Preset.RTL, options=RunOptions(), tokens=None):
    return CycleEngine(HW, timing, preset).run(encode(assemble_instructions(text, HW), HW), options, tokens)


def times_by_index(column):
    return {index: int(cycle) for index, cycle in enumerate(column) if cycle >= 0}


def reference_or_error(program, hw, timing):
    try:
        return reference_timing(program, hw, timing, limit_cycles=100_000), ""
    except DeviceError as error:
        return None, str(error)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_it_equals_the_stepped_reference(data):
    hw, timing = data.draw(st.sampled_from(CONFIGS)), data.draw(timings())
    program = data.draw(programs(hw))
    expected, error = reference_or_error(program, hw, timing)
    engine = CycleEngine(hw, timing)
    if expected is None:
        with pytest.raises(DeviceError, match="tokens in the|deadlock"):
            engine.run(encode(program, hw))
        assert "tokens in queue" in error or "FINISH was not reached" in error
        return
    result = engine.run(encode(program, hw), RunOptions(timeline=True))
    assert result.cycles == expected.cycles
    assert result.units == expected.units
    assert (result.read_beats, result.write_beats) == (expected.read_beats, expected.write_beats)
    assert times_by_index(result.times.accepted) == expected.accepted
    assert times_by_index(result.times.completed) == expected.completed
    check_timeline(result)


def check_timeline(result):
    for index, name in enumerate(TIMELINE_UNITS):
        rows = result.timeline[result.timeline["unit"] == index]
        rows = rows[np.argsort(rows["start"])]
        assert (rows["start"][1:] >= rows["end"][:-1]).all()
        lengths = rows["end"] - rows["start"]
        for kind, what in enumerate(TIMELINE_KINDS):
            assert lengths[rows["kind"] == kind].sum() == getattr(result.units[name], what)
