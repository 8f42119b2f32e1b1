"""Speed of the functional simulator on the convolutions of ResNet-18 as compiled, one thread, results checked.

For scale: the simulator that came with the original VTA tools runs C2 at about 6 GMAC/s on one core of a server.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig, load_config
from vta.devices.device import RunOptions
from vta.devices.sim import Kernel, SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime import Module


@dataclass(frozen=True)
class Conv:
    """A square convolution of the network."""

    name: str
    size: int
    channels_in: int
    channels_out: int
    kernel: int
    padding: int
    stride: int


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


def graph_of(conv: Conv, batch: int) -> Graph:
    """The convolution with bias, shift by 8 and clip to 0..127, on random weights."""
    rng = np.random.default_rng(0)
    weight = rng.integers(-128, 128, (conv.channels_out, conv.channels_in, conv.kernel, conv.kernel), dtype=np.int8)
    bias = rng.integers(-(2**14), 2**14, (1, conv.channels_out, 1, 1), dtype=np.int32)
    data = graph_input("data", (batch, conv.channels_in, conv.size, conv.size), "int8")
    strides, padding = (conv.stride,) * 2, (conv.padding,) * 4
    value = call("nn.conv2d", [data, constant(weight)], conv.name, strides=strides, padding=padding)
    value = call("add", [value, constant(bias)], conv.name)
    value = call("right_shift", [value, constant(np.int32(8))], conv.name)
    value = call("clip", [value], conv.name, a_min=0, a_max=127)
    return Graph((data,), (call("cast", [value], conv.name, dtype="int8"),))


def measure(conv: Conv, hw: HardwareConfig, kernel: Kernel, repeats: int, checks: bool) -> dict[str, float]:
    """Run one convolution `repeats` times; return its MACs, the least seconds on the device and the speed."""
    compiled = compile_graph(graph_of(conv, hw.batch), hw)
    data = np.random.default_rng(1).integers(-128, 128, compiled.graph.inputs[0].shape, dtype=np.int8)
    with Module(compiled, SimDevice(hw, 1 << 26, kernel), RunOptions(checks=checks)) as module:
        reports = [module.run({"data": data}) for _ in range(repeats)]
    if not np.array_equal(reports[0].outputs[0], evaluate(compiled.graph, {"data": data})[0]):
        raise SystemExit(f"{conv.name}: the simulator's result differs from the reference")
    if reports[0].macs != compiled.total_macs:
        raise SystemExit(f"{conv.name}: counted {reports[0].macs} MACs, expected {compiled.total_macs}")
    seconds = min(report.device_seconds for report in reports)
    return {"macs": compiled.total_macs, "seconds": seconds, "gmac_per_s": compiled.total_macs / seconds / 1e9}


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
