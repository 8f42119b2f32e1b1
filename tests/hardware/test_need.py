"""What a core needs of an FPGA, and what boards have."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.boards.description import Capacity
from vta.boards.files import find_board, shipped_boards
from vta.cli.main import main
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters, timing_of
from vta.errors import DeviceError, UsageError
from vta.hardware.fabric import PLAIN, Fabric
from vta.hardware.need import Need, fabric_of, need_of, shortfalls
from vta.hardware.packaging.package import check_fits
from vta.hardware.synthesis.report import reported_cores

BOARDS = {name: find_board(name) for name in shipped_boards()}

# What Yosys counts for 7-series: config, bits of the bus, DSP48, BRAM36.
COUNTED = [("sim_1x8", 64, 56, 61), ("sim", 64, 176, 131.5), ("sim_rq", 64, 192, 132)]


def timing(name, bus_bits):
    return replace(timing_of(HardwareConfig.named(name)), bus_bits=bus_bits)


@pytest.mark.parametrize(("config", "bus_bits", "dsp", "blocks"), COUNTED)
def test_the_count_is_that_of_yosys(config, bus_bits, dsp, blocks):
    assert need_of(HardwareConfig.named(config), timing(config, bus_bits), "zynq-7000") == Need(dsp, blocks)


def test_the_count_is_that_of_yosys_here(tmp_path):
    """The same with the tool, where it is installed, for a core that does not take it long."""
    pytest.importorskip("amaranth")
    from vta.hardware.emit import emit_verilog
    from vta.hardware.synthesis.core import count_cells
    from vta.hardware.synthesis.yosys import find_yosys

    try:
        find_yosys()
    except DeviceError as error:
        pytest.skip(str(error))
    buffers = {"log_inp_buff_size": 12, "log_wgt_buff_size": 13, "log_acc_buff_size": 14, "log_uop_buff_size": 13}
    hw = replace(HardwareConfig.named("sim_1x8"), log_block=2, **buffers)
    given = replace(timing_of(hw), bus_bits=64)
    found = count_cells(emit_verilog(hw, given, fabric_of(hw, given, "zynq-7000")))
    assert need_of(hw, given, "zynq-7000") == Need(int(found.dsp), found.bram)


# Shipped configs by what is short on each board; what is not named here fits.
TOO_LARGE = {
    "pynq-z1": {"sim_1x32": "608 DSP of 220 and 188.5 BRAM36 of 140"},
    "ultra96": {"sim_1x32": "608 DSP of 360"},
    "de10-nano": {
        "sim_4x8": "134 DSP of 112 and 627 M10K of 557",
        "sim_1x32": "390 DSP of 112",
        "sim_rq": "134 DSP of 112 and 558 M10K of 557",
    },
    "kv260": {},
    "zcu104": {},
}
TOO_LARGE["ecpix5"] = TOO_LARGE["ulx3s-85f"] = {
    "sim": "304 DSP of 156 and",
    "sim_4x8": "352 DSP of 156 and",
    "sim_1x32": "1120 DSP of 156 and",
    "sim_rq": "320 DSP of 156 and",
}
TOO_LARGE["pynq-z2"] = TOO_LARGE["pynq-z1"]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("config", shipped_configs())
def test_every_board_with_every_shipped_config(board, config):
    hw, given = HardwareConfig.named(config), timing(config, BOARDS[board].core_design().bus_bits)
    others = [HardwareConfig.named(name) for name in shipped_configs()]
    same = {"pynq_4x8": "sim_4x8"}.get(config, config if config.startswith("sim_") else "sim")
    words = TOO_LARGE[board].get(same)
    if words is None:
        assert check_fits(BOARDS[board], hw, given, others) is not None
        return
    with pytest.raises(UsageError) as raised:
        check_fits(BOARDS[board], hw, given, others)
    said = str(raised.value)
    assert said.startswith(f"{hw.bitstream} does not fit board {board}, {BOARDS[board].part}: by our count it needs {words}")
    largest = {"ecp5": "1x8_i8w8a32_15_14_16_16", "cyclone-v": "1x16_"}.get(BOARDS[board].family, "4x8_")
    assert f"fitting: {largest}" in said


@pytest.mark.parametrize("report", reported_cores(), ids=lambda report: f"{report.config.bitstream}-{report.family}")
def test_the_count_is_that_of_every_report(report):
    families = {"xilinx": "zynq-7000", "ultrascale": "zynq-ultrascale+"}
    family = families.get(report.family, report.family)
    need = need_of(report.config, report.timing, family, fabric=report.fabric)
    counted = sum(unit.dsp for unit in report.units.values()), sum(unit.bram for unit in report.units.values())
    lanes = report.config.batch * report.config.block
    if family == "cyclone-v" and report.config.table_unit and lanes < 8:
        # The tables of few lanes are made of logic, and counted as memories all the same.
        counted = counted[0], counted[1] + 2 * lanes
    assert (need.dsp, need.block_memories) == counted


def test_memories_that_are_too_many_go_to_ultra_ram():
    hw, given = HardwareConfig.named("sim"), timing("sim", 64)
    family = "zynq-ultrascale+"
    assert need_of(hw, given, family, Capacity(0, 176, 132, 64)) == Need(176, 131.5)
    assert need_of(hw, given, family, Capacity(0, 176, 88, 64)) == Need(176, 74.5, 29)
    # The accumulator's memory is the next.
    assert need_of(hw, given, family, Capacity(0, 176, 88, 28)) == Need(176, 88, 24)
    little = Capacity(0, 176, 120, 0)
    assert shortfalls(need_of(hw, given, family, little), little, family) == ["125.5 BRAM36 of 120"]


def test_a_core_is_built_as_the_chip_wants_it():
    hw, given = HardwareConfig.named("sim"), timing("sim", 64)
    assert fabric_of(hw, given, "zynq-7000") == Fabric(dsp48=True, accumulator_banks=2)
    assert fabric_of(hw, given, "zynq-7000", Capacity(0, 176, 130, 0)) == Fabric(dsp48=True, accumulator_banks=4)
    assert need_of(hw, given, "zynq-7000", Capacity(0, 176, 130, 0)) == Need(176, 125.5)
    few = Capacity(0, 160, 140, 0)
    assert fabric_of(hw, given, "zynq-7000", few) == Fabric(dsp48=True, split_products=True, accumulator_banks=2)
    assert need_of(hw, given, "zynq-7000", few) == Need(160, 131.5)
    assert fabric_of(hw, given, "cyclone-v", Capacity(0, 110, 500, 0)) == PLAIN
    # A beat of two rows can begin in any bank.
    assert fabric_of(hw, timing("sim", 256), "zynq-7000") == Fabric(dsp48=True)


@given(st.data())
def test_more_memory_never_needs_less(data):
    hw, bus_bits = HardwareConfig.named("sim_1x8"), data.draw(st.sampled_from((64, 128, 256)))
    name = data.draw(st.sampled_from(("log_inp_buff_size", "log_wgt_buff_size", "log_acc_buff_size", "log_uop_buff_size")))
    family = data.draw(st.sampled_from(("zynq-7000", "cyclone-v")))
    large = need_of(hw, TimingParameters(bus_bits=bus_bits), family)
    small = need_of(replace(hw, **{name: getattr(hw, name) - 1}), TimingParameters(bus_bits=bus_bits), family)
    assert large.block_memories >= small.block_memories
    assert large.dsp == small.dsp


def test_a_board_that_does_not_say_what_it_has_takes_anything():
    board = replace(BOARDS["pynq-z1"], capacity=None)
    assert check_fits(board, HardwareConfig.named("sim"), timing("sim", 64)) is None


def test_the_command_refuses_and_can_be_told_to_go_on(tmp_path, capsys):
    pytest.importorskip("amaranth")
    where, config = tmp_path / "build", tmp_path / "large.json"
    small = HardwareConfig.named("sim_1x8")
    config.write_text(json.dumps(replace(small, log_inp_buff_size=12, log_wgt_buff_size=19, log_acc_buff_size=14).to_json()))
    command = ["rtl", "package", "pynq-z1", str(config), "-o", str(where)]
    assert main(command) == 2
    complaint = capsys.readouterr().err
    assert "needs 158 BRAM36 of 140; fitting: 4x8_i8w8a32_15_16_16_18 (192 DSP, 132 BRAM36), " in complaint
    assert not where.exists()
    assert main([*command, "--oversized"]) == 0
    assert (where / "build.tcl").exists()
