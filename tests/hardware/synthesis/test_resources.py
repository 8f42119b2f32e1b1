"""What cells take of FPGAs."""

import pytest

from vta.hardware.synthesis.resources import FAMILIES, Resources, family_of, resources_of


@pytest.mark.parametrize(
    ("cells", "alms"),
    [
        ({"MISTRAL_ALUT6": 3}, 3),
        ({"MISTRAL_ALUT4": 3}, 2),
        ({"MISTRAL_ALUT5": 2, "MISTRAL_ALUT3": 3}, 3),
        ({"MISTRAL_ALUT5": 2, "MISTRAL_ALUT4": 2}, 3),
        ({"MISTRAL_ALUT_ARITH": 8, "MISTRAL_NOT": 2}, 5),
        ({"MISTRAL_FF": 9, "MISTRAL_ALUT2": 2}, 3),
        ({"MISTRAL_MLAB": 20}, 10),
    ],
)
def test_adaptive_logic_modules_are_filled_by_inputs(cells, alms):
    assert resources_of(cells, "cyclone-v").lut == alms


def test_multipliers_share_the_blocks_of_a_cyclone():
    assert resources_of({"MISTRAL_MUL9X9": 7}, "cyclone-v").dsp == 3
    assert resources_of({"MISTRAL_MUL18X18": 3, "MISTRAL_MUL27X27": 1}, "cyclone-v").dsp == 3


def test_halves_of_block_memories_and_tables_that_are_memory():
    assert resources_of({"RAMB18E1": 3, "RAM32M": 2, "LUT6": 1, "FDRE": 4, "CARRY4": 9}, "xilinx") == Resources(9, 4, 0, 1.5)
    assert resources_of({"RAMB18E2": 1, "RAM64M8": 2, "DSP48E2": 5}, "ultrascale") == Resources(16, 0, 5, 0.5)


def test_families_of_boards():
    assert {family_of(name) for name in ("zynq-7000", "zynq-ultrascale+", "ecp5", "cyclone-v")} == set(FAMILIES)
