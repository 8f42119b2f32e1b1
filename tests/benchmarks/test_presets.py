"""The presets against published figures, where the recorded programs and measured times are there."""

import json

import numpy as np
import pytest

from benchmarks.presets import C2_RUNS, PUBLISHED_C2, board_rows, spearman
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.engine.cycle_engine import CycleEngine, Preset

HW = HardwareConfig.named("pynq")


@pytest.mark.parametrize("bus_bits", PUBLISHED_C2)
def test_chisel_gives_the_published_totals(shared, bus_bits):
    with np.load(shared / "programs" / "conv_C2_fallback.npz") as stored:
        assert not any(json.loads(str(stored["meta"]))["tokens_before"].values())
        stream = stored["insns"]
    timing = TimingParameters(bus_bits=bus_bits)
    cycles = CycleEngine(HW, timing, Preset.CHISEL).run(stream).cycles
    assert C2_RUNS * cycles == pytest.approx(PUBLISHED_C2[bus_bits], rel=0.05)


def test_hls_ranks_convolutions_as_the_board_does(shared):
    rows = board_rows(shared / "tophub" / "vta_v0.10.log", HW)
    assert len(rows) == 43
    assert spearman([row.measured_ms for row in rows], [row.predicted_ms for row in rows]) >= 0.9


def test_spearman():
    assert spearman([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert spearman([1, 2, 2, 3], [1, 2, 2, 3]) == pytest.approx(1)
