"""What is written for the tools: top module, constraints, PLL, scripts, and what is read of the memory controller."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from vta.bitstream.constraints import constraints_text
from vta.bitstream.dram import generator_settings, read_controller
from vta.bitstream.ethernet import board_settings
from vta.bitstream.plan import make_plan
from vta.bitstream.pll import pll_for
from vta.bitstream.script import whole_script
from vta.bitstream.top import top_verilog
from vta.boards.controller import ControllerSetup, SetupStep
from vta.boards.ethernet import Network
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError

ECPIX5, ULX3S = find_board("ecpix5"), find_board("ulx3s-85f")
HEADER = """
#define DFII_CONTROL_SEL 0x01
#define DFII_CONTROL_CKE 0x02
#define DFII_CONTROL_ODT 0x04
#define DFII_COMMAND_CS 0x01
#define DFII_COMMAND_WE 0x02
#define SDRAM_PHY_DFI_DATABITS 64
#define SDRAM_PHY_PHASES 2
#define SDRAM_PHY_RDPHASE 0
#define SDRAM_PHY_WRPHASE 1
#define SDRAM_PHY_MODULES 2
#define SDRAM_PHY_DELAYS 8
#define SDRAM_PHY_BITSLIPS 4
#define SDRAM_PHY_SUPPORTED_MEMORY 0x0000000020000000ULL
static inline void init_sequence(void)
{
	/* Bring CKE high */
	sdram_dfii_pi0_address_write(0x0);
	sdram_dfii_pi0_baddress_write(0);
	sdram_dfii_control_write(DFII_CONTROL_CKE|DFII_CONTROL_ODT);
	cdelay(10000);

	/* ZQ Calibration */
	sdram_dfii_pi0_address_write(0x400);
	sdram_dfii_pi0_baddress_write(1);
	command_p0(DFII_COMMAND_WE|DFII_COMMAND_CS);

}
"""
VERILOG = """// Date       : 2026-01-01
module litedram_core (
    input  wire   [15:0] ddram_dq,
    input  wire    [1:0] ddram_dqs_p,
    input  wire          rst
);
"""


def generated(folder, header=HEADER, verilog=VERILOG):
    """What the generator of the controller leaves."""
    files = {
        "gateware/litedram_core.v": verilog,
        "software/include/generated/sdram_phy.h": header,
        "registers.json": json.dumps({"csr_registers": {"ddrctrl_init_done": {"addr": 4, "size": 1, "type": "rw"}}}),
    }
    for name, text in files.items():
        path = folder / "controller" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_controller_is_read(tmp_path):
    found = read_controller(generated(tmp_path))
    assert found.memory_bytes == ECPIX5.memory.nbytes
    assert "inout  wire   [15:0] ddram_dq," in found.verilog
    assert "inout  wire    [1:0] ddram_dqs_p," in found.verilog
    assert "Date" not in found.verilog
    steps = (SetupStep("Bring CKE high", 0, 0, 6, None, 10000), SetupStep("ZQ Calibration", 0x400, 1, None, 3, 0))
    assert found.setup == ControllerSetup({"ddrctrl_init_done": (4, 1)}, 2, 0, 1, 2, 8, 8, 4, steps)
    assert ControllerSetup.from_json(json.loads(json.dumps(found.setup.to_json())), "a.json") == found.setup


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (HEADER.replace("#define SDRAM_PHY_MODULES 2\n", ""), "SDRAM_PHY_MODULES"),
        (HEADER.replace("command_p0", "command_q0"), "has neither a command nor a level"),
        ("", "SDRAM_PHY|init_sequence|substring"),
    ],
)
def test_another_generator_is_found_out(tmp_path, header, words):
    with pytest.raises(DeviceError, match=f"left what is not understood: .*({words})"):
        read_controller(generated(tmp_path, header))
    with pytest.raises(DeviceError, match="its data lines are not found"):
        read_controller(generated(tmp_path, verilog="module litedram_core();"))


def test_a_setup_that_is_none_is_named():
    with pytest.raises(ConfigError, match=r"a\.json: not the setup of a memory controller"):
        ControllerSetup.from_json({"registers": {}, "steps": [{"what": "x"}]}, "a.json")


def test_chips_of_another_size_are_refused():
    plan = make_plan(ECPIX5, HardwareConfig.named("sim_1x8"))
    plan.check_memory(ECPIX5.memory.nbytes)
    with pytest.raises(ConfigError, match=r"ecpix5\.yaml: memory has 536870912 bytes; by the figures of its chips it is 4096"):
        plan.check_memory(4096)


def test_the_generator_is_told_of_chips_and_clocks():
    values = json.loads(generator_settings(ECPIX5.fpga.dram, ECPIX5.part, clock_mhz=50, oscillator_mhz=100))
    told = (values["sdram_module"], values["sdram_module_nb"], values["sys_clk_freq"], values["input_clk_freq"])
    assert told == ("MT41K256M16", 2, 50e6, 100e6)


@pytest.mark.parametrize("board", [ECPIX5, ULX3S])
def test_every_port_has_a_place_and_every_place_a_port(board):
    text = top_verilog(board.fpga, bus_bits=board.design().bus_bits, address_bits=29, pll=None)
    declared = re.findall(r"^  (?:input|output|inout) wire (?:\[(\d+):0\] )?(\w+)", text, re.MULTILINE)
    assert "0" not in dict(declared), "a port of one bit with an index loses its kind"
    ports = {f"{name}[{bit}]" if high else name for high, name in declared for bit in range(int(high or 0) + 1)}
    constraints = constraints_text(board.fpga)
    assert set(re.findall(r'LOCATE COMP "([^"]+)"', constraints)) == ports
    assert set(re.findall(r'IOBUF PORT "([^"]+)"', constraints)) == ports
    assert f'FREQUENCY PORT "clock" {board.fpga.clock_mhz:g} MHZ' in constraints


def test_the_network_is_joined_with_the_system_and_its_clock_is_known():
    text = top_verilog(ECPIX5.fpga, bus_bits=128, address_bits=29, pll=None)
    assert ".network_adr(net_adr)" in text
    assert ".bus_adr(net_adr)" in text
    assert ".eth_rx_data(eth_rx_data)" in text
    assert "network" not in top_verilog(ULX3S.fpga, bus_bits=64, address_bits=15, pll=None)
    constraints = constraints_text(ECPIX5.fpga)
    assert 'FREQUENCY PORT "eth_clock_rx" 125 MHZ' in constraints
    assert 'IOBUF PORT "eth_rx_data[3]" IO_TYPE=LVCMOS33 PULLMODE=UP' in constraints


def test_what_the_board_is_called_may_be_said_for_a_build():
    plan = make_plan(ECPIX5, HardwareConfig.named("sim_1x4"), ip="10.0.0.7", mac="10:E2:D5:00:00:07")
    assert plan.network == Network("10.0.0.7", "10:e2:d5:00:00:07")
    settings = json.loads(board_settings(ECPIX5.fpga.ethernet, plan.network, clock_mhz=50))
    told = (settings["ip"], settings["mac"], settings["port"], settings["clock_hz"], settings["rx_delay_ns"])
    assert told == ("10.0.0.7", "10:e2:d5:00:00:07", 1234, 50_000_000, 0)
    assert Network.from_json(json.loads(json.dumps(plan.network.to_json())), "a.json") == plan.network
    with pytest.raises(ConfigError, match=r"a\.json: network: '10\.0\.0\.x' is no address of a board"):
        Network.from_json({"ip": "10.0.0.x", "mac": "10:e2:d5:00:00:07", "port": 1}, "a.json")


def test_a_build_has_ethernet_where_that_is_wanted():
    plain, wanted = (make_plan(ECPIX5, HardwareConfig.named("sim_1x4"), ethernet=ethernet) for ethernet in (False, True))
    assert plain.network is None
    assert not plain.parameters.network
    assert "eth_" not in constraints_text(plain.fpga)
    assert wanted.network == ECPIX5.fpga.ethernet.network
    assert wanted.parameters.network
    assert wanted.fpga == ECPIX5.fpga


def test_buses_of_the_top_have_their_widths():
    text = top_verilog(ECPIX5.fpga, bus_bits=128, address_bits=29, pll=None)
    widths = {name: int(high) + 1 for high, name in re.findall(r"wire \[(\d+):0\] axi_(\w+);", text)}
    expected = {"awaddr": 32, "awlen": 8, "awburst": 2, "wdata": 128, "wstrb": 16, "bresp": 2, "rresp": 2, "rid": 2, "arid": 2}
    assert {name: widths[name] for name in expected} == expected
    assert ".user_port_core_araddr(axi_araddr[28:0])" in text


@given(wanted=st.integers(10, 200), given_mhz=st.sampled_from((12.0, 25.0, 48.0, 100.0)))
def test_a_pll_makes_what_is_wanted_or_says_so(wanted, given_mhz):
    try:
        found = pll_for(given_mhz, wanted)
    except ConfigError as error:
        assert f"no PLL makes {wanted} MHz of {given_mhz:g} MHz" in str(error)  # noqa: PT017
        return
    assert abs(found.mhz - wanted) <= 0.002 * wanted
    assert 400 <= found.mhz * found.output <= 800
    assert given_mhz / found.reference >= 3.125
    assert f".CLKFB_DIV({found.feedback})" in found.instance("a", "b", "c")


def test_the_script_names_each_tool_by_a_variable():
    text = whole_script((("YOSYS", ["-s", "a b.ys"]), ("ECPPACK", ["x"])), "seed-1/")
    assert "mkdir -p seed-1/\n" in text
    assert ": ${YOSYS:=yosys}\n" in text
    assert text.endswith("$YOSYS -s 'a b.ys'\n$ECPPACK x\n")
