from dataclasses import fields

import pytest

from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.config.targets import Capabilities
from vta.report.documents.config_text import describe


def test_derived_sizes_of_the_baseline():
    values = describe(HardwareConfig.named("sim"))
    assert values["bitstream"] == "1x16_i8w8a32_15_15_18_17"
    assert values["macs_per_cycle"] == 256
    assert [values[f"{name}_depth"] for name in ("uop", "inp", "wgt", "acc", "out")] == [8192, 2048, 1024, 2048, 2048]
    assert [values[f"{name}_element_bytes"] for name in ("uop", "inp", "wgt", "acc", "out")] == [4, 16, 256, 64, 16]
    assert values["out_buffer_bytes"] == 1 << 15
    assert (values["uop_bits"], values["gemm_word0_bits"], values["gemm_word1_bits"], values["alu_word1_bits"]) == (
        32,
        63,
        64,
        64,
    )


def test_a_target_that_fixes_the_uop_depth_shows_it():
    values = describe(HardwareConfig.named("de10nano"))
    assert values["uop_depth"] == values["uop_depth_limit"] == 2048


@pytest.mark.parametrize("name", shipped_configs())
def test_every_capability_is_shown_and_everything_fits(name):
    values = describe(HardwareConfig.named(name))
    assert {field.name for field in fields(Capabilities)} <= set(values)
    assert values["uop_bits"] <= 32
    assert all(value <= 64 for key, value in values.items() if "_word" in key)
    assert all(isinstance(value, (str, int)) for value in values.values())
