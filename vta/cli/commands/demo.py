"""`vta demo`: the whole flow on handwritten digits."""

from __future__ import annotations

import argparse
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vta.cli.commands.compile import print_module
from vta.cli.commands.eval import print_accuracy
from vta.cli.options import HelpFormatter, add_debug, add_json
from vta.cli.terminal.output import Output
from vta.files.atomic_file import make_folder, whole_file

__all__ = ["register"]

_DESCRIPTION = """\
Quantise a small residual network, compile it for the simulator, and let it read 360 handwritten digits that it was
not trained on. Prints what runs where, the accuracy, and each layer's work; writes a picture of a few digits.

The network and its data are left in the output directory, so that you can go on with the other commands.
"""

_EXAMPLES = """\
example:
  vta demo -o digits
  vta eval digits/digits.onnx --data digits/test.npz --scale 16 --calibration digits/calibration.npz --config pynq
"""

_PICTURED = 24
_PICTURED_WRONG = 4


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "demo",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("vta-demo"), metavar="DIR", help="directory to write to (default: %(default)s)"
    )
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from vta.demo import PIXEL_MAX, load_digits, model_path

    output = Output(options.json)
    start = time.perf_counter()
    digits = load_digits()
    make_folder(options.output)
    _write_files(options.output, digits, model_path())
    with output.progress() as progress:
        result = _flow(options.output, digits, PIXEL_MAX, output, progress)
    output.line(f"{options.output}: digits.png shows a few digits with their predictions; digits.vta is the compiled network")
    output.result({**result, "seconds": time.perf_counter() - start})


def _write_files(folder: Path, digits: Any, model: Path) -> None:
    from vta.files.npz_writer import write_npz

    with whole_file(folder / "digits.onnx", "the network") as beside:
        shutil.copyfile(model, beside)
    for name, arrays in (("test", {"x": digits.x, "y": digits.y}), ("calibration", {"x": digits.calibration})):
        with whole_file(folder / f"{name}.npz", "the samples") as beside:
            write_npz(beside, arrays, compressed=True)


def _flow(folder: Path, digits: Any, scale: float, output: Output, progress: Any) -> dict[str, Any]:
    progress("importing")
    from vta.cli.network import summary
    from vta.compiler.compile import compile_model
    from vta.config.hardware import HardwareConfig
    from vta.devices.sim import SimDevice
    from vta.frontend import load_model
    from vta.report.layers import layer_rows, layer_table
    from vta.runtime import Dataset, Module, Preprocessing, evaluate_top1, prepare, save

    hw = HardwareConfig.named("sim")
    graph = load_model(folder / "digits.onnx")
    preprocessing = Preprocessing(scale=scale)
    (image,) = graph.inputs
    samples = {image.name: prepare(digits.calibration, image, preprocessing)}
    compiled = compile_model(graph, hw, calibration=samples, progress=progress)
    save(compiled, folder / "digits.vta")
    print_module(compiled, output)
    module = Module(compiled, SimDevice(hw))
    evaluation = evaluate_top1(module, Dataset(digits.x, digits.y.astype("int64")), preprocessing, graph, progress)
    run = module.run({image.name: prepare(digits.x[:1], image, preprocessing)})
    layers = layer_rows(compiled, run.operators)
    output.show(layer_table(layers))
    print_accuracy(evaluation, output)
    _draw(folder / "digits.png", digits, evaluation.predictions)
    return {
        **summary(compiled),
        "n": evaluation.n,
        "top1": asdict(evaluation.top1),
        "bit_exact": evaluation.bit_exact,
        "layers": [
            {"layer": row.operator, "kind": row.kind, "macs": row.macs, "bytes": row.counters.dram_bytes} for row in layers
        ],
    }


def _draw(path: Path, digits: Any, predictions: Any) -> None:
    """Draw the first digits, and after them some that were misread."""
    from vta.report.predictions import draw_predictions

    wrong = [index for index in range(_PICTURED - _PICTURED_WRONG, len(digits.y)) if predictions[index] != digits.y[index]]
    shown = [*range(_PICTURED - _PICTURED_WRONG), *wrong[:_PICTURED_WRONG]]
    found, labels = ([str(classes[index]) for index in shown] for classes in (predictions, digits.y))
    draw_predictions(path, digits.x[shown], found, labels)
