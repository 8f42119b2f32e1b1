"""`python -m vta.hardware.opencl CONFIG`: what to give to a compiler of OpenCL kernels, e.g. ``aoc $(...) -o vta.aocx``."""

from __future__ import annotations

import argparse
import sys

from vta.config.hardware import HardwareConfig
from vta.errors import VTAError
from vta.hardware.opencl.program import build_options, kernel_source


def main() -> int:
    """Print the options for the geometry of a config, and the path of the kernel."""
    parser = argparse.ArgumentParser(prog="python -m vta.hardware.opencl", description=__doc__)
    parser.add_argument("config", metavar="CONFIG", help="hardware config: a JSON file or a shipped name such as intelfocl")
    options = parser.parse_args()
    try:
        print(*build_options(HardwareConfig.named(options.config)), kernel_source())
    except VTAError as error:
        print(f"opencl: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
