"""Writes the core as Verilog."""

from __future__ import annotations

from amaranth.back import verilog

from vta.config import HardwareConfig
from vta.hardware.core import Core
from vta.timing import TimingParameters

__all__ = ["TOP_MODULE", "emit_verilog"]

TOP_MODULE = "vta"
"""Name of the top module. Its ports are `clk`, `rst` (synchronous, active high), `s_axil_*`, `m_axi_*` and `irq`."""


def emit_verilog(hw: HardwareConfig, timing: TimingParameters) -> str:
    """Return the core of `hw` on the bus of `timing` as Verilog."""
    core = Core(hw, timing)
    ports = {name: (signal, None) for name, signal in core.ports.items()}
    return str(verilog.convert(core, name=TOP_MODULE, ports=ports, emit_src=False))
