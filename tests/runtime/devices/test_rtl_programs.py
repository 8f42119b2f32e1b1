"""Programs of the published compiler on the core: same bytes as recorded, same cycles as the cycle device."""

import json

import numpy as np
import pytest

from vta.config import HardwareConfig
from vta.errors import DeviceError
from vta.hardware.verilator.toolchain import compiler, find_verilator, require_amaranth
from vta.runtime.device import RunOptions, Tokens
from vta.runtime.devices.cycle import CycleDevice
from vta.runtime.devices.rtl import RtlDevice
from vta.timing import TimingParameters

PAGE = 4096
HW = HardwareConfig("rtl", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17)
LONGEST = 100_000
SHORT = 5_000
"""Instructions of a program that takes the simulation of the core seconds at most."""


@pytest.fixture(scope="module")
def programs(shared):
    try:
        find_verilator()
        compiler()
        require_amaranth()
    except DeviceError as error:
        pytest.skip(str(error))
    paths = sorted((shared / "programs").glob("*.npz"))
    if not paths:
        pytest.skip("needs the shared programs")
    return paths


def run(kind, stored):
    meta = json.loads(str(stored["meta"]))
    size = int(stored["page_addr"].max()) + PAGE
    device = kind(HW, TimingParameters(), size + 16 * len(stored["insns"]) + PAGE)
    assert device.allocate(size - PAGE) == PAGE
    for address, page in zip(stored["page_addr"], stored["page_before"], strict=True):
        device.write(int(address), page)
    tokens = Tokens(*(meta["tokens_before"][queue] for queue in ("l2g", "g2l", "g2s", "s2g")))
    result = device.run(stored["insns"], RunOptions(tokens=tokens))
    return result, [device.read(int(address), PAGE) for address in stored["page_addr"]]


def check(path):
    """Run a program on both devices; returns whether the bytes are those recorded."""
    with np.load(path) as stored:
        rtl, pages = run(RtlDevice, stored)
        cycle, expected = run(CycleDevice, stored)
        recorded = stored["page_before"].copy()
        recorded[stored["page_after_index"]] = stored["page_after"]
    for name in ("counters", "tokens", "cycles", "units", "read_beats", "write_beats"):
        assert getattr(rtl, name) == getattr(cycle, name), f"{path.stem}: {name}"
    np.testing.assert_array_equal(pages, expected, err_msg=path.stem)
    np.testing.assert_array_equal(pages, recorded, err_msg=path.stem)
    return rtl


def lengths(paths):
    for path in paths:
        with np.load(path) as stored:
            yield path, len(stored["insns"])


def test_short_programs(programs):
    done = [check(path) for path, length in lengths(programs) if length <= SHORT]
    assert len(done) >= 20


@pytest.mark.slow
def test_longer_programs(programs):
    done = [check(path) for path, length in lengths(programs) if SHORT < length <= LONGEST]
    assert done
