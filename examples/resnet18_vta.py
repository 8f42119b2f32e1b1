"""ResNet-18 on the accelerator: load, quantise with one global scale, compile one region, run end to end.

    python examples/resnet18_vta.py [--model resnet18_v1] [--config sim] [--batch 1] [--number 10]

The first convolution stays in float. Everything from the first max-pooling up to the global average pooling is packed
into the accelerator's blocks and becomes one program; the rest runs on the host. Prints where each operator runs, and
the mean and standard deviation of the time for one run. The weights are seeded and random unless --model names a file.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.quantization import QuantizeConfig
from vta.report.layers import layer_rows, layer_table, placement_rows, placement_table
from vta.report.table import write_table
from vta.runtime import Module


def main() -> None:
    """Run the flow that the module's docstring describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18_v1")
    parser.add_argument("--config", default="sim")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--number", type=int, default=10, help="runs to measure")
    options = parser.parse_args()

    hw = HardwareConfig.named(options.config)
    graph = load_model(options.model, {"data": (options.batch, 3, 224, 224)})
    compiled = compile_model(
        graph,
        hw,
        quantize=QuantizeConfig(calibration="global_scale", global_scale=8.0, skip_conv_layers=(0,)),
        start="nn.max_pool2d",
        stop="nn.global_avg_pool2d",
    )
    write_table(placement_table(placement_rows(compiled)), sys.stdout)

    image = np.random.default_rng(0).standard_normal((options.batch, 3, 224, 224), np.float32)
    with Module(compiled, SimDevice(hw)) as module:
        check = module.check({"data": image})
        runs = [module.run({"data": image}) for _ in range(options.number)]
    write_table(layer_table(layer_rows(compiled, check.run.operators)), sys.stdout)
    print(f"bit-exact: {check.bit_exact}" if check.mismatch is None else f"differs: {check.mismatch}")
    milliseconds = np.array([run.seconds for run in runs]) * 1e3
    print(f"one run of batch {options.batch}: mean {milliseconds.mean():.1f} ms, standard deviation {milliseconds.std():.1f} ms")
    predictions = check.run.outputs[0].argmax(axis=1)
    print(f"largest output of each sample: {', '.join(str(index) for index in predictions)}")


if __name__ == "__main__":
    main()
