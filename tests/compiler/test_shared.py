"""Compilations that share what the sizes of buffers do not change give the programs of those that share nothing."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tflite_models import small_net
from vta.compiler.compile import compile_graph, lower_model
from vta.compiler.shared import SharedCompilation, geometry_of
from vta.config.hardware import HardwareConfig
from vta.frontend import load_model
from vta.schedule.source import DEFAULT_SCHEDULES

SIM = HardwareConfig.named("sim")
BUFFERS = [
    {},
    {"log_inp_buff_size": 10},
    {"log_acc_buff_size": 9, "log_wgt_buff_size": 12},
    {"log_uop_buff_size": 4},
    {"log_acc_buff_size": 9, "log_wgt_buff_size": 12, "log_inp_buff_size": 10},
    {},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.tflite"
    path.write_bytes(small_net())
    return lower_model(load_model(path), SIM)[0]


def test_programs_are_the_same_whatever_was_compiled_before(graph):
    shared = SharedCompilation(graph, SIM)
    for changes in BUFFERS:
        hw = replace(SIM, **changes)
        apart = compile_graph(graph, hw, schedules=DEFAULT_SCHEDULES)
        together = shared.programs(shared.tiles(hw))
        assert len(together) == len(apart.regions)
        for one, other in zip(together, apart.regions, strict=True):
            assert np.array_equal(one.program.encoded(), other.program.encoded())
            assert np.array_equal(one.program.image, other.program.image)


def test_geometries_leave_out_buffers_alone():
    assert geometry_of(replace(SIM, log_inp_buff_size=12)) == geometry_of(SIM)
    assert geometry_of(replace(SIM, requantize_unit=1)) != geometry_of(SIM)
    assert geometry_of(replace(SIM, log_block=5, log_inp_buff_size=15)) != geometry_of(SIM)
