"""A system with LiteDRAM's controller and its model of chips, as one module for the harness of the core."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from vta.bitstream.dram import Controller, controller_command, generator_settings, read_controller
from vta.boards.fpga import Dram
from vta.hardware.system.door import door_verilog

# What the generator imports for simulations, and does not use for this one.
_GENERATE = """
import sys, types
for name in ("litescope", "pythondata_misc_tapcfg"):
    sys.modules[name] = stub = types.ModuleType(name)
    stub.LiteScopeAnalyzer, stub.data_location = object, "."
from litedram import gen
sys.argv = ["litedram_gen", *sys.argv[1:], "--sim"]
gen.main()
"""
_PORT = re.compile(r"^    (?:input|output)  *wire +(?:\[\d+:0\] )?(?:\w*\s)*(\w+),?$", re.MULTILINE)
_DECLARED = re.compile(r"^  (input|output) ((?:\[\d+:0\] )?)(\w+);", re.MULTILINE)
_INSIDE = ("memory_ready",)


def generate(folder: Path, dram: Dram, part: str) -> Controller:
    """The controller of `dram`, with chips behind it. They are not reset: their first contents are unknown."""
    settings = generator_settings(dram, part, clock_mhz=50, oscillator_mhz=100)
    (folder / "controller.json").write_text(settings)
    command = [sys.executable, "-c", _GENERATE, *controller_command()[2:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return read_controller(folder, inout=False)


def system_with_dram(hw, timing, parameters, controller: Controller) -> str:
    """The Verilog of the system, the controller, and a top module `vta` with the ports of the core; its own memory is idle."""
    door = door_verilog(hw, timing, parameters, "vta_door")
    start = door.index("module vta_door(")
    ports = [match.groups() for match in _DECLARED.finditer(door, start, door.index("endmodule", start))]
    outer = [port for port in ports if not port[2].startswith("controller_") and port[2] not in _INSIDE]
    wires = [f"  wire {width}{name};" for _, width, name in ports if name.startswith("controller_")]
    wires += [f"  wire {width}to_{name};" for _, width, name in ports if name.startswith("m_axi_")]
    inner = {name: f"to_{name}" if name.startswith("m_axi_") else name for _, _, name in ports}
    inner["memory_ready"] = "done & ~error"
    memory = {name: "" for name in _PORT.findall(controller.verilog) if name.startswith(("user_port_core_", "wb_ctrl_"))}
    for name in memory:
        signal = name.removeprefix("user_port_core_")
        if f"m_axi_{signal}" in inner:
            memory[name] = f"to_m_axi_{signal}" + ("[26:0]" if signal in ("araddr", "awaddr") else "")
        elif f"controller_{name.removeprefix('wb_ctrl_')}" in inner:
            memory[name] = f"controller_{name.removeprefix('wb_ctrl_')}"
    memory |= {"user_port_core_awid": "2'd0", "wb_ctrl_bte": "2'd0", "wb_ctrl_cti": "3'd0", "sim_trace": "1'b0"}
    memory |= {"clk": "clk", "init_done": "done", "init_error": "error"}
    idle = [f"  assign {name} = 0;" for way, _, name in outer if way == "output" and name.startswith("m_axi_")]
    listed = [f"  {way} wire {width}{name}" for way, width, name in outer]
    body = [*wires, "  wire done, error;", *idle, _instance("vta_door", inner), _instance("litedram_core", memory)]
    top = "module vta (\n" + ",\n".join(listed) + "\n);\n" + "\n".join(body) + "\nendmodule\n"
    return f"{door}\n{controller.verilog}\n{top}"


def _instance(module, connections):
    return f"  {module} the_{module} (" + ", ".join(f".{port}({wire})" for port, wire in connections.items()) + ");"
