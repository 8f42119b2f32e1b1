"""Programs of the published compiler on the cycle engine and the hardware itself."""

import numpy as np
import pytest

from tests.engines import assert_same_time, open_engine
from tests.recorded_programs import COUNTERS, HW, NETWORKS, PAGE, UNITS, recorded
from vta.devices.device import RunOptions

LONGEST = 100_000


def run(engine, program):
    """Result of a run and the pages afterwards."""
    device = open_engine(engine, HW, program.memory_bytes + program.stream.size + 2 * PAGE)
    assert device.allocate(program.memory_bytes - PAGE) == PAGE
    for address, page in zip(program.addresses, program.before, strict=True):
        device.write(address, page)
    result = device.run(program.stream, RunOptions(tokens=program.tokens_before))
    return result, np.stack([device.read(address, PAGE) for address in program.addresses])


@pytest.mark.parametrize("name", [*UNITS, *NETWORKS])
def test_same_bytes_and_cycles(shared, name):
    """What the simulator that recorded them stored, although the hardware stores from an output buffer of its own."""
    program = recorded(shared, name)
    assert len(program.stream) <= LONGEST
    rtl, on_rtl = run("rtl", program)
    cycle, on_cycle = run("cycle", program)
    np.testing.assert_array_equal(on_rtl, program.after)
    np.testing.assert_array_equal(on_cycle, program.after)
    assert_same_time(cycle, rtl)
    assert {key: getattr(rtl.counters, key) for key in COUNTERS} == {k: program.counters[v] for k, v in COUNTERS.items()}
    assert rtl.tokens == program.tokens_after
