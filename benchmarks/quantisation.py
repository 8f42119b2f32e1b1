"""Top-1 accuracy of the ways to quantise, on labelled images: python benchmarks/quantisation.py MODEL... --data DATA.npz

DATA holds `x` (uint8 images, NHWC or NCHW) and `y` (labels). The table goes to standard output, in Markdown. A cell
is the top-1 accuracy, then in parentheses how often the class is that of the float net, both in per cent, and the signal to noise
ratio of the scores in dB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config import load_config
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.passes.canonicalise import canonicalise
from vta.quantize import QuantizeConfig, lower, quantize

Array = NDArray[Any]

_MEAN = (0.4914, 0.4822, 0.4465)
_STD = (0.2023, 0.1994, 0.2010)
_BATCH = 50


def _images(path: Path, limit: int) -> tuple[Array, Array]:
    with np.load(path) as data:
        images, labels = data["x"][:limit], data["y"][:limit]
    if images.shape[-1] == 3:
        images = images.transpose(0, 3, 1, 2)
    mean, std = (np.reshape(values, (1, 3, 1, 1)) for values in (_MEAN, _STD))
    return ((images / 255 - mean) / std).astype(np.float32), labels


def _scores(graph: Graph, images: Array) -> Array:
    name = graph.inputs[0].name
    return np.concatenate([evaluate(graph, {name: images[i : i + _BATCH]})[0] for i in range(0, len(images), _BATCH)])


def _choices() -> Iterator[tuple[str, str, QuantizeConfig]]:
    """Target, description, and configuration of each row."""
    default = QuantizeConfig()
    for target in ("sim", "pynq"):
        yield target, "default", default
    for calibration in ("global_scale", "max", "percentile", "kl", "mse"):
        for scales in ("real", "power_of_two"):
            config = replace(default, calibration=calibration, scales=scales)
            yield "sim", f"{calibration}, {scales}", config
    yield "sim", "default with multipliers", replace(default, multipliers=True)
    for scales in ("real", "power_of_two"):
        text = f"{default.calibration}, {scales}, one scale for each weight tensor"
        yield "sim", text, replace(default, scales=scales, per_channel=False)
    yield "sim", "default, first convolution quantised too", replace(default, skip_conv_layers=())


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="Top-1 accuracy of the ways to quantise, as a Markdown table.")
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--limit", type=int, default=1000, help=f"images to classify, in whole batches of {_BATCH}")
    parser.add_argument("--calibrate", type=int, default=100, help="images to calibrate on")
    parser.add_argument("--rows", default="", help="only rows whose description contains this")
    parser.add_argument("--configs", type=Path, default=Path(__file__).parent.parent / "hw_config")
    args = parser.parse_args()
    images, labels = _images(args.data, args.limit // _BATCH * _BATCH)
    graphs = [canonicalise(load_model(model, {"data": (_BATCH, *images.shape[1:])})) for model in args.models]
    names = [model.name.removesuffix("-symbol.json") for model in args.models]
    sys.stdout.write(f"| target | configuration | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}\n")
    real = [_scores(graph, images) for graph in graphs]
    _row("", "float", [f"{_share(scores, labels):.1f}" for scores in real])
    for target, text, config in _choices():
        if args.rows not in text:
            continue
        hw = load_config(args.configs / f"{target}.json")
        cells = []
        for graph, wanted in zip(graphs, real, strict=True):
            data = {graph.inputs[0].name: images[: args.calibrate]}
            scores = _scores(lower(quantize(graph, data, config, hw), hw), images)
            cells.append(
                f"{_share(scores, labels):.1f} ({_share(scores, wanted.argmax(axis=1)):.1f}; {_snr(scores, wanted):.1f})"
            )
        _row(target, text, cells)
    return 0


def _share(scores: Array, labels: Array) -> float:
    return float((scores.argmax(axis=1) == labels).mean() * 100)


def _snr(scores: Array, wanted: Array) -> float:
    return float(10 * np.log10((wanted**2).sum() / ((scores - wanted) ** 2).sum()))


def _row(target: str, text: str, cells: list[str]) -> None:
    sys.stdout.write(f"| {target} | {text} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
