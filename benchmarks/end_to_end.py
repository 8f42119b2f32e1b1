"""ResNet-18 v1, 224x224, from structure to answer: seconds of each stage.

    python benchmarks/end_to_end.py [--json]

Weights are seeded and random, so the answers mean nothing; every stage works as it would on trained ones. All between
the first max-pooling and the global average pooling runs on the simulator as one region, the rest on the host. Import,
quantisation and compilation are timed once, host and simulator as the median over several images.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from vta.compiler.compile import compile_graph, quantize_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.partition.selection import layers_between
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig
from vta.runtime import Module

_T = TypeVar("_T")


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """Return what `work` gives and how many seconds it took."""
    start = time.perf_counter()
    value = work()
    return value, time.perf_counter() - start


def measure(model: str, config: str, images: int) -> dict[str, Any]:
    """Take `model` through every stage and return the figures."""
    hw = HardwareConfig.named(config)
    seconds: dict[str, float] = {}
    graph, seconds["import"] = timed(lambda: canonicalize(load_model(model)))
    layers = layers_between(graph, "nn.max_pool2d", "nn.global_avg_pool2d")
    settings = QuantizeConfig(calibration="global_scale", global_scale=8.0, skip_conv_layers=(0,))
    integer, seconds["quantise"] = timed(lambda: quantize_model(graph, hw, quantize=settings))
    compiled, seconds["compile"] = timed(lambda: compile_graph(integer, hw, layers=layers))
    (image,) = compiled.graph.inputs
    rng = np.random.default_rng(0)
    with Module(compiled, SimDevice(hw)) as module:
        # The first run touches memory that later runs find in place.
        runs = [module.run({image.name: rng.standard_normal(image.shape, np.float32)}) for _ in range(images + 1)][1:]
    seconds["host"] = statistics.median(run.host_seconds for run in runs)
    seconds["sim"] = statistics.median(run.device_seconds for run in runs)
    return {
        "model": model,
        "config": hw.model,
        "seconds": seconds,
        "instructions": sum(len(region.program.instructions) for region in compiled.regions),
        "device_runs": runs[0].device_runs,
        "macs": {
            "vta": sum(record.macs for region in compiled.regions for record in region.operators),
            "total": compiled.total_macs,
        },
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18_v1", help="built-in name or model file (default: %(default)s)")
    parser.add_argument("--config", default="sim", help="hardware config (default: %(default)s)")
    parser.add_argument("--images", type=int, default=5, help="images to run (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.images < 1:
        parser.error(f"--images: {options.images} is out of range; allowed: 1 or more")
    figures = measure(options.model, options.config, options.images)
    if options.json:
        print(json.dumps(figures))
        return 0
    for stage, seconds in figures["seconds"].items():
        print(f"{stage:10} {seconds:8.3f} s")
    print(f"{figures['instructions']:,} instructions; {figures['device_runs']} device runs an image")
    return 0


if __name__ == "__main__":
    sys.exit(main())
