"""What zero points cost and gain in float networks: python -m benchmarks.zero_points --models DIR [--config NAME]... [NAME...]

DIR holds the networks of `benchmarks.labeled`, MobileNet v1 and a face detector, and photographs (DIR/images); networks of public
packages are taken as far as they are installed. NAME picks those whose names contain it. For each: clock cycles, the signal to
noise ratio of the noisiest output against the float network, in dB, and the number of regions, without zero points and with them
wherever they go (`--zero-points none` and `all`). Samples to compare on are others than those to calibrate on. The table goes to
standard output, in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks.labeled import LABELED, labeled_samples
from benchmarks.photographs import photographs, reads_photographs
from benchmarks.public_nets import NETWORKS
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph
from vta.quantization import is_quantized
from vta.quantization.config import QuantizeConfig
from vta.runtime import Module
from vta.runtime.evaluation.compute import compute_widely

__all__ = ["Network", "networks"]

Array = NDArray[Any]

_LABELED, _PARTS, _FEW_PARTS = 100, (32, 40), (8, 8)
"""Samples to calibrate on and to compare on: of each where there are labels, of photographs, and of those for packages."""
_OF_PHOTOGRAPHS = ("mobilenet/mobilenet_v1_0.25_224_float.tflite", "onnx/version-RFB-320.onnx")
_WAYS = ("none", "all")


@dataclass(frozen=True)
class Network:
    """A float network of one input, and samples of that."""

    name: str
    path: Path
    graph: Graph
    calibration: Array
    compared: Array


def networks(folder: Path, unpacked: Path, names: Sequence[str]) -> Iterator[Network]:
    """Yield the networks of a folder and of packages that have one of `names` in theirs, or all.

    What packages have in archives goes to `unpacked`.
    """

    def wanted(name: str) -> bool:
        return not names or any(part in name for part in names)

    for file, where in LABELED.items():
        if wanted(file):
            graph = load_model(folder / file)
            samples, _ = labeled_samples(folder, where, graph.inputs[0], 2 * _LABELED)
            name = Path(file).name.removesuffix("-symbol.json")
            yield Network(name, folder / file, graph, samples[::2], samples[1::2])
    for file in _OF_PHOTOGRAPHS:
        if wanted(file):
            yield _of_photographs(folder / file, load_model(folder / file), folder, _PARTS)
    for entry in NETWORKS:
        path = entry.path(None, unpacked) if entry.distribution and not entry.values and wanted(entry.name) else None
        if path is None:
            continue
        try:
            graph = load_model(path, entry.shapes, static_ranges=entry.static_ranges)
        except ImportModelError:
            continue
        if len(graph.arguments) == 1 and reads_photographs(graph.arguments[0]) and not is_quantized(graph):
            yield _of_photographs(path, graph, folder, _FEW_PARTS, signed=entry.reads_signed)


def _of_photographs(path: Path, graph: Graph, folder: Path, counts: tuple[int, int], *, signed: bool = False) -> Network:
    calibrate, compare = counts
    parts = photographs(folder / "images", graph.inputs[0], calibrate + compare, signed=signed)
    return Network(path.name, path, graph, parts[:calibrate], parts[calibrate:])


def row(network: Network, config: str) -> str:
    """One line of the table."""
    hw, name = HardwareConfig.named(config), network.graph.inputs[0].name
    inputs = {name: network.compared}
    wanted = compute_widely(network.graph, inputs, None)
    cells = [network.name, config]
    for way in _WAYS:
        options = CompileOptions(quantize=QuantizeConfig(zero_points=way))
        compiled = compile_model(network.graph, hw, calibration={name: network.calibration}, options=options)
        noise = min(float(decibels(*each)) for each in zip(wanted, compute_widely(compiled.graph, inputs, None), strict=True))
        with Module(compiled, CycleDevice(hw)) as module:
            cycles = module.run({name: network.compared[: network.graph.inputs[0].shape[0]]}).cycles or 0
        cells += [f"{cycles:,}", f"{noise:.1f}", str(len(compiled.regions))]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="Cycles and noise without zero points and with them, as a Markdown table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a file name (default: all networks)")
    parser.add_argument("--models", required=True, type=Path, metavar="DIR")
    parser.add_argument("--config", action="append", metavar="NAME", help="config, more than once (default: sim and sim_rq)")
    args = parser.parse_args()
    headers = ["network", "config"] + [f"{way}: {what}" for way in _WAYS for what in ("cycles", "dB", "regions")]
    sys.stdout.write(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}\n")
    with tempfile.TemporaryDirectory() as unpacked:
        for network in networks(args.models, Path(unpacked), args.names):
            for config in args.config or ("sim", "sim_rq"):
                sys.stdout.write(row(network, config) + "\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
