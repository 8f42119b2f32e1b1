"""`vta compile`: from a model file to a `.vta` file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vta.cli.dumps import add_dumps, dumping, list_passes
from vta.cli.model_options import add_model
from vta.cli.options import (
    DEFAULT_CONFIG,
    HelpFormatter,
    add_config,
    add_debug,
    add_json,
    add_preprocessing,
    add_quantization,
    add_records,
    model_stem,
    output_file,
    positive_or_zero,
    target_list,
)
from vta.cli.quick_start import no_collection, prepare_start, quick_numpy
from vta.cli.search_ahead import search_ahead
from vta.cli.terminal.output import Output, count, size
from vta.files.second_process import end_ahead

if TYPE_CHECKING:
    from vta.compiler.profit import HostModel, OffloadEstimate
    from vta.runtime.compiled_module import CompiledModule

__all__ = ["add_region", "print_module", "register"]

_DESCRIPTION = """\
Quantise a trained network to int8 and compile it: every part that the accelerator can run becomes one instruction
stream, the rest stays on the host. Prints what runs where, and why.

For a float network pass --calibration with some typical inputs for good accuracy; one that is quantised already needs none.
"""

_EXAMPLES = """\
examples:
  vta compile net.onnx -o net.vta --config sim --calibration images.npz
  vta compile net.onnx -o net.vta --config pynq --calibration photos.npz --layout NHWC --scale 255
  vta compile net_int8.tflite                    into net_int8.vta, for sim
  vta compile resnet18_v1 -o r18.vta --config sim --start nn.max_pool2d --stop nn.global_avg_pool2d
  vta compile net_int8.tflite -o net.vta --config pynq --target "vta, llvm -device=arm_cpu -mtriple=armv7l-linux-gnueabihf"
  vta compile net.onnx --print-graph             the numbered operators, for --start and --stop
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "compile",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    model = add_model(parser)
    parser.add_argument(
        "-o", "--output", type=output_file, metavar="OUT.vta", help="file to write (default: the model's name, in this directory)"
    )
    add_config(parser, default=DEFAULT_CONFIG)
    parser.add_argument(
        "--target",
        type=target_list,
        metavar="LIST",
        help="targets, the first of which takes what it can (default: 'vta, llvm', with nothing compiled for the host); with "
        "llvm in LIST the file also holds compiled code for the host: this machine, or what -mtriple and -mcpu say; with "
        "opencl or cuda a GPU computes what is left to the host (docs/gpu.md), all of it where that comes first; 'vta' alone "
        "refuses a network that needs the host",
    )
    parser.add_argument(
        "--min-gain",
        type=positive_or_zero,
        metavar="X",
        help="leave to the host what the accelerator does not do X times as fast, transfers included; 0 keeps all (default: 1 "
        "for parts without multiply-accumulates, 0 for others)",
    )
    parser.add_argument(
        "--host-rates",
        metavar="FILE.json",
        help="how fast the host is, as 'vta host measure' wrote it, or a name that 'vta host rates' lists: decides what pays on "
        "the accelerator (default: board)",
    )
    add_records(parser)
    parser.add_argument(
        "--print-graph",
        action="store_true",
        help="print the network with the numbers of its operators, for --start and --stop, and end",
    )
    add_dumps(parser, model)
    add_region(parser)
    add_quantization(parser)
    add_preprocessing(parser, "the calibration samples")
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def add_region(parser: argparse.ArgumentParser) -> None:
    """Add the options that mark a region by hand."""
    group = parser.add_argument_group("region (default: every part that the target can run)")
    group.add_argument(
        "--start",
        metavar="NAME[:INDEX]",
        help="the region begins after this operator: an operator such as nn.max_pool2d or a layer, the first of the name or "
        "the one with this number in --print-graph",
    )
    group.add_argument("--stop", metavar="NAME[:INDEX]", help="the region ends before this operator")


def measured_layers(module: CompiledModule) -> list[str]:
    """What was measured of layers that might stay in float, a sentence each."""
    from vta.ir.diagnostics import KEPT_IN_FLOAT, NOT_EQUALIZED, ZERO_POINTS

    return [str(said) for said in module.diagnostics if said.rule in (KEPT_IN_FLOAT, NOT_EQUALIZED, ZERO_POINTS)]


def print_module(module: CompiledModule, output: Output, host: HostModel | None = None) -> list[OffloadEstimate]:
    """Print where each operator runs, and the size of the programs; returns the estimates of the regions."""
    from vta.cli.flags import as_options
    from vta.cli.network import summary
    from vta.report.layers import placement_rows, placement_table
    from vta.report.offload import offload_estimates, offload_table
    from vta.report.placement_advice import advice_on_placements

    output.show(placement_table(placement_rows(module)))
    estimates = offload_estimates(module, host)
    if estimates:
        output.show(offload_table(estimates))
    figures = summary(module)
    macs = figures["macs"]
    share = macs["vta"] / macs["total"] if macs["total"] else 0.0
    for text in (*measured_layers(module), *advice_on_placements(module, as_options)):
        output.line(text)
    places = figures["operators"]
    output.line(
        f"{count(places['vta'], 'operator')} on the accelerator in {count(figures['regions'], 'region')}, "
        f"{count(places['host'])} on the host"
    )
    output.line(f"{count(macs['vta'])} of {count(macs['total'])} multiply-accumulates on the accelerator ({share:.1%})")
    output.line(
        f"{count(figures['instructions'], 'instruction')}, {count(figures['uops'], 'micro-op')}, "
        f"{size(figures['arena_bytes'])} for activations"
    )
    return estimates


def _run(options: argparse.Namespace) -> None:
    from vta.errors import UsageError

    if options.list_passes:
        output = Output(options.json)
        output.result(list_passes(output))
        return
    if options.print_graph and options.dump_after:
        raise UsageError("--print-graph ends before the passes of --dump-after; canonicalize is the pass that it shows")
    prepare_start(one_thread=True)
    if options.output is None and not options.print_graph:
        options.output = output_file(f"{model_stem(options.model)}.vta")
    output = Output(options.json)
    start = time.perf_counter()
    with no_collection(), search_ahead(options):
        quick_numpy()
        with output.progress() as progress:
            result = _print_graph(options, output, progress) if options.print_graph else _compile(options, output, progress)
    output.result({**result, "seconds": time.perf_counter() - start})


def _compile(options: argparse.Namespace, output: Output, progress: Any) -> dict[str, Any]:
    progress("importing")
    from vta.cli.network import compile_network, host_rates, import_network, summary
    from vta.config.target_list import DEFAULT_TARGETS
    from vta.quantization import is_quantized
    from vta.runtime import save

    with dumping(options) as watch:
        held = [import_network(options)]
        quantized = is_quantized(held[0])
        if not quantized:
            end_ahead()
        module = compile_network(held.pop(), options, progress, watch=watch)
    module, host = _with_host(module, options, progress)
    gpu = None
    if module.gpu is not None:
        from vta.cli.commands.compile_gpu import print_gpu, with_gpu

        module, gpu = with_gpu(module, options, progress)
    save(module, options.output)
    regions = print_module(module, output, host_rates(options))
    for hint in (*_hints(quantized, module, options), *_slower(regions, options)):
        output.line()
        output.line(f"note: {hint}")
    output.line(f"{options.output}: {size(options.output.stat().st_size)}, for {module.hw.model}")
    _print_host(host, output)
    if gpu is not None:
        print_gpu(gpu, output)
    if not options.json:
        return {}
    from dataclasses import asdict

    estimates = {row.region: {**asdict(row), "gain": row.gain} for row in regions}
    placements = [asdict(placement) for placement in module.placements]
    result = {**summary(module), "output": str(options.output), "config": module.hw.model, "placements": placements}
    return {**result, "target": str(options.target or DEFAULT_TARGETS), "estimates": estimates, "host": host, "gpu": gpu}


def _with_host(
    module: CompiledModule, options: argparse.Namespace, progress: Any
) -> tuple[CompiledModule, dict[str, Any] | None]:
    """The module with its host part compiled where --target asks for that, and what there is to say of it."""
    entry = options.target.host if options.target else None
    if entry is None:
        return module, None
    from dataclasses import replace

    from vta.host.llvm.target import target_of
    from vta.runtime.host_library.build import build_host_library

    progress("compiling the host part")
    start = time.perf_counter()
    logs = [log for log in options.records if log is not None]
    library = build_host_library(module, target_of(entry), logs)
    figures = {
        "target": str(entry),
        "kernels": library.plan.kernel_count,
        "seconds": time.perf_counter() - start,
        "bytes": len(library.code),
        "processor": {"triple": library.plan.processor.triple, "cpu": library.plan.processor.cpu},
        "without_kernel": [{"layer": item.name, "op": item.op} for item in library.plan.operators],
    }
    return replace(module, host=library), figures


def _print_host(host: dict[str, Any] | None, output: Output) -> None:
    if host is None:
        return
    cpu, triple = host["processor"]["cpu"], host["processor"]["triple"]
    output.line(f"host: {count(host['kernels'], 'kernel')} for {cpu} ({triple}), {size(host['bytes'])}")
    if host["without_kernel"]:
        names = ", ".join(f"{item['layer']} ({item['op']})" for item in host["without_kernel"])
        output.line(f"note: no kernel for {names}: the network runs in Python only, not by vta-run")


def _hints(quantized: bool, module: CompiledModule, options: argparse.Namespace) -> Iterator[str]:
    """Which options say nothing about the network, and what one that came quantised might gain by others."""
    from dataclasses import replace

    from vta.cli.network import DEFAULT_GLOBAL_SCALE, quantize_config
    from vta.partition.fused.support_rules import target_multiplies
    from vta.quantization import QuantizeConfig

    default = QuantizeConfig()
    if not quantized:
        if options.target is not None and options.target.vta is None:
            return
        if options.requantize != default.requantize:
            yield "--requantise is for networks that came quantised; this one is float"
        if options.calibration is None and options.global_scale is None:
            yield (
                f"no samples were given: the range of every activation is taken to be -{DEFAULT_GLOBAL_SCALE:g} to "
                f"{DEFAULT_GLOBAL_SCALE:g}, which may cost much accuracy; --calibration with some typical inputs finds the ranges"
            )
        return
    shifts = options.requantize == "shift"
    quantization = replace(quantize_config(options), requantize=default.requantize)
    if quantization != default or (options.calibration is not None and not shifts):
        idle = "the options of quantisation" if shifts else "calibration and the options of quantisation"
        yield f"the network came quantised: {idle} do nothing"
    if shifts:
        if options.calibration is None:
            yield "rounding the weights again costs accuracy; --calibration with some typical inputs keeps most of it"
        return
    kept = [reason for reason in module.reasons if reason.rule == target_multiplies.name]
    if kept:
        yield (
            f"{module.hw.target} cannot multiply, so the host rescales: {count(len(kept), 'operator')} in {len(module.regions)} "
            "regions. --requantise shift lets the accelerator do it, in fewer regions; results are then near those of the source "
            "framework, but not its bytes"
        )


def _slower(regions: Sequence[OffloadEstimate], options: argparse.Namespace) -> Iterator[str]:
    """Say of regions that stay although the host would be faster."""
    slower = [row.region for row in regions if row.gain < 1]
    if slower and options.min_gain is None:
        yield (
            f"{count(len(slower), 'region')} of {len(regions)} would be faster on the host by the estimate above (gain below 1); "
            "regions with multiply-accumulates stay all the same, unless --min-gain 1 moves them"
        )


def _print_graph(options: argparse.Namespace, output: Output, progress: Any) -> dict[str, Any]:
    progress("importing")
    from vta.cli.network import import_network
    from vta.ir.printer import print_graph
    from vta.passes.canonicalize import canonicalize

    graph = canonicalize(import_network(options))
    output.line(print_graph(graph))
    return {"operators": {"total": len(graph.calls())}}
