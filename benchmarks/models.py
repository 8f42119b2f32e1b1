"""Networks that others trained and quantised, through the whole toolchain: the table of docs/models.md.

    python -m benchmarks.models --models DIR [--samples N] [--json] [NAME...]

DIR holds the files (see `MODELS`), NAME picks some. For each network: what runs on the accelerator, whether device and
interpreter agree bit for bit, how the outputs compare with the source framework's own interpreter (LiteRT with reference kernels,
or onnxruntime; MXNet does not run any more, there the float reference stands in), top-1 of both on labelled data, and clock
cycles. The whole command ``vta compile`` is timed on quantised networks, in turns with Arm's Vela where ``vela`` is on the path.
Inputs without labels are parts of photographs, or random and seeded. Float networks are quantised first, calibrated on samples
without labels.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.labeled import LABELED, labeled_samples
from benchmarks.photographs import photographs, reads_photographs
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.errors import VTAError
from vta.frontend import load_model
from vta.ir.diagnostics import INEXACT
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.ir.transforms.batch import with_batch
from vta.quantization import is_quantized
from vta.runtime import Module
from vta.runtime.reports import RunReport

Array = NDArray[Any]
Source = Callable[[Array], list[Array]]
"""The source framework: one sample with its batch axis to all outputs."""

_BATCH = 25
_COMMAND_SECONDS = 600.0
_ROUNDS = 3
_PHOTOGRAPHS = "images"
_MANY = 20
"""Parts of photographs."""
_CALIBRATION = 100
"""Samples that a float network is calibrated on, evenly spread."""


@dataclass(frozen=True)
class Entry:
    """A network to measure."""

    file: str
    data: str = ""
    """Labelled samples: an .npz with x and y, or a pattern of raw files."""
    label: str = ""
    """For raw files, the part of the name that means class 1."""
    ethos_u55: int = 0
    """Cycles of an Ethos-U55 with as many multipliers, by the estimate of Arm's compiler for it; 0: not known."""


MODELS = (
    Entry("mxnet/cifar_resnet20_v1-symbol.json"),
    Entry("mxnet/cifar_resnet20_v2-symbol.json"),
    Entry("mxnet/cifar_resnet56_v1-symbol.json"),
    Entry("mlperf_tiny/pretrainedResnet.tflite"),
    Entry("mlperf_tiny/kws_ref_model_float32.tflite"),
    Entry("mlperf_tiny/vww_96_float.tflite"),
    Entry("mobilenet/mobilenet_v1_0.25_224_float.tflite"),
    Entry("mlperf_tiny/ad01_fp32.tflite"),
    Entry("onnx/version-RFB-320.onnx"),
    Entry("mlperf_tiny/pretrainedResnet_quant.tflite", "data/cifar10_test1000_uint8.npz", ethos_u55=142_000),
    Entry("mlperf_tiny/kws_ref_model.tflite", "data/kws01_test1000_int8_mfcc.npz", ethos_u55=58_000),
    Entry("mlperf_tiny/vww_96_int8.tflite", "data/cfu_mlperf_tiny_inputs/quant_test_*.dat", "yes", 161_000),
    Entry("mlperf_tiny/ad01_int8.tflite", "data/cfu_mlperf_tiny_inputs/quant_[an]*.dat"),
    Entry("mlperf_tiny/str_ww_ref_model.tflite"),
    Entry("mobilenet/mobilenet_v1_0.25_128_quant.tflite"),
    Entry("mobilenet/mobilenet_v1_0.25_224_quant.tflite", ethos_u55=944_000),
    Entry("mobilenet/mobilenet_v1_0.5_160_quant.tflite"),
    Entry("mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite", ethos_u55=5_460_000),
    Entry("mobilenet/mobilenet_v2_quant.onnx", ethos_u55=5_460_000),
    Entry("tflm/image_example1.tflite"),
    Entry("tflm/micro_speech_quantized.tflite"),
    Entry("tflm/person_detect.tflite", "tflm/*person.bmp"),
    Entry("tflm/keyword_scrambled_8bit.tflite"),
)


@dataclass(frozen=True)
class Agreement:
    """How outputs compare with those of the source framework."""

    equal: float
    """Share of equal values."""
    largest: float
    """Largest difference."""
    snr_db: float
    """Power of the source's outputs over that of the difference, in decibels."""


@dataclass(frozen=True)
class Work:
    """Cycles that each part of the hardware needs at least: the compute unit one for each product or pass over a row."""

    gemm: int
    alu: int
    """Passes, resets among them."""
    memory: int
    """Words on the read port, or on the write port where those are more."""


@dataclass(frozen=True)
class CommandSeconds:
    """Wall times of commands from start to end, measured in turns; the shortest of each."""

    first: float
    """``vta compile`` of a network that was never compiled before."""
    again: float
    """``vta compile`` of one that was."""
    vela: float | None
    """Arm's compiler for Ethos-U; None where it is not installed, or does not read such a file."""


@dataclass(frozen=True)
class Row:
    """What was measured of one network."""

    model: str
    refused: str = ""
    operators_vta: int = 0
    operators_host: int = 0
    regions: int = 0
    macs_vta: float = 0.0
    inexact_layers: int = 0
    bit_exact: bool = False
    samples: int = 0
    reference: Agreement | None = None
    device: Agreement | None = None
    top1_source: float | None = None
    top1_device: float | None = None
    cycles: int | None = None
    ethos_u55: int = 0
    work: Work | None = None
    compile_seconds: CommandSeconds | None = None
    """Wall time of the whole command, for a quantised network."""
    calibrated: int = 0
    """Samples that a float network was calibrated on."""


def measure(folder: Path, entry: Entry, samples: int, config: str) -> Row:
    """Measure one network."""
    path = folder / entry.file
    hw = HardwareConfig.named(config)
    try:
        graph = load_model(path)
    except VTAError as error:
        lines = [line.strip() for line in str(error).removeprefix(f"{path}: ").splitlines()]
        return Row(entry.file, refused=" ".join(lines[:2]))
    x, y = labeled_or_random(folder, entry, graph, samples)
    calibration = None if is_quantized(graph) else {graph.inputs[0].name: _spread(x, _CALIBRATION)}
    compiled = compile_model(graph, hw, calibration=calibration)
    source = _source(path)
    expected = None if source is None else _joined([source(sample[None]) for sample in x])
    ours = outputs_of(graph, x)
    if source is None and path.name.endswith(".json"):
        expected = ours
    name = graph.inputs[0].name
    with Module(compiled, CycleDevice(hw)) as module:
        check = module.check({name: x[:1]})
        device = _joined([module.run({name: sample[None]}).outputs for sample in x])
        integer = outputs_of(compiled.graph, x)
    places = [placement.where for placement in compiled.placements]
    macs = sum(record.macs for region in compiled.regions for record in region.operators)
    return Row(
        entry.file,
        operators_vta=places.count("vta"),
        operators_host=places.count("host"),
        regions=len(compiled.regions),
        macs_vta=macs / max(1, compiled.total_macs),
        inexact_layers=len({said.layer for said in compiled.diagnostics if said.rule == INEXACT}),
        bit_exact=check.bit_exact and all(map(np.array_equal, device, integer)),
        samples=len(x),
        reference=agreement(ours, expected),
        device=agreement(device, expected),
        top1_source=None if expected is None else _top1(expected[0], y),
        top1_device=_top1(device[0], y),
        cycles=check.run.cycles,
        ethos_u55=entry.ethos_u55,
        work=_work(check.run),
        compile_seconds=_command_seconds(path, config) if calibration is None else None,
        calibrated=0 if calibration is None else len(next(iter(calibration.values()))),
    )


def _command_seconds(path: Path, config: str) -> CommandSeconds:
    """Measure in turns, so that what else the machine does falls on all commands alike."""
    vela = shutil.which("vela") if path.suffix == ".tflite" else None
    rounds = [_one_round(path, config, vela) for _ in range(_ROUNDS)]
    return CommandSeconds(
        min(found.first for found in rounds),
        min(found.again for found in rounds),
        min((found.vela for found in rounds if found.vela is not None), default=None),
    )


def _one_round(path: Path, config: str, vela: str | None) -> CommandSeconds:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "vta", "compile", str(path), "-o", f"{folder}/net.vta", "--config", config]
        emptied = {**os.environ, "VTA_CACHE_PATH": f"{folder}/cache"}
        return CommandSeconds(_seconds(command, emptied), _seconds(command, emptied), _vela_seconds(vela, path, folder))


def _vela_seconds(vela: str | None, path: Path, folder: str) -> float | None:
    if vela is None:
        return None
    with contextlib.suppress(subprocess.CalledProcessError):
        return _seconds([vela, str(path), "--output-dir", folder], os.environ)
    return None


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, timeout=_COMMAND_SECONDS, env=environment)
    return time.perf_counter() - start


def _spread(x: Array, count: int) -> Array:
    return x[np.arange(min(count, len(x))) * len(x) // min(count, len(x))]


def _work(run: RunReport) -> Work:
    counters = run.counters
    beats = [sum(getattr(result, name) for _, result in run.results) for name in ("read_beats", "write_beats")]
    return Work(counters.gemm_uops, counters.alu_uops + counters.reset_uops, max(beats))


def outputs_of(graph: Graph, x: Array) -> list[Array]:
    """Return every output of a graph, for each sample."""
    parts: list[Sequence[Array]] = []
    for at in range(0, len(x), _BATCH):
        part = x[at : at + _BATCH]
        try:
            wide = with_batch(graph, len(part))
            parts.append(evaluate(wide, {graph.inputs[0].name: part}))
        except VTAError:
            parts += [evaluate(graph, {graph.inputs[0].name: sample[None]}) for sample in part]
    return _joined(parts)


def _joined(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """For each output what all parts have of it."""
    return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]


def agreement(got: Sequence[Array], expected: Sequence[Array] | None) -> Agreement | None:
    """Compare outputs, and return what is found of the one that differs most; None without any to compare with."""
    if expected is None:
        return None
    return min((_compared(*pair) for pair in zip(got, expected, strict=True)), key=lambda found: (found.snr_db, found.equal))


def _compared(got: Array, expected: Array) -> Agreement:
    difference = np.abs(got.astype(np.float64) - expected)
    power, error = float((expected.astype(np.float64) ** 2).sum()), float((difference**2).sum())
    snr = math.inf if error == 0 else 10 * math.log10(max(power, 1e-300) / error)
    return Agreement(float((difference == 0).mean()), float(difference.max()), snr)


def _top1(outputs: Array | None, y: Array | None) -> float | None:
    if outputs is None or y is None:
        return None
    return share_right(outputs, y)


def share_right(outputs: Array, y: Array) -> float:
    """Return how often the largest output is that of class `y`."""
    return float((outputs.reshape(len(y), -1).argmax(axis=1) == y).mean())


def labeled_or_random(folder: Path, entry: Entry, graph: Graph, limit: int) -> tuple[Array, Array | None]:
    """Return at most `limit` samples of an entry, and their labels where there are any."""
    node = graph.inputs[0]
    if entry.file in LABELED:
        return labeled_samples(folder, LABELED[entry.file], node, limit)
    if entry.data.endswith(".npz"):
        with np.load(folder / entry.data) as data:
            x, y = data["x"], data["y"]
        chosen = np.arange(min(limit, len(x))) * len(x) // min(limit, len(x))
        return _fitting(x[chosen], node.dtype).reshape(-1, *node.shape[1:]), y[chosen]
    if entry.data:
        files = sorted(folder.glob(entry.data))
        arrays = [_raw(file, node.shape, node.dtype) for file in files]
        labels = np.concatenate(
            [np.full(len(array), entry.label in file.name) for file, array in zip(files, arrays, strict=True)]
        )
        return np.concatenate(arrays)[:limit], labels[:limit].astype(int) if entry.label else None
    if reads_photographs(node) and (folder / _PHOTOGRAPHS).is_dir():
        return photographs(folder / _PHOTOGRAPHS, node, min(limit, _MANY)), None
    rng = np.random.default_rng(0)
    shape = (min(limit, 4), *node.shape[1:])
    if node.dtype == "float32":
        return rng.standard_normal(shape, np.float32), None
    info = np.iinfo(node.dtype)
    return rng.integers(info.min, info.max, shape, node.dtype, endpoint=True), None


def _fitting(x: Array, dtype: str) -> Array:
    return (x.astype(np.int16) - 128).astype(np.int8) if x.dtype == np.uint8 and dtype == "int8" else x.astype(dtype)


def _raw(file: Path, shape: tuple[int, ...], dtype: str) -> Array:
    content = file.read_bytes()
    if file.suffix == ".bmp":
        return _fitting(_grey_bitmap(content), dtype).reshape(-1, *shape[1:])
    return np.frombuffer(content, dtype).reshape(-1, *shape[1:])


def _grey_bitmap(content: bytes) -> Array:
    """The pixels of an uncompressed 8-bit bitmap, top row first."""
    start, width, height = (int.from_bytes(content[at : at + 4], "little") for at in (10, 18, 22))
    pitch = (width + 3) // 4 * 4
    rows = np.frombuffer(content, np.uint8, pitch * height, start).reshape(height, pitch)
    return np.ascontiguousarray(rows[::-1, :width])


def _source(path: Path) -> Source | None:
    if path.suffix == ".json":
        return None
    return _onnxruntime(path) if path.suffix == ".onnx" else _litert(path)


def _litert(path: Path) -> Source | None:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError):
        return None
    inputs, outputs = interpreter.get_input_details()[0]["index"], [item["index"] for item in interpreter.get_output_details()]

    def run(sample: Array) -> list[Array]:
        interpreter.set_tensor(inputs, sample)
        interpreter.invoke()
        return [np.array(interpreter.get_tensor(index)) for index in outputs]

    return run


def _onnxruntime(path: Path) -> Source:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda sample: [np.asarray(value) for value in session.run(None, {name: sample})]


def table(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the table of docs/models.md."""
    yield (
        "| network | operators on VTA, host | MACs on VTA | device = interpreter | reference = source | device = source "
        "| layers not exact | top-1 source, device | cycles | Ethos-U55 | GEMM, ALU, memory | compile first, again; Vela, s |"
    )
    yield "|" + "---|" * 12
    for row in rows:
        if row.refused:
            yield f"| {row.model} | refused: {row.refused} |" + " |" * 10
            continue
        top1 = "" if row.top1_device is None else f"{_percent(row.top1_source)}, {_percent(row.top1_device)}"
        cells = (
            row.model,
            f"{row.operators_vta}, {row.operators_host}",
            f"{row.macs_vta:.1%}",
            "yes" if row.bit_exact else "no",
            _agreed(row.reference, row.calibrated),
            _agreed(row.device, row.calibrated),
            str(row.inexact_layers or "none"),
            f"{top1} of {row.samples}" if top1 else "",
            f"{row.cycles:,}" if row.cycles else "",
            f"{row.ethos_u55:,}" if row.ethos_u55 else "",
            "" if row.work is None or not row.cycles else _shares(row.work, row.cycles),
            "" if row.compile_seconds is None else _told_seconds(row.compile_seconds),
        )
        yield f"| {' | '.join(cells)} |"


def _told_times(path: Path, config: str) -> str:
    try:
        return _told_seconds(_command_seconds(path, config))
    except subprocess.CalledProcessError:
        return "refused"


def _told_seconds(times: CommandSeconds) -> str:
    ours = f"{times.first:.2f}, {times.again:.2f}"
    return ours if times.vela is None else f"{ours}; {times.vela:.2f}"


def _shares(work: Work, cycles: int) -> str:
    return ", ".join(f"{part / cycles:.0%}" for part in (work.gemm, work.alu, work.memory))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _agreed(found: Agreement | None, calibrated: int) -> str:
    if found is None:
        return "source refuses it"
    if calibrated:
        return "all" if found.equal == 1 else f"{found.snr_db:.1f} dB"
    return "all" if found.equal == 1 else f"{found.equal:.2%}, largest {found.largest:.3g}"


def network_options(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that say what to measure, and on what."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a file name (default: all networks)")
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="where the model files are")
    parser.add_argument("--samples", type=int, default=200, help="samples of each network (default: %(default)s)")
    parser.add_argument("--config", default="cycle", help="hardware config (default: %(default)s)")
    return parser


def chosen(options: argparse.Namespace) -> list[Entry]:
    """Return the networks that the options name."""
    return [entry for entry in MODELS if not options.names or any(name in entry.file for name in options.names)]


def main() -> int:
    """Measure and print."""
    parser = network_options(__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--times", action="store_true", help="only the times of whole commands, of networks that came quantised")
    options = parser.parse_args()
    if shutil.which("vela") is None:
        print("vela is not on the path (pip install ethos-u-vela): its times are left out", file=sys.stderr)
    if options.times:
        for entry in chosen(options):
            print(f"| {entry.file} | {_told_times(options.models / entry.file, options.config)} |", flush=True)
        return 0
    rows = [measure(options.models, entry, options.samples, options.config) for entry in chosen(options)]
    if options.json:
        print(json.dumps({"config": options.config, "models": [asdict(row) for row in rows]}))
    else:
        print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
