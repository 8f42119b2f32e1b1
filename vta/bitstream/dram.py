"""The memory controller: LiteDRAM's stand-alone core, generated for the chips of a board, and how the host sets it up."""

from __future__ import annotations

import json
import re
from pathlib import Path

from vta.bitstream.top import CONTROLLER_MODULE
from vta.boards.controller import ControllerSetup, SetupStep
from vta.boards.fpga import Dram
from vta.errors import ConfigError, DeviceError
from vta.support.dataclass import dataclass

__all__ = ["Controller", "controller_command", "generator_settings", "read_controller"]

_SETTINGS = "controller.json"
_FOLDER = "controller"
_REGISTERS = f"{_FOLDER}/registers.json"
_HEADER = f"{_FOLDER}/software/include/generated/sdram_phy.h"
_VERILOG = f"{_FOLDER}/gateware/{CONTROLLER_MODULE}.v"

_DEFINED = re.compile(r"^#define (\w+) (0x[0-9a-fA-F]+|\d+)(?:U?LL)?$", re.MULTILINE)
_STEP = re.compile(r"/\* (?P<what>[^*]+) \*/\n(?P<body>.*?)\n\n", re.DOTALL)
_CALL = re.compile(r"(\w+)\(([^)]*)\);")
_INOUT = re.compile(r"^    input  wire( .*ddram_(?:dq|dqs_p),)$", re.MULTILINE)
_CHANGING = re.compile(r"^//.*\b(?:Date|LiteX sha1|Auto-Generated)\b.*\n|^/\*(?s:.*?)\*/\n", re.MULTILINE)
"""Comments that are others each time: dates, and a tree of modules in no certain order."""
_INIT_MHZ = 25
_BITS_OF_BYTE = 8


@dataclass(frozen=True)
class Controller:
    """What the generator made."""

    verilog: str
    memory_bytes: int
    setup: ControllerSetup


def generator_settings(dram: Dram, part: str, *, clock_mhz: float, oscillator_mhz: float) -> str:
    """The text of the generator's settings: JSON, which is YAML, too."""
    values = {
        "cpu": None,
        "device": part,
        "memtype": "DDR3",
        "sdram_module": dram.module,
        "sdram_module_nb": dram.lanes,
        "sdram_rank_nb": 1,
        "sdram_phy": "ECP5DDRPHY",
        "input_clk_freq": oscillator_mhz * 1e6,
        "sys_clk_freq": clock_mhz * 1e6,
        "init_clk_freq": _INIT_MHZ * 1e6,
        "cmd_buffer_depth": 16,
        "user_ports": {"core": {"type": "axi", "id_width": 2}},
    }
    return json.dumps(values, indent=2) + "\n"


def controller_command(settings: str = _SETTINGS) -> list[str]:
    """The arguments of Python that generate the core from the file `settings` in the current folder."""
    return ["-m", "litedram.gen", settings, "--output-dir", _FOLDER, "--csr-json", _REGISTERS, "--name", CONTROLLER_MODULE]


def read_controller(directory: Path, inout: bool = True) -> Controller:
    """What the generator left in `directory`, for chips outside; without `inout` those of a simulation are inside.

    Raises `DeviceError` if that is not what is known of it.
    """
    try:
        verilog = (directory / _VERILOG).read_text(encoding="utf-8")
        header = (directory / _HEADER).read_text(encoding="utf-8")
        registers = json.loads((directory / _REGISTERS).read_text(encoding="utf-8"))["csr_registers"]
        setup = _setup(header, {name: (values["addr"], values["size"]) for name, values in registers.items()})
        memory_bytes = _defined(header)["SDRAM_PHY_SUPPORTED_MEMORY"]
    except (OSError, ValueError, LookupError, TypeError, ConfigError) as error:
        raise DeviceError(f"{directory}: the generator of the memory controller left what is not understood: {error}") from None
    verilog, count = _INOUT.subn(r"    inout  wire\1", _CHANGING.sub("", verilog))
    if count != 2 * inout:
        raise DeviceError(f"{directory / _VERILOG}: its data lines are not found")
    return Controller(verilog, memory_bytes, setup)


def _defined(header: str) -> dict[str, int]:
    return {name: int(value, 0) for name, value in _DEFINED.findall(header)}


def _setup(header: str, registers: dict[str, tuple[int, int]]) -> ControllerSetup:
    values = _defined(header)
    body = header[header.index("init_sequence(void)") :]
    return ControllerSetup(
        registers=registers,
        phases=values["SDRAM_PHY_PHASES"],
        read_phase=values["SDRAM_PHY_RDPHASE"],
        write_phase=values["SDRAM_PHY_WRPHASE"],
        lanes=values["SDRAM_PHY_MODULES"],
        phase_bytes=values["SDRAM_PHY_DFI_DATABITS"] // _BITS_OF_BYTE,
        delays=values.get("SDRAM_PHY_DELAYS", 0),
        bitslips=values.get("SDRAM_PHY_BITSLIPS", 0),
        steps=tuple(_step(match["what"], match["body"], values) for match in _STEP.finditer(body)),
    )


def _step(what: str, body: str, values: dict[str, int]) -> SetupStep:
    """A step of the sequence: an address and a bank, then a command or a level of the control lines, and a wait."""
    calls = dict(_CALL.findall(body))
    control, command = calls.get("sdram_dfii_control_write"), calls.get("command_p0")
    if (control is None) == (command is None):
        raise ValueError(f"step {what!r} has neither a command nor a level")
    flags = sum(values[name.strip()] for name in str(control or command).split("|"))
    return SetupStep(
        what=what,
        address=int(calls["sdram_dfii_pi0_address_write"], 0),
        bank=int(calls["sdram_dfii_pi0_baddress_write"], 0),
        control=flags if control is not None else None,
        command=flags if command is not None else None,
        wait_cycles=int(calls.get("cdelay", "0")),
    )
