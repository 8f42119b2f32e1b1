"""What takes most of an operator's time on the accelerator, and what to do about it."""

from __future__ import annotations

from vta.devices.device import Counters
from vta.runtime.operator_cycles import OperatorCycles

__all__ = ["BOTTLENECKS", "bottleneck"]

_FULL = 0.5
"""Part of a block that holds values of the network, from which on it counts as full."""

BOTTLENECKS = {
    "loads": "{tune} looks for tiles that load less; a wider bus or larger buffers help, too ({sweep})",
    "stores": "a wider bus helps ({sweep} with bus_bits)",
    "alu_steps": "a network that came quantised takes fewer steps with {requantize='close'} or {requantize='shift'}",
    "blocks_not_full": "they have few channels, or are depthwise; smaller blocks would be fuller ({sweep} with LOG_BLOCK)",
    "products": "",
}
"""By what takes most time: what to do, as a clause that names settings as `vta.report.settings` has them; "" where the hardware
does what it is for."""


def bottleneck(timed: OperatorCycles, macs: int, counters: Counters, peak_macs: int) -> tuple[str, str]:
    """One of `BOTTLENECKS` and the counts that tell, in words.

    `macs` are those that the network needs; the matrix unit can do `peak_macs` in a micro-op.
    """
    busy, memory = timed.total.busy, timed.total.memory
    units = {name: busy[name] + memory[name] for name in ("compute", "load", "store")}
    slowest = max(units, key=lambda name: units[name])
    if slowest != "compute":
        return f"{slowest}s", f"{slowest} works {busy[slowest]:,} cycles and waits {memory[slowest]:,} for memory"
    full = macs / max(1, counters.gemm_uops * peak_macs)
    words = (
        f"{counters.gemm_uops:,} micro-ops of GEMM" + (f", {full:.0%} full" if macs else "") + f", {counters.alu_uops:,} of ALU"
    )
    if counters.alu_uops > counters.gemm_uops:
        return "alu_steps", words
    return "products" if full >= _FULL or not macs else "blocks_not_full", words
