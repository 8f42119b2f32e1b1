"""Packages for the vendors' tools. These tools are not here: scripts are run with every command of theirs taken down."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from tests.hardware.programs import small_config
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import DeviceError, UsageError
from vta.hardware.packaging.package import package_files, write_package
from vta.hardware.packaging.shell import platform_designer_component, shell_ports
from vta.hardware.verilator.toolchain import find_verilator

BOARDS = ("pynq-z1", "kv260", "de10-nano")
CHECK = Path(__file__).with_name("tcl_check.tcl")
HW = small_config(0, 2, 5)


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """``packaged(name)``: directory, board and design of a package; each is written once."""
    made = {}

    def make(name):
        if name not in made:
            board, directory = find_board(name), tmp_path_factory.mktemp(name)
            design = board.design("core")
            write_package(directory, board, design, HW, TimingParameters(bus_bits=design.bus_bits))
            made[name] = (directory, board, design)
        return made[name]

    return make


def run_script(path):
    """The commands that a script gives to the vendor's tool."""
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("needs tclsh (Debian: apt-get install tcl)")
    done = subprocess.run([tclsh, str(CHECK), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", [name for name in BOARDS if name != "de10-nano"])
def test_the_script_of_a_zynq_builds_what_the_board_says(name, packaged):
    tmp_path, board, design = packaged(name)
    calls = run_script(tmp_path / "build.tcl")
    text = "\n".join(calls)
    assert f"create_project -force vta {tmp_path}/project -part {board.part}" in text
    assert f"-offset {design.bases['core']:#010x} -range {design.span} " in text
    zynq = board.family == "zynq-7000"
    ports = ("S_AXI_HP0", "S_AXI_ACP") if zynq else ("S_AXI_HP0_FPD", "S_AXI_HPC0_FPD")
    port = ports[design.coherent]
    assert f"get_bd_intf_pins_ps/{port}" in text
    assert f"FREQMHZ {design.clock_mhz:g} " in text
    assert "core/clk" in text
    assert "core/irq" in text
    assert (tmp_path / f"{HW.bitstream}.bit").exists()
    assert (tmp_path / f"{HW.bitstream}.hwh").exists()


def test_the_scripts_of_the_cyclone_run(packaged):
    tmp_path, board, _ = packaged("de10-nano")
    calls = run_script(tmp_path / "build.tcl")
    assert f"set_global_assignment -name DEVICE {board.part}" in calls
    assert f"exec quartus_cpf -c -o bitstream_compression=on vta.sof {HW.bitstream}.rbf >@ stdout" in calls
    system = run_script(tmp_path / "system.tcl")
    assert "set_connection_parameter_value hps.h2f_lw_axi_master/core.s_axil baseAddress 0x20000" in system
    component = run_script(tmp_path / "vta_shell_hw.tcl")
    assert "add_interface_port m_axi m_axi_wdata wdata Output 64" in component
    assert "add_interface_port s_axil s_axil_awaddr awaddr Input 12" in component
    assert "add_interface_port m_axi m_axi_aruser aruser Output 5" in component


@pytest.mark.parametrize("name", BOARDS)
def test_the_verilog_of_a_package_fits_together(name, packaged):
    try:
        verilator = find_verilator()
    except DeviceError as error:
        pytest.skip(str(error))
    directory = packaged(name)[0]
    command = [verilator.command, "--lint-only", "-Wall", "--top-module", "vta_shell", "vta_shell.v", "vta.v"]
    environment = {"VERILATOR_ROOT": str(verilator.root)}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    found = re.findall(r"^%(?:Warning|Error)-?(\w*): vta_shell\.v:.*", done.stderr, re.MULTILINE)
    assert set(found) <= {"PINCONNECTEMPTY", "UNUSEDSIGNAL"}, done.stderr[:2000]
    assert "%Error" not in re.sub("%Error: Exiting due to .* warning", "", done.stderr), done.stderr[-2000:]


def test_a_package_says_what_it_is(packaged):
    tmp_path, board, design = packaged("kv260")
    values = json.loads((tmp_path / "package.json").read_text())
    assert HardwareConfig.from_json(values["config"]) == design.hardware(HW)
    assert (values["board"], values["design"]) == ("kv260", "core")
    assert values["bitstream"] == design.bitstream_name(HW)
    assert board.name == "kv260"
    assert not list(tmp_path.glob(".*"))


def test_only_this_packages_core_is_packaged():
    board = find_board("pynq-z1")
    with pytest.raises(UsageError, match="design hls of board pynq-z1 is not this package's core; allowed: core"):
        package_files(board, board.design("hls"), HW, TimingParameters())


def test_the_bus_is_the_boards():
    board = find_board("kv260")
    with pytest.raises(UsageError, match="a bus of 64 bits; design core of board kv260 has 128"):
        package_files(board, board.design("core"), HW, TimingParameters())


@pytest.mark.parametrize("bus_bits", [64, 512])
def test_ports_have_a_side(bus_bits):
    ports = {port.name: port for port in shell_ports(bus_bits, 12)}
    assert ports["m_axi_wstrb"].bits == bus_bits // 8
    assert all(ports[name].output for name in ("m_axi_araddr", "m_axi_awid", "m_axi_rready", "s_axil_rdata", "irq"))
    assert not any(ports[name].output for name in ("m_axi_rdata", "m_axi_bid", "s_axil_awaddr", "s_axil_bready", "clk", "resetn"))
    text = platform_designer_component(bus_bits, 12, 0)
    assert len(re.findall(r"^add_interface_port ", text, re.MULTILINE)) == len(ports)
