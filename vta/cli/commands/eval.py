"""`vta eval`: top-1 accuracy as trained, as quantised, and on a device."""

from __future__ import annotations

import argparse
import math
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from vta.cli.commands.compile import add_region
from vta.cli.model_options import add_model
from vta.cli.options import (
    HelpFormatter,
    add_config,
    add_debug,
    add_device,
    add_host,
    add_json,
    add_preprocessing,
    add_quantization,
    existing_file,
    integer,
)
from vta.cli.quick_start import keep_freed_memory, no_collection, quick_start
from vta.cli.running.cycles import add_cycle_device, check_cycle_options
from vta.cli.running.remote import add_remote, check_remote_options
from vta.cli.running.stage_clock import StageClock
from vta.cli.terminal.output import Output, count, warn_of_scales

if TYPE_CHECKING:
    from vta.cli.network import QuantizedLayers
    from vta.ir.graph import Graph
    from vta.runtime import Dataset
    from vta.runtime.evaluation.trained import TrainedPass

__all__ = ["print_accuracy", "register"]

_DESCRIPTION = """\
Compile a network and find its top-1 accuracy on labelled samples three times: as trained (float), quantised by the
reference interpreter, and on a device. The last two must agree bit for bit.

Without --calibration some samples of the data, evenly spread and without their labels, calibrate the quantisation.
"""

_EXAMPLES = """\
examples:
  vta eval net.onnx --data test.npz --config sim --device sim
  vta eval cifar-symbol.json --data cifar10.npz --config sim --layout NHWC --scale 255 \\
      --mean 0.4914,0.4822,0.4465 --std 0.2023,0.1994,0.2010 --limit 200
  vta eval net.onnx --data test.npz --config pynq --remote 127.0.0.1:9190 --key pynq     on a device of a tracker
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "eval",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    add_model(parser)
    parser.add_argument(
        "--data", type=existing_file, required=True, metavar="DATA.npz", help="arrays 'x' (samples) and 'y' (their classes)"
    )
    parser.add_argument("--limit", type=integer(1), metavar="N", help="only the first N samples")
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also say what each quantised layer costs: its signal to noise ratio on some samples",
    )
    add_config(parser)
    add_device(parser)
    add_host(parser, "llvm where the samples are worth compiling for")
    add_cycle_device(parser)
    add_region(parser)
    add_remote(parser, limit=False)
    add_quantization(parser)
    add_preprocessing(parser, "all samples")
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def print_accuracy(evaluation: Any, output: Output, source: str = "float") -> None:
    """Print the accuracy of each engine and whether the integer ones agree; `source` is what the network was before lowering."""
    from dataclasses import asdict

    from vta.support.table import make_table

    engines = {"float": source, "interpreter": "int8, interpreter", "device": "int8, device"}
    rows = [(engines[engine], f"{share:.2%}") for engine, share in asdict(evaluation.top1).items() if share is not None]
    output.show(make_table(("network", f"top-1 of {evaluation.n}"), rows))
    if evaluation.cycles is not None:
        runs = count(evaluation.device_runs, "device run")
        output.line(f"{count(evaluation.cycles, 'cycle')} in {runs}, {evaluation.cycles / evaluation.n:,.0f} a sample")
    if evaluation.bit_exact:
        output.line(f"device and interpreter agree bit for bit on all {evaluation.n} samples")
    else:
        differing = evaluation.mismatches
        output.line(f"device and interpreter differ on {len(differing)} samples, the first of them {differing[0]}")


def _print_outputs(evaluation: Any, output: Output) -> None:
    """Print how noisy each of several outputs is; of one, the accuracy says it."""
    from vta.support.table import make_table

    if len(evaluation.outputs) > 1:
        rows = [(row.output, f"{row.snr_db:.1f}") for row in evaluation.outputs]
        output.show(make_table(("output, the noisiest first", "signal to noise, dB"), rows))


def _run(options: argparse.Namespace) -> None:
    quick_start(one_thread=False)
    keep_freed_memory()
    with no_collection():
        _evaluate(options)


def _evaluate(options: argparse.Namespace) -> None:
    from dataclasses import asdict

    from vta.cli.network import QuantizedLayers, compile_network
    from vta.cli.options import preprocessing
    from vta.errors import DeviceError
    from vta.quantization import is_quantized
    from vta.runtime.evaluation.dataset import prepare
    from vta.runtime.evaluation.samples import spread

    check_remote_options(options)
    if options.remote is None:
        check_cycle_options(options)
    output = Output(options.json)
    start = time.perf_counter()
    with ExitStack() as stack, output.progress() as shown:
        progress = StageClock(shown)
        progress("importing")
        graph, stored = _read(options)
        data = _first(stored, options.limit, output)
        ready = is_quantized(graph)
        given = options.calibration or options.global_scale
        calibration = None if given or (ready and options.requantize != "shift") else _own_samples(options, graph, stored, output)
        seen = QuantizedLayers() if options.layers else None
        trained = stack.enter_context(_begun(graph, data, options))
        # What is imported from here on is so while the other process works.
        from vta.cli.running.session import open_module_device
        from vta.runtime import evaluate_top1
        from vta.runtime.evaluation.compute import is_worth_compiling

        compiled = compile_network(graph, options, progress, calibration, seen)
        if len(compiled.graph.inputs) == 1:
            node = compiled.graph.inputs[0]
            warn_of_scales(
                output, compiled.graph, {node.name: prepare(spread(data.x, _LAYER_SAMPLES), node, preprocessing(options))}
            )
        if options.host is None and options.remote is None and is_worth_compiling(compiled.graph, len(data.x)):
            options.host = "llvm"
        with open_module_device(options, compiled.hw, progress) as device, device.load(compiled) as module:
            evaluation = evaluate_top1(module, data, preprocessing(options), graph, progress, trained)
            progress.end()
    print_accuracy(evaluation, output, "as it was quantised" if ready else "float")
    _print_outputs(evaluation, output)
    layers = None if seen is None else _layers(options, graph, seen, stored, calibration, output)
    output.result(
        {
            "n": evaluation.n,
            "top1": asdict(evaluation.top1),
            "bit_exact": evaluation.bit_exact,
            "cycles": evaluation.cycles,
            "outputs": [_plain(row) for row in evaluation.outputs],
            "seconds": time.perf_counter() - start,
            "stages": {"seconds": progress.seconds, "cpu_seconds": progress.cpu_seconds},
            **({} if layers is None else {"layers": layers}),
        }
    )
    if not evaluation.bit_exact:
        raise DeviceError(f"device and interpreter differ on {len(evaluation.mismatches)} of {evaluation.n} samples")


def _read(options: argparse.Namespace) -> tuple[Graph, Dataset]:
    """The network and the samples; these are unpacked while the network is imported."""
    from vta.cli.network import import_network
    from vta.runtime.evaluation.dataset import load_dataset
    from vta.support.beside import Beside

    stored: list[Dataset] = []
    with Beside() as beside:
        beside.do(lambda: stored.append(load_dataset(options.data)))
        graph = import_network(options)
    return graph, stored[0]


def _begun(graph: Graph, data: Dataset, options: argparse.Namespace) -> AbstractContextManager[TrainedPass | None]:
    """The network as it was trained, on its way while it is compiled; None if it comes later, or cannot be evaluated."""
    from vta.cli.options import preprocessing
    from vta.runtime.evaluation.trained import trained_pass

    # What is wrong with a network is said once it is compiled.
    found = None if graph.states or len(graph.inputs) != 1 else trained_pass(graph, data, preprocessing(options))
    return nullcontext() if found is None else found


def _first(stored: Dataset, limit: int | None, output: Output) -> Dataset:
    """Return the first `limit` samples; say so if whole classes are missing among them."""
    from dataclasses import replace

    data = replace(stored, x=stored.x[:limit], y=stored.y[:limit])
    present, known = len(set(data.y.tolist())), len(set(stored.y.tolist()))
    if present < known:
        output.line(
            f"note: the first {len(data.y)} samples hold {present} of {known} classes; their accuracy is not the network's"
        )
    return data


_LAYER_SAMPLES = 32
"""Samples that the report of layers looks at."""


def _layers(
    options: argparse.Namespace, graph: Graph, seen: QuantizedLayers, data: Dataset, calibration: Any, output: Output
) -> list[dict[str, Any]]:
    """Print what each quantised layer costs; returns the rows."""
    from vta.cli.options import preprocessing
    from vta.runtime import prepare
    from vta.runtime.evaluation.samples import spread
    from vta.support.table import make_table

    node = graph.inputs[0]
    batch = {node.name: prepare(spread(data.x, _LAYER_SAMPLES), node, preprocessing(options))}
    rows = seen.report(options, calibration, batch)
    shown = [
        (
            row.layer,
            row.op,
            f"{row.scale:.4g}",
            f"{row.largest:.4g}",
            f"{row.saturated:.2%}",
            f"{row.own_db:.1f}",
            f"{row.snr_db:.1f}",
        )
        for row in rows
    ]
    headers = ("layer", "operator", "scale", "largest", "saturated", "own noise, dB", "signal to noise, dB")
    output.show(make_table(headers, shown))
    return [_plain(row) for row in rows]


def _plain(row: Any) -> dict[str, Any]:
    """A row for JSON, which has no infinity: without noise, or without end of it, there is no ratio."""
    from dataclasses import asdict

    values = asdict(row).items()
    return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in values}


def _own_samples(options: argparse.Namespace, graph: Any, data: Any, output: Output) -> dict[str, Any]:
    from vta.cli.options import preprocessing
    from vta.errors import UsageError
    from vta.runtime import prepare
    from vta.runtime.evaluation.samples import spread

    if len(graph.inputs) != 1:
        names = ", ".join(node.name for node in graph.inputs)
        raise UsageError(f"{options.model} has {len(graph.inputs)} inputs ({names}); 'vta eval' needs a network with one")
    samples = spread(data.x, options.calibration_limit)
    output.line(f"calibrated on {len(samples)} of the {len(data.x)} samples of {options.data}, without their labels")
    return {graph.inputs[0].name: prepare(samples, graph.inputs[0], preprocessing(options))}
