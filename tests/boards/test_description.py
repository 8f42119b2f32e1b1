"""Descriptions of boards: what is shipped is good, and every mistake is named with file, field, value and what is allowed."""

import json
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vta.boards.description import REGISTER_MAPS, board_from_yaml, load_board
from vta.boards.files import find_board, is_board, shipped_boards
from vta.config.hardware import HardwareConfig
from vta.config.targets import TARGETS
from vta.errors import ConfigError

NAMES = ("de10-nano", "ecpix5", "kv260", "pynq-z1", "pynq-z2", "ultra96", "ulx3s-85f", "zcu104")
BOARD = find_board("pynq-z1")
TEXT = shipped_boards()["pynq-z1"].read_text(encoding="utf-8")


def changed(path, value, text=TEXT):
    """The text of a shipped board with the value at a path of fields replaced; None takes the field away."""
    values = yaml.safe_load(text)
    *parents, last = path.split(".")
    place = values
    for name in parents:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return yaml.safe_dump(values, sort_keys=False)


def test_all_boards_are_there():
    assert tuple(shipped_boards()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_shipped_boards_are_good(name):
    board = find_board(name)
    assert board.name == name
    assert board.design() is board.designs[board.default]
    assert {design.registers for design in board.designs.values()} <= set(REGISTER_MAPS)
    for design in board.designs.values():
        assert design.hardware(HardwareConfig.named("sim")).target == design.target
        assert HardwareConfig.named("sim").bitstream in design.bitstream_name(HardwareConfig.named("sim"))


@pytest.mark.parametrize("name", ["pynq", "ultra96", "zcu104", "de10nano"])
def test_published_figures_are_those_of_the_targets(name):
    board, platform = find_board(name), TARGETS[name].platform
    design = next(design for design in board.designs.values() if design.target == name)
    assert design.bus_bits == platform.bus_bits
    assert design.clock_mhz == platform.fabric_mhz


def test_published_registers_are_where_they_were():
    for name, base in (("pynq-z1", 0x43C00000), ("ultra96", 0xA0000000), ("zcu104", 0xA0000000)):
        bases = find_board(name).design("hls").bases
        assert bases == {"fetch": base, "load": base + 0x1000, "compute": base + 0x2000, "store": base + 0x3000}
    nano = find_board("de10-nano")
    assert nano.design("vcr").bases == {"core": 0xFF220000}
    assert nano.memory.device_offset == 0x80000000


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("driver", "jtag", "b.yaml: driver = 'jtag'; allowed: pynq, de10nano, link"),
        ("driver", None, "b.yaml: field driver is missing"),
        ("drivers", "pynq", "b.yaml: unknown field drivers; did you mean driver?"),
        ("family", "artix", r"b.yaml: family = 'artix'; allowed: zynq-7000, zynq-ultrascale\+, cyclone-v, ecp5"),
        ("name", "Pynq Z1", "b.yaml: name = 'Pynq Z1'; allowed: lower-case letters, digits and hyphens"),
        ("part", "", "b.yaml: part = ''; allowed: a string that is not empty"),
        ("cache_line_bytes", 48, "b.yaml: cache_line_bytes = 48; allowed: 16, 32, 64, 128"),
        ("default", "vcr", "b.yaml: default = 'vcr'; allowed: hls, core"),
        ("memory", 5, "b.yaml: memory = 5; allowed: a mapping of fields"),
        ("memory.start", 4, "b.yaml: memory: start = 4; allowed: multiples of 0x1000"),
        ("memory.end", 0, "b.yaml: memory: end = 0; allowed: .* above start = 0x0"),
        ("memory.end", 1 << 33, "b.yaml: memory: end = 0x200000000; allowed: multiples of 0x1000 up to 0x100000000"),
        ("memory.device_offset", 0xF0000000, "memory: device_offset = 0xf0000000; allowed: .* inside 32-bit addresses"),
        ("memory.allocation_bytes", 1, "memory: allocation_bytes = 1; allowed: 4096 and more"),
        ("designs", {}, "designs = {}; allowed: one design or more"),
        ("designs.hls", [], r"designs: hls = \[\]; allowed: a mapping of fields"),
        ("designs.hls.registers", "axi", "designs: hls: registers = 'axi'; allowed: core, vcr, hls"),
        ("designs.hls.target", "zynq", "designs: hls: target = 'zynq'; allowed: sim, cycle, rtl"),
        ("designs.hls.clock_mhz", 0, "designs: hls: clock_mhz = 0; allowed: numbers from 1 to 1000"),
        ("designs.hls.bus_bits", 32, "designs: hls: bus_bits = 32; allowed: 64, 128, 256, 512"),
        ("designs.hls.coherent", "yes", "designs: hls: coherent = 'yes'; allowed: true, false"),
        ("designs.hls.bases.store", None, "designs: hls: bases: field store is missing; required: fetch, load, compute, store"),
        ("designs.hls.bases.core", 0, "designs: hls: bases: unknown field core"),
        ("designs.hls.bases.store", 0x43C03004, "bases: store = 0x43c03004; allowed: multiples of 0x1000"),
        ("designs.hls.bases.store", True, "bases: store = True; allowed: multiples of 0x1000"),
        ("designs.hls.bases.store", 0x43C00000, "bases: two blocks have one address"),
        ("designs.hls.span", 5000, "designs: hls: span = 5000; allowed: 4096 to 65536, a power of two"),
        ("designs.hls.bitstream", "a.bit", r"bitstream = 'a.bit'; allowed: a relative path with \{bitstream\}"),
        ("designs.hls.bitstream", "../{bitstream}", "allowed: a relative path"),
        ("designs.hls.bitstream", "/{bitstream}", "allowed: a relative path"),
        ("designs.hls.bitstream", "{bitstream}{other}", "allowed: a relative path"),
    ],
)
def test_mistakes_are_named(path, value, text):
    with pytest.raises(ConfigError, match=text):
        board_from_yaml(changed(path, value), "b.yaml")


ECPIX5 = shipped_boards()["ecpix5"].read_text(encoding="utf-8")
IS_A_PIN = "allowed: the name of a pin, as K23 or AA2"


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("fpga", None, "b.yaml: field fpga is missing; a board with the driver link needs it"),
        ("fpga.clock", None, "b.yaml: fpga: field clock is missing; required: device, package, speed, clock, serial"),
        ("fpga.dram", None, "b.yaml: fpga: one of the fields dram and block_memory_bytes is needed"),
        ("fpga.block_memory_bytes", 1 << 15, "b.yaml: fpga: one of the fields dram and block_memory_bytes is needed"),
        ("fpga.device", "85", "b.yaml: fpga: device = '85'; allowed: 12k, 25k"),
        ("fpga.speed", 7, "b.yaml: fpga: speed = 7; allowed: 8"),
        ("fpga.package", "CABGA 554", "b.yaml: fpga: package = 'CABGA 554'; allowed: letters, digits and underscores"),
        ("fpga.clock.pin", "23K", f"b.yaml: fpga: clock: pin = '23K'; {IS_A_PIN}"),
        ("fpga.serial.sent", "P", f"b.yaml: fpga: serial: sent = 'P'; {IS_A_PIN}"),
        ("fpga.serial.sent", "K23", "b.yaml: fpga: pin K23 is that of clock and of serial sent; allowed: a pin for each signal"),
        ("fpga.serial.baud", 300, "b.yaml: fpga: serial: baud = 300; allowed: 9600 to 12000000"),
        ("fpga.dram.signals.odt", None, "b.yaml: fpga: dram: signals: field odt is missing"),
        ("fpga.dram.signals.odt.pins", "P3 P2", "b.yaml: fpga: dram: signals: odt: pins = 'P3 P2'; allowed: 1 of pins"),
        ("fpga.dram.signals.dm.pins", "U4", "b.yaml: fpga: dram: signals: dm has 1 pins; dq needs 2"),
        (
            "fpga.ethernet.ip",
            "192.168.1.255",
            "b.yaml: fpga: ethernet: '192.168.1.255' is no address of a board; allowed: one of",
        ),
        ("fpga.ethernet.mac", "10:e2", "b.yaml: fpga: ethernet: '10:e2' is no Ethernet address of a board; allowed: six bytes"),
        ("fpga.ethernet.rx_delay_ns", 4, "b.yaml: fpga: ethernet: rx_delay_ns = 4; allowed: numbers from 0 to 3.1"),
        ("fpga.ethernet.signals.rx_ctl", None, "b.yaml: fpga: ethernet: signals: field rx_ctl is missing"),
        ("fpga.ethernet.signals.rx_data.pins", "A9", "b.yaml: fpga: ethernet: signals: rx_data: pins = 'A9'; allowed: 4 of pins"),
        ("fpga.ethernet.signals.tx_ctl.pins", "A9", "b.yaml: fpga: pin A9 is that of ethernet rx_data and of ethernet tx_ctl"),
        ("fpga.dram.signals.dq.pins", "U4 U1", "b.yaml: fpga: dram: signals: dq has 2 pins; allowed: 8, 16, 32, 64"),
    ],
)
def test_mistakes_about_an_fpga_are_named(path, value, text):
    with pytest.raises(ConfigError, match=text):
        board_from_yaml(changed(path, value, ECPIX5), "b.yaml")


def test_memory_inside_an_fpga_is_as_large_as_the_window():
    text = shipped_boards()["ulx3s-85f"].read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match=r"b\.yaml: block_memory_bytes = 65536 in fpga; memory has 32768 bytes"):
        board_from_yaml(changed("fpga.block_memory_bytes", 1 << 16, text), "b.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "b.yaml: a mapping of fields is needed, not list"),
        ("", "b.yaml: a mapping of fields is needed, not NoneType"),
        ("a: [", "b.yaml: not YAML"),
        ("!!python/object/apply:os.getcwd []", "b.yaml: not YAML"),
        (TEXT + "\nname: again\n", "b.yaml: key name is given twice: in line 2 and in line"),
        ("1: 2", "b.yaml: unknown field 1"),
        ("{a: 1}: 2", "b.yaml: "),
    ],
)
def test_what_is_no_description(text, message):
    with pytest.raises(ConfigError, match=message):
        board_from_yaml(text, "b.yaml")


@given(text=st.text(max_size=60) | st.binary(max_size=40).map(lambda data: data.decode("latin1")))
def test_any_text_is_a_board_or_an_error(text):
    with pytest.raises(ConfigError, match=r"b\.yaml"):
        board_from_yaml(text, "b.yaml")


def test_json_takes_no_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    file = tmp_path / "board.json"
    file.write_text(json.dumps(yaml.safe_load(TEXT)))
    assert load_board(file).designs == BOARD.designs
    with pytest.raises(ConfigError, match="install the extra boards"):
        find_board("pynq-z1")
    with pytest.raises(ConfigError, match="key name is given twice"):
        board_from_yaml('{"name": 1, "name": 2}', "b.json")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        load_board(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"bad\.yaml: cannot be read"):
        load_board(tmp_path / "bad.yaml")


def test_boards_are_named_as_devices(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(changed("name", "mine"))
    assert find_board(f"board:{file}").name == "mine"
    assert find_board("pynq").name == "pynq-z1"
    assert find_board("pynq", {"BOARD": "Pynq-Z2"}).name == "pynq-z2"
    assert find_board("pynq", {"BOARD": "toaster"}).name == "pynq-z1"
    assert find_board("de10nano").name == "de10-nano"
    with pytest.raises(ConfigError, match="no board 'toaster'; shipped: de10-nano, ecpix5, kv260"):
        find_board("toaster")
    assert [is_board(name) for name in ("pynq", "kv260", "board:x", "de10nano", "sim", "cycle")] == [True] * 4 + [False] * 2


def test_designs_are_named():
    with pytest.raises(ConfigError, match="no design 'vcr'; board pynq-z1 has hls, core"):
        find_board("pynq-z1").design("vcr")
