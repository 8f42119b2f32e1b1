"""What the ways to requantise cost and gain: python -m benchmarks.requantization --models DIR [--samples N] [NAME...]

DIR holds the networks of `benchmarks.models` that came quantised. For each, and each way of ``--requantise``: clock cycles, and
how its outputs compare with those of the network as it was quantised: how often the class is the same, and the signal to noise
ratio. Samples are labelled data, for which there is top-1 too; or, for networks of photographs without any, parts of four
photographs, which have the class of the whole; or random. ``shift`` has biases corrected on 100 samples: others, where there are
enough labelled ones. The table goes to standard output, in Markdown; it is one of docs/models.md. What is done goes to standard
error, with the seconds that it took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.models import Entry, agreement, chosen, labeled_or_random, network_options, share_right
from benchmarks.photographs import classes_of_photographs, photographs, reads_photographs
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.quantization import QuantizeConfig, is_quantized
from vta.quantization.config import REQUANTIZATIONS
from vta.runtime import Module
from vta.runtime.evaluation.compute import compute_widely

Array = NDArray[Any]

_IMAGES = "images"
_CALIBRATION = 100


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
    if entry.data or not reads_photographs(node):
        x, y = labeled_or_random(folder, entry, graph, count + _CALIBRATION)
        if len(x) <= _CALIBRATION:
            return Samples(x, y, x, y is not None)
        held = np.isin(np.arange(len(x)), np.arange(_CALIBRATION) * len(x) // _CALIBRATION)
        return Samples(x[~held], None if y is None else y[~held], x[held], y is not None)
    parts = photographs(folder / _IMAGES, node, _CALIBRATION + count)
    y = classes_of_photographs(folder / _IMAGES, _CALIBRATION + count, graph.outputs[0].shape[-1])
    return Samples(parts[_CALIBRATION:], y[_CALIBRATION:], parts[:_CALIBRATION], True)


def row(folder: Path, entry: Entry, count: int, config: str) -> str | None:
    """One line of the table; None for a network that did not come quantised or is refused."""
    try:
        graph = load_model(folder / entry.file)
    except ImportModelError:
        return None
    if not is_quantized(graph):
        return None
    hw, name = HardwareConfig.named(config), graph.inputs[0].name
    samples = samples_of(folder, entry, graph, count)
    inputs = {name: samples.x}
    with _told(f"{entry.file}: the source's outputs for {len(samples.x)} samples"):
        source = compute_widely(graph, inputs, None)
    cells = [entry.file, f"{entry.ethos_u55:,}" if entry.ethos_u55 else ""]
    cells.append("" if samples.y is None else f"{share_right(source[0], samples.y):.1%}")
    for way in REQUANTIZATIONS:
        calibration = {name: samples.calibration} if way == "shift" else None
        with _told(f"{entry.file}: {way}, compiled"):
            compiled = compile_model(graph, hw, calibration=calibration, quantize=QuantizeConfig(requantize=way))
        with Module(compiled, CycleDevice(hw)) as module:
            check = module.check({name: samples.x[:1]})
        with _told(f"{entry.file}: {way}, outputs"):
            outputs = compute_widely(compiled.graph, inputs, None)
        cells.append(f"{check.run.cycles:,}" + ("" if check.bit_exact else " (device differs)"))
        cells.append(_compared(outputs, source, samples))
    cells.append(str(len(samples.x)))
    return f"| {' | '.join(cells)} |"


@contextmanager
def _told(what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    sys.stderr.write(f"{what}: {time.perf_counter() - start:.1f} s\n")


def _compared(outputs: list[Array], source: list[Array], samples: Samples) -> str:
    noise = agreement(outputs, source)
    words = "" if noise is None or noise.equal == 1 else f"{noise.snr_db:.1f} dB"
    return with_shares(words, outputs[0], source[0], samples) or "the same"


def with_shares(noise: str, outputs: Array, source: Array, samples: Samples) -> str:
    """How often the class is that of the source, what is said of noise, and how often it is right: what there is of these."""
    words = [noise] if noise else []
    if samples.classified:
        words.insert(0, f"{share_right(outputs, source.reshape(len(source), -1).argmax(axis=1)):.1%}")
    if samples.y is not None:
        words.append(f"{share_right(outputs, samples.y):.1%}")
    return "; ".join(words)


def print_rows(headers: Sequence[str], rows: Iterable[str | None]) -> None:
    """Print a table whose rows take long, each as soon as it is there; without those that are None."""
    print(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}", flush=True)
    for line in rows:
        if line is not None:
            print(line, flush=True)


def main() -> int:
    """Print the table; returns the exit status."""
    options = network_options(__doc__).parse_args()
    headers = ["network", "Ethos-U55", "source: top-1"]
    for way in REQUANTIZATIONS:
        headers += [f"{way}: cycles", "same class; noise; top-1"]
    headers.append("samples")
    print_rows(headers, (row(options.models, entry, options.samples, options.config) for entry in chosen(options)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
