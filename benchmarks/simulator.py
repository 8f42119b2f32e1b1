"""Speed of the functional simulator on the convolutions of ResNet-18, one thread, results checked.

For scale: the simulator that came with the original VTA tools runs C2 at about 6 GMAC/s on one core of a server.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from conv_stream import Conv, Placed, conv_stream, reference
from numpy.typing import NDArray

from vta.config import HardwareConfig, load_config
from vta.runtime.device import RunOptions
from vta.runtime.devices.sim import Kernel, SimDevice

RESNET18 = (
    Conv("C2", 56, 64, 64, 3, 1, 1),
    Conv("C3", 56, 64, 128, 3, 1, 2),
    Conv("C4", 56, 64, 128, 1, 0, 2),
    Conv("C5", 28, 128, 128, 3, 1, 1),
    Conv("C6", 28, 128, 256, 3, 1, 2),
    Conv("C7", 28, 128, 256, 1, 0, 2),
    Conv("C8", 14, 256, 256, 3, 1, 1),
    Conv("C9", 14, 256, 512, 3, 1, 2),
    Conv("C10", 14, 256, 512, 1, 0, 2),
    Conv("C11", 7, 512, 512, 3, 1, 1),
)


def pack_data(data: NDArray[np.int8], hw: HardwareConfig) -> NDArray[np.int8]:
    """NCHW to (C/c, H, W, b, c), for N = b."""
    n, c, h, w = data.shape
    return data.reshape(n, c // hw.block, hw.block, h, w).transpose(1, 3, 4, 0, 2)


def pack_weight(weight: NDArray[np.int8], hw: HardwareConfig) -> NDArray[np.int8]:
    """OIHW to (O/c, I/c, H, W, c, c)."""
    o, i, h, w = weight.shape
    return weight.reshape(o // hw.block, hw.block, i // hw.block, hw.block, h, w).transpose(0, 2, 4, 5, 1, 3)


def pack_bias(bias: NDArray[np.int32], hw: HardwareConfig) -> NDArray[np.int32]:
    """(O,) to (O/c, b, c)."""
    return np.repeat(bias.reshape(-1, 1, hw.block), hw.batch, axis=1)


def put(device: SimDevice, array: NDArray[Any]) -> int:
    """Copy an array to new device memory; return its address."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    address = device.allocate(data.size)
    device.write(address, data)
    return address


def measure(conv: Conv, hw: HardwareConfig, kernel: Kernel, repeats: int, checks: bool) -> dict[str, float]:
    """Run one convolution `repeats` times; return its MACs, the least seconds and the speed."""
    rng = np.random.default_rng(0)
    data = rng.integers(-128, 128, (hw.batch, conv.channels_in, conv.size, conv.size), dtype=np.int8)
    weight = rng.integers(-128, 128, (conv.channels_out, conv.channels_in, conv.kernel, conv.kernel), dtype=np.int8)
    bias = rng.integers(-(2**10), 2**10, conv.channels_out, dtype=np.int32)
    device = SimDevice(hw, 1 << 26, kernel)
    out_shape = (conv.channels_out // hw.block, conv.size_out, conv.size_out, hw.batch, hw.block)
    placed = Placed(
        data=put(device, pack_data(data, hw)),
        weight=put(device, pack_weight(weight, hw)),
        bias=put(device, pack_bias(bias, hw)),
        out=device.allocate(int(np.prod(out_shape))),
        uops=device.allocate(4 * hw.uop_depth),
    )
    stream, uops = conv_stream(conv, placed, hw)
    device.write(placed.uops, uops.view(np.uint8))
    results = [device.run(stream, RunOptions(checks=checks)) for _ in range(repeats)]
    stored = device.read(placed.out, int(np.prod(out_shape))).view(np.int8).reshape(out_shape)
    if not np.array_equal(stored, pack_data(reference(conv, data, weight, bias), hw)):
        raise SystemExit(f"{conv.name}: the simulator's result differs from the reference")
    macs = results[0].counters.macs
    if macs != conv.macs(hw.batch) or results[0].tokens.total:
        raise SystemExit(f"{conv.name}: counted {macs} MACs and {results[0].tokens}, expected {conv.macs(hw.batch)} MACs")
    seconds = min(result.seconds for result in results)
    return {"macs": macs, "seconds": seconds, "gmac_per_s": macs / seconds / 1e9}


def main() -> None:
    """Measure all workloads and print a table, or one JSON object with ``--json``."""
    default = Path(__file__).resolve().parents[1] / "hw_config" / "sim.json"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--config", default=str(default), help="hardware config (default: %(default)s)")
    parser.add_argument("--kernel", choices=[kernel.name.lower() for kernel in Kernel], default="best", help="inner loops")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each workload; the best counts (default: 7)")
    parser.add_argument("--no-checks", action="store_true", help="without the checks for unwritten SRAM rows")
    options = parser.parse_args()
    hw, kernel = load_config(options.config), Kernel[options.kernel.upper()]
    workloads = {}
    for conv in RESNET18:
        row = measure(conv, hw, kernel, options.repeats, not options.no_checks)
        workloads[conv.name] = row
        line = f"{conv.name:4} {row['macs']:>12,} MACs {row['seconds'] * 1e3:8.2f} ms {row['gmac_per_s']:7.1f} GMAC/s"
        print(line, file=sys.stderr if options.json else sys.stdout)
    if options.json:
        name = SimDevice(hw, 8192, kernel).kernel
        print(json.dumps({"config": hw.bitstream, "kernel": name, "workloads": workloads}))


if __name__ == "__main__":
    main()
