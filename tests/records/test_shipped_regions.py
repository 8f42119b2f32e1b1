"""Choices for whole regions that come with vta: each still leads to the cycles that it states."""

import pytest

from vta.codegen.region_timing import RegionTimer
from vta.compiler.compile import compile_model, graph_regions
from vta.config.hardware import HardwareConfig
from vta.records.log import read_log
from vta.records.region import chosen_schedules, ranked_choices, region_identity
from vta.records.shipped import shipped_folder

NETWORKS = (
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/vww_96_int8.tflite",
    "mobilenet/mobilenet_v1_0.25_224_quant.tflite",
    "mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite",
)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_choice_takes_the_cycles_that_it_states(name, shared):
    hw = HardwareConfig.named("sim_rq")
    records = [line.record for line in read_log(shipped_folder() / f"{hw.bitstream}.log") if line.record]
    choices = ranked_choices(records)
    regions = graph_regions(compile_model(str(shared / "models" / name), hw).graph, hw)
    assert regions
    for region in regions:
        (choice,) = choices[hw.model, region_identity(region, hw)]
        assert RegionTimer(region, hw).cycles(chosen_schedules(choice, region, hw)) == choice[0].place.cycles
