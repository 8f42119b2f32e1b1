"""How fast the cycle engine simulates, beside the hardware itself under Verilator, on the same program.

The program is one convolution of ResNet-18, or the first region of a compiled network, on random data. All engines must
count the same cycles. Where the tools of the `rtl` device are not installed its figures are null; its first run for a config
compiles the core, which does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from presets import Conv, program_of, with_bias

from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import Device
from vta.devices.rtl import RtlDevice
from vta.errors import DeviceError
from vta.isa import Program
from vta.runtime import load

C2 = Conv(4, 56, 56, 4, 3, 1, 1)
REPEATS, RTL_REPEATS = 5, 3


def default_program(config: str) -> Program:
    """The convolution C2 with the schedule that the compiler chooses."""
    return program_of(C2, with_bias(C2), None, HardwareConfig.named(config))


def timed(open_device: Callable[[], Device], program: Program, repeats: int) -> tuple[int, float]:
    """Cycles, and the least seconds of `repeats` runs."""
    device = open_device()
    base = device.allocate(program.image_bytes)
    image = np.random.default_rng(0).integers(0, 256, program.image_bytes, np.uint8)
    image[: len(program.image)] = program.image
    device.write(base, image)
    stream = program.encoded(base)
    results = [device.run(stream) for _ in range(repeats)]
    return results[0].cycles or 0, min(result.seconds for result in results)


def measure(program: Program, with_rtl: bool) -> dict[str, tuple[int, float]]:
    """Cycles and seconds of each engine."""
    hw, memory = program.hw, program.image_bytes + (1 << 22)
    measured = {
        "timing_only": timed(lambda: CycleDevice(hw, timing_only=True), program, REPEATS),
        "cycle": timed(lambda: CycleDevice(hw, memory_bytes=memory), program, REPEATS),
    }
    if with_rtl:
        try:
            measured["rtl"] = timed(lambda: RtlDevice(hw, memory_bytes=memory), program, RTL_REPEATS)
        except DeviceError as error:
            print(f"no rtl device: {error}", file=sys.stderr)
    return measured


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, metavar="NET.vta", help="compiled network (default: the convolution C2)")
    parser.add_argument("--config", default="sim", help="hardware config of the convolution")
    parser.add_argument("--no-rtl", action="store_true", help="leave out the rtl device")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    program = load(options.program).regions[0].program if options.program else default_program(options.config)
    measured = measure(program, not options.no_rtl)
    counts = {cycles for cycles, _ in measured.values()}
    if len(counts) != 1:
        raise SystemExit(f"the engines count different cycles: {measured}")
    cycles = counts.pop()
    seconds = {name: measured[name][1] if name in measured else None for name in ("timing_only", "cycle", "rtl")}
    slowest = seconds["rtl"]
    ratio = {name: None if slowest is None else slowest / (seconds[name] or 1) for name in ("timing_only", "cycle")}
    if options.json:
        speed = {name: None if spent is None else cycles / spent for name, spent in seconds.items()}
        print(json.dumps({"simulated_cycles": cycles, "seconds": seconds, "cycles_per_second": speed, "ratio": ratio}))
        return
    print(f"{cycles:,} cycles, {len(program.instructions):,} instructions")
    for name, spent in seconds.items():
        if spent is not None:
            faster = "" if name == "rtl" or slowest is None else f", {slowest / spent:,.0f} times as fast as rtl"
            print(f"{name:>11}: {spent * 1e3:10.3f} ms, {cycles / spent / 1e6:9.2f} M cycles/s{faster}")


if __name__ == "__main__":
    main()
