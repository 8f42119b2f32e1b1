"""Writes the core as Verilog."""

from __future__ import annotations

import re
from collections.abc import Mapping

from amaranth.back import verilog
from amaranth.hdl import Signal
from amaranth.lib.wiring import Component

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.core.core import Core
from vta.hardware.fabric import PLAIN, Fabric

__all__ = ["TOP_MODULE", "emit_verilog", "verilog_of"]

TOP_MODULE = "vta"
"""Name of the top module. Its ports are `clk`, `rst` (synchronous, active high), `s_axil_*`, `m_axi_*` and `irq`."""


def emit_verilog(hw: HardwareConfig, timing: TimingParameters, fabric: Fabric = PLAIN) -> str:
    """Return the core of `hw` on the bus of `timing`, built for `fabric`, as Verilog."""
    core = Core(hw, timing, fabric)
    return verilog_of(core, TOP_MODULE, core.ports)


def verilog_of(component: Component, name: str, ports: Mapping[str, Signal]) -> str:
    """Return a component as Verilog, with the top module `name`; `ports` are its signals by their Verilog names."""
    given = {port: (signal, None) for port, signal in ports.items()}
    return _shorten_memories(str(verilog.convert(component, name=name, ports=given, emit_src=False)))


_ZEROED = re.compile(
    r"^  initial begin\n    (?P<name>\w+)\[0\] = (?P<zero>\d+'[hd]0+);\n"
    r"(?:    (?P=name)\[(?P<last>\d+)\] = (?P=zero);\n)+  end\n",
    re.MULTILINE,
)


def _shorten_memories(text: str) -> str:
    """Zero memories in loops: one line a row makes the core several times as long to read and to compile."""

    def loop(match: re.Match[str]) -> str:
        name, row = match["name"], f"first_contents_{match['name']}"
        head = f"for ({row} = 0; {row} <= {match['last']}; {row} = {row} + 1)"
        return f"  integer {row};\n  initial {head} {name}[{row}] = {match['zero']};\n"

    return _ZEROED.sub(loop, text)
