"""Energy and area: every part is there, adds up, and moves with what it is made from."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases._nets import config
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.devices.device import Counters
from vta.schedule.energy import area_of, energy_of

HW, PLAIN = config("sim"), Technology()
COUNTERS = Counters(
    inp_bytes=1600, wgt_bytes=25600, acc_bytes=6400, uop_bytes=40, out_bytes=320, gemm_uops=100, reset_uops=20, alu_uops=30,
    macs=100 * HW.batch * HW.block**2, load_instructions=3, compute_instructions=4, store_instructions=1,
)  # fmt: skip


def test_a_run_by_hand():
    energy = energy_of(COUNTERS, HW, PLAIN)
    access = {"uop": (4, 1 << 15), "inp": (16, 1 << 15), "wgt": (256, 1 << 18), "acc": (64, 1 << 17), "out": (16, 1 << 15)}
    rows = {"uop": 150 + 10, "inp": 100 + 100, "wgt": 100 + 100, "acc": 200 + 20 + 90 + 100, "out": 150 + 20}
    expected = {name: rows[name] * PLAIN.sram_access_pj(*access[name]) for name in rows}
    expected |= {"mac": 25600 * 0.3, "alu": 30 * 16 * 0.1, "dram": (1600 + 25600 + 6400 + 40 + 320 + 8 * 16) * 243.75}
    assert energy.pop("total") == pytest.approx(sum(expected.values()))
    assert energy == pytest.approx(expected)


PARTS = {
    "multiply_8_pj": "mac",
    "add_32_pj": "alu",
    "sram_pj": "wgt",
    "dram_byte_pj": "dram",
}


@pytest.mark.parametrize(("figure", "part"), PARTS.items())
def test_energy_moves_with_every_figure(figure, part):
    dearer = replace(PLAIN, **{figure: 2 * getattr(PLAIN, figure)})
    before, after = energy_of(COUNTERS, HW, PLAIN), energy_of(COUNTERS, HW, dearer)
    assert after[part] > before[part]
    assert after["total"] > before["total"]


@pytest.mark.parametrize("figure", ["multiply_8_um2", "multiply_32_um2", "add_32_um2", "sram_bit_um2"])
def test_area_moves_with_every_figure(figure):
    dearer = replace(PLAIN, **{figure: 2 * getattr(PLAIN, figure)})
    assert area_of(HW, dearer)["total"] > area_of(HW, PLAIN)["total"]


@pytest.mark.parametrize("name", ["UOP", "INP", "WGT", "ACC"])
def test_a_smaller_buffer_takes_less_energy_and_area(name):
    key = f"LOG_{name}_BUFF_SIZE"
    smaller = config("sim", **{key: HW.to_json()[key] - 1})
    part = name.lower()
    assert energy_of(COUNTERS, smaller, PLAIN)[part] < energy_of(COUNTERS, HW, PLAIN)[part]
    assert area_of(smaller, PLAIN)[part] == area_of(HW, PLAIN)[part] / 2


def test_narrow_accumulators_and_a_small_matrix_take_less():
    narrow = config("sim", LOG_ACC_WIDTH=4, LOG_ACC_BUFF_SIZE=16)
    small = HardwareConfig.named("sim_1x8")
    for other in (narrow, small):
        before, after = area_of(HW, PLAIN), area_of(other, PLAIN)
        assert after["mac"] < before["mac"]
        assert after["alu"] < before["alu"]
    assert energy_of(COUNTERS, narrow, PLAIN)["mac"] < energy_of(COUNTERS, HW, PLAIN)["mac"]


def test_an_alu_that_multiplies_is_larger():
    assert area_of(HW, PLAIN)["alu"] > area_of(replace(HW, target="pynq"), PLAIN)["alu"]


@pytest.mark.parametrize("name", shipped_configs())
def test_no_part_of_a_shipped_config_is_nothing(name):
    area = area_of(HardwareConfig.named(name), PLAIN)
    assert min(area.values()) > 0
    assert area["total"] == pytest.approx(sum(area.values()) - area["total"])


counts = st.integers(0, 1 << 40)


@given(st.builds(Counters, *[counts] * 12), st.builds(Counters, *[counts] * 12))
def test_the_energy_of_two_runs_is_that_of_both(first, second):
    parts = [energy_of(counters, HW, PLAIN) for counters in (first, second, first + second)]
    for name in parts[0]:
        assert parts[0][name] + parts[1][name] == pytest.approx(parts[2][name])
