"""Int8 beside onnxruntime's static quantisation: python -m benchmarks.static_quantization --models DIR [NAME...]

The networks are those of `benchmarks.zero_points`, and two that read lines of text, as far as they are installed; DIR is that of
those. Both quantisers get the same samples, and are compared on others: the signal to noise ratio of the noisiest output against
the float network, in dB. Ours runs with its defaults, and all in int8 (`--quantize-first`). Theirs are the ways of
`benchmarks.quantization_peer`, on the file itself, prepared as onnxruntime asks, where it is ONNX; else on what
`benchmarks.onnx_export` writes. The table goes to standard output, in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image

from benchmarks.made_inputs import written_on
from benchmarks.onnx_export import exported
from benchmarks.public_nets import NETWORKS
from benchmarks.quantization_peer import PEERS, Peer
from benchmarks.zero_points import Network, networks
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.frontend import load_model
from vta.ir.arithmetic.decibels import decibels
from vta.ir.diagnostics import KEPT_IN_FLOAT
from vta.passes.canonicalize import canonicalize
from vta.quantization.config import QuantizeConfig
from vta.runtime.evaluation.compute import compute_widely

Array = NDArray[Any]

_READERS = ("PP-OCRv6_rec_small.onnx", "ch_PP-OCRv4_rec_infer.onnx")
"""Of lines of text."""
_LINES = 16
"""Half of them to calibrate on."""
_OURS = {"ours (layers in float)": QuantizeConfig(), "ours, all in int8": QuantizeConfig(skip_conv_layers=())}


def _readers(names: Sequence[str], unpacked: Path) -> Iterator[Network]:
    """Networks that read text, with lines of words on parts of nothing but one colour."""
    for entry in NETWORKS:
        wanted = not names or any(name in entry.name for name in names)
        path = entry.path(None, unpacked) if wanted and Path(entry.file).name in _READERS else None
        if path is None:
            continue
        graph = load_model(path, entry.shapes)
        lines = _lines(graph.arguments[0].shape)
        yield Network(path.name, path, graph, lines[::2], lines[1::2])


def _lines(shape: tuple[int, ...]) -> Array:
    """Words one behind the other, in black or white, as a network reads them: (N, 3, H, W), from -1 to 1."""
    rng, (height, width) = np.random.default_rng(0), shape[2:]
    parts = []
    for _ in range(_LINES):
        part = Image.new("RGB", (width, height), tuple(rng.integers(60, 200, 3).tolist()))
        written_on(part, rng, lines=1, size=(0.4, 0.6))
        parts.append(np.asarray(part))
    return (np.stack(parts).transpose(0, 3, 1, 2) / 127.5 - 1).astype(np.float32)


def _peer(network: Network) -> Peer:
    (source,) = network.graph.arguments
    if network.path.suffix != ".onnx":
        return Peer(exported(canonicalize(network.graph), "network"), source.name, network.calibration)
    model = onnx.load(network.path)
    for given in model.graph.input:
        if given.name == source.name:
            for dimension, size in zip(given.type.tensor_type.shape.dim, source.shape, strict=True):
                dimension.dim_value = size
    with tempfile.TemporaryDirectory() as folder:
        fixed, prepared = Path(folder) / "fixed.onnx", Path(folder) / "prepared.onnx"
        onnx.save(model, fixed)
        quant_pre_process(fixed, prepared, skip_symbolic_shape=True)
        return Peer(onnx.load(prepared), source.name, network.calibration)


def _noise(wanted: Sequence[Array], got: Sequence[Array]) -> float:
    return min(float(decibels(*each)) for each in zip(wanted, got, strict=True))


def _ours(network: Network, hw: HardwareConfig, config: QuantizeConfig, wanted: Sequence[Array]) -> str:
    name = network.graph.arguments[0].name
    options = CompileOptions(quantize=config)
    compiled = compile_model(network.graph, hw, calibration={name: network.calibration}, options=options)
    noise = _noise(wanted, compute_widely(compiled.graph, {name: network.compared}, None))
    kept = sum(said.rule == KEPT_IN_FLOAT and "stays in float" in said.text for said in compiled.diagnostics)
    return f"{noise:.1f} ({kept})" if config.skip_conv_layers is None else f"{noise:.1f}"


def row(network: Network, hw: HardwareConfig) -> str:
    """One line of the table."""
    name = network.graph.arguments[0].name
    wanted = compute_widely(network.graph, {name: network.compared}, None)
    peer = _peer(network)
    cells = [network.name, *(_ours(network, hw, config, wanted) for config in _OURS.values())]
    real = peer.float_outputs(network.compared)
    cells += [f"{_noise(real, peer.outputs(way, network.compared)):.1f}" for way in PEERS]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description="Noise of int8 beside that of another quantiser, as a Markdown table.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a file name (default: all networks)")
    parser.add_argument("--models", required=True, type=Path, metavar="DIR")
    parser.add_argument("--config", default="sim", metavar="NAME")
    args = parser.parse_args()
    hw = HardwareConfig.named(args.config)
    headers = ["network", *_OURS, *PEERS]
    sys.stdout.write(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}\n")
    with tempfile.TemporaryDirectory() as unpacked:
        for network in (*networks(args.models, Path(unpacked), args.names), *_readers(args.names, Path(unpacked))):
            sys.stdout.write(row(network, hw) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
