"""What the ways to requantise cost and gain: python -m benchmarks.requantisation --models DIR [--samples N] [NAME...]

DIR holds the networks of `benchmarks.models` that came quantised. For each, and each way of ``--requantise``: clock cycles, and
how its outputs compare with those of the network as it was quantised: how often the class is the same, and the signal to noise
ratio. Samples are labelled data, for which there is top-1 too; or, for networks of photographs without any, CIFAR-10's images
enlarged to their size; or random. ``shift`` has biases corrected on 100 other samples, or the same ones where there are fewer.
The table goes to standard output, in Markdown; it is one of docs/models.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.models import MODELS, Entry, agreement, labelled_or_random, outputs_of, share_right
from vta.compiler import compile_model
from vta.config_files import find_config
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.ir.graph import Graph, Node
from vta.quantize import QuantizeConfig, is_quantised
from vta.quantize.config import REQUANTISATIONS
from vta.runtime import Module
from vta.runtime.devices.cycle import CycleDevice

Array = NDArray[Any]

_IMAGES = "data/cifar10_test1000_uint8.npz"
_CALIBRATION = 100
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's channels, which networks that read floats expect to be taken off."""


@dataclass(frozen=True)
class Samples:
    """Inputs to compare on, and others to calibrate on; labels where there are any."""

    x: Array
    y: Array | None
    calibration: Array
    classified: bool
    """Whether the largest output says anything."""


def samples_of(folder: Path, entry: Entry, graph: Graph, count: int) -> Samples:
    """Return `count` samples of a network, and the calibration samples."""
    node = graph.inputs[0]
    if entry.data or not _reads_photographs(node):
        x, y = labelled_or_random(folder, entry, graph, count + _CALIBRATION)
        if len(x) <= _CALIBRATION:
            return Samples(x, y, x, y is not None)
        held = np.isin(np.arange(len(x)), np.arange(_CALIBRATION) * len(x) // _CALIBRATION)
        return Samples(x[~held], None if y is None else y[~held], x[held], y is not None)
    with np.load(folder / _IMAGES) as data:
        images = data["x"][:: max(1, len(data["x"]) // (count + _CALIBRATION))]
    return Samples(_enlarged(images[_CALIBRATION:][:count], node), None, _enlarged(images[:_CALIBRATION], node), True)


def _reads_photographs(node: Node) -> bool:
    return len(node.shape) == 4 and 3 in (node.shape[1], node.shape[3])


def _enlarged(images: Array, node: Node) -> Array:
    """CIFAR-10's images (N, 32, 32, 3), uint8, at the size, in the layout and in the type that a network reads."""
    first = node.shape[1] == 3
    height, width = node.shape[2:] if first else node.shape[1:3]
    rows, columns = (np.arange(size) * 32 // size for size in (height, width))
    large = images[:, rows][:, :, columns]
    if node.dtype == "int8":
        large = (large.astype(np.int16) - 128).astype(np.int8)
    elif node.dtype == "float32":
        large = ((large / 255 - _MEAN) / _DEVIATION).astype(np.float32)
    return np.ascontiguousarray(large.transpose(0, 3, 1, 2) if first else large)


def row(folder: Path, entry: Entry, count: int, config: str) -> str | None:
    """One line of the table; None for a network that did not come quantised or is refused."""
    try:
        graph = load_model(folder / entry.file)
    except ImportModelError:
        return None
    if not is_quantised(graph):
        return None
    hw, name = find_config(config), graph.inputs[0].name
    samples = samples_of(folder, entry, graph, count)
    source = outputs_of(graph, samples.x)
    cells = [entry.file, f"{entry.ethos_u55:,}" if entry.ethos_u55 else ""]
    for way in REQUANTISATIONS:
        calibration = {name: samples.calibration} if way == "shift" else None
        compiled = compile_model(graph, hw, calibration=calibration, quantize=QuantizeConfig(requantise=way))
        with Module(compiled, CycleDevice(hw)) as module:
            check = module.check({name: samples.x[:1]})
        outputs = outputs_of(compiled.graph, samples.x)
        cells.append(f"{check.run.cycles:,}" + ("" if check.bit_exact else " (device differs)"))
        cells.append(_compared(outputs, source, samples))
    cells.append(str(len(samples.x)))
    return f"| {' | '.join(cells)} |"


def _compared(outputs: Array, source: Array, samples: Samples) -> str:
    noise = agreement(outputs, source)
    words = [] if noise is None or noise.equal == 1 else [f"{noise.snr_db:.1f} dB"]
    if samples.classified:
        words.insert(0, f"{share_right(outputs, source.reshape(len(source), -1).argmax(axis=1)):.1%}")
    if samples.y is not None:
        words.append(f"{share_right(outputs, samples.y):.1%}")
    return "; ".join(words) or "the same"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a file name (default: all networks)")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where the model files are")
    parser.add_argument("--samples", type=int, default=200, help="samples of each network (default: %(default)s)")
    parser.add_argument("--config", default="cycle", help="hardware config (default: %(default)s)")
    options = parser.parse_args()
    headers = ["network", "Ethos-U55"]
    for way in REQUANTISATIONS:
        headers += [f"{way}: cycles", "same class; noise; top-1"]
    headers.append("samples")
    sys.stdout.write(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}\n")
    for entry in MODELS:
        if not options.names or any(name in entry.file for name in options.names):
            line = row(options.models, entry, options.samples, options.config)
            if line is not None:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
