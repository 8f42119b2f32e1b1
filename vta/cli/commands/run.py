"""`vta run`: run a compiled network on a device."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vta.cli.options import DEVICES, HelpFormatter, add_debug, add_device, add_host, add_json, existing_file, integer, output_file
from vta.cli.quick_start import quick_numpy
from vta.cli.running.cycles import add_cycle_device, add_cycle_run, check_cycle_options, print_costs, print_cycles
from vta.cli.running.frames import add_frames, run_stream, start_states
from vta.cli.running.remote import add_remote, check_remote_options
from vta.cli.terminal.output import Output, count, size, warn_of_scales
from vta.files.atomic_file import whole_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vta.report.costs.layer_costs import NetworkCost
    from vta.runtime import CheckReport, RunReport
    from vta.runtime.compiled_module import CompiledModule

__all__ = ["register"]

_AGAIN_SECONDS = 1.0
"""A run that took less is made again, as the first of a process takes longer on the host than those after it."""

_DESCRIPTION = """\
Run a compiled network once, or once for each frame of a stream. Inputs come from a file, or are random (seeded).

With --check every layer that the device computed is compared with the reference, bit for bit; the first that differs
is named, and the exit status is 1.
"""

_EXAMPLES = """\
examples:
  vta run net.vta --device sim --check
  vta run net.vta --inputs in.npz --outputs out.npz
  vta run net.vta --input x=x.npy --outputs out.npz
  vta run net.vta --seed 7 --json
  vta run net.vta --device cycle --timing-only --timeline trace.json
  vta run net.vta --energy --technology mine.json
  vta run net.vta --host llvm --threads 2   the host part by compiled kernels
  vta run net.vta --frames 100 --device cycle   a stream of random frames; states go on from frame to frame
  vta run net.vta --frames speech.npz --save-state after.npz
  vta run net.vta --host llvm --records cpu.log   by those that 'vta tune --target llvm' found
  vta run net.vta --check --order 3     another order of load, compute and store must give the same bytes
  vta run net.vta --remote 127.0.0.1:9190 --key sim     on a device of a tracker, see 'vta rpc --help'
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "run",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("artifact", type=existing_file, metavar="OUT.vta", help="file that 'vta compile' wrote")
    add_device(parser)
    add_host(parser)
    parser.add_argument(
        "--records",
        type=existing_file,
        action="append",
        default=[],
        metavar="LOG",
        help="with --host llvm: take schedules of kernels from this log of 'vta tune --target llvm' (may be repeated); compiled "
        "code that the file holds is then left alone",
    )
    parser.add_argument(
        "--config",
        dest="device_config",
        metavar="CONFIG",
        help="hardware of the device: a JSON file or a shipped name (default: what the network was compiled for)",
    )
    parser.add_argument(
        "--order",
        type=integer(0),
        metavar="N",
        help="let a random unit that is ready go first, instruction by instruction; N is the seed (default: program order)",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--inputs",
        type=existing_file,
        metavar="IN.npz",
        help="arrays named like the network's inputs, or 'x' for its only one, with their shapes and types",
    )
    source.add_argument(
        "--input",
        action="append",
        metavar="[NAME=]FILE.npy",
        help="the array of one input (may be repeated; NAME may be left out where there is one), as for 'vta-run'",
    )
    source.add_argument("--seed", type=integer(0), default=0, metavar="N", help="seed of random inputs (default: %(default)s)")
    parser.add_argument("--outputs", type=output_file, metavar="OUT.npz", help="write the network's outputs here")
    parser.add_argument("--check", action="store_true", help="compare every layer with the reference")
    parser.add_argument("--energy", action="store_true", help="print energy and area, by the figures of a technology")
    parser.add_argument(
        "--technology",
        type=existing_file,
        metavar="FILE.json",
        help="figures for energy and area, by the names in docs/energy.md (default: a 45 nm process)",
    )
    add_frames(parser)
    add_cycle_run(parser)
    add_cycle_device(parser)
    add_remote(parser)
    add_json(parser)
    add_debug(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.records and (options.host != "llvm" or options.remote is not None):
        from vta.errors import UsageError

        raise UsageError("--records: schedules are for kernels that are compiled here, which --host llvm asks for")
    quick_numpy()
    if options.frames is not None:
        run_stream(options)
    else:
        _run_once(options)


def _run_once(options: argparse.Namespace) -> None:
    from vta.cli.arrays import given_inputs, network_inputs
    from vta.cli.flags import as_options
    from vta.cli.running.session import has_core
    from vta.config.technology import Technology, load_technology
    from vta.errors import DeviceError
    from vta.files.npz_writer import write_npz
    from vta.ir.state import initial_values
    from vta.report.advice import advice_on
    from vta.report.costs.cycles import cycles_json
    from vta.report.costs.layer_costs import costs_json, network_cost
    from vta.runtime import load
    from vta.runtime.evaluation.random_inputs import any_value, random_inputs
    from vta.schedule.energy import area_of, energy_of

    technology = load_technology(options.technology) if options.technology else Technology()
    check_remote_options(options)
    if options.remote is None:
        check_cycle_options(options)
    output = Output(options.json)
    with output.progress() as progress:
        progress("loading")
        on_board = options.remote is None and options.device not in DEVICES
        compiled = load(options.artifact, contained=on_board and not has_core())
        graph = compiled.graph
        if options.inputs:
            inputs = network_inputs(options.inputs, graph.arguments, initial_values(graph))
        elif options.input:
            inputs = given_inputs(options.input, graph.arguments, initial_values(graph))
        else:
            inputs = random_inputs(graph, options.seed, any_value)
        inputs = {node.name: inputs[node.name] for node in graph.arguments}
        if options.inputs or options.input:
            warn_of_scales(output, graph, inputs)
        report, check = _on_device(options, compiled, inputs, progress)
    if options.outputs:
        with whole_file(options.outputs, "the outputs") as beside, open(beside, "wb") as stream:
            write_npz(stream, dict(report.outputs.items()))
    if options.timeline:
        _write_timeline(options, report, compiled.hw.platform.fabric_mhz, output)
    cost = network_cost(compiled, report)
    _print(output, report, cost, check)
    energy, area = energy_of(report.counters, compiled.hw, technology), area_of(compiled.hw, technology)
    if options.energy:
        _print_energy(output, energy, area, technology)
    output.result(
        {
            "bit_exact": None if check is None else check.bit_exact,
            "macs": report.macs,
            "move_macs": report.move_macs,
            "bytes": report.counters.dram_bytes,
            "device_runs": report.device_runs,
            "seconds": report.seconds,
            "host_seconds": report.host_seconds,
            "device_seconds": report.device_seconds,
            **cycles_json(report.results),
            **costs_json(cost),
            "advice": [asdict(advice) for advice in advice_on(cost, as_options)] if cost else [],
            "technology": technology.name,
            "energy_pj": energy,
            "operator_energy_pj": {
                name: energy_of(counters, compiled.hw, technology)["total"] for name, counters in report.operators.items()
            },
            "area_um2": area,
        }
    )
    if check is not None and not check.bit_exact:
        raise DeviceError(f"differs from the reference, first in {check.mismatch}")


def _on_device(
    options: argparse.Namespace, compiled: CompiledModule, inputs: dict[str, NDArray[Any]], progress: Callable[[str], None]
) -> tuple[RunReport, CheckReport | None]:
    """The report of the run, and that of the check if one was asked for."""
    from vta.cli.running.session import open_module_device
    from vta.report.costs.layer_costs import with_faster_steps

    with open_module_device(options, compiled.hw, progress) as device:
        progress("loading")
        with device.load(compiled) as module:
            start_states(options, module)
            progress("running and comparing with the reference" if options.check else "running")
            check = module.check(inputs, limit_seconds=options.limit) if options.check else None
            how = {"seed": options.order, "limit_seconds": options.limit, "timeline": bool(options.timeline)}
            report = module.run(inputs, **how) if check is None else check.run
            if options.save_state:
                module.state.save(options.save_state)
            if report.steps and options.device == "cycle" and report.seconds < _AGAIN_SECONDS:
                report = with_faster_steps(report, module.run(inputs))
            return report, check


def _write_timeline(options: argparse.Namespace, report: RunReport, clock_mhz: float, output: Output) -> None:
    from vta.report.costs.timeline import write_timeline

    intervals = write_timeline(options.timeline, report.results, report.steps, clock_mhz)
    output.line(f"{options.timeline}: {count(intervals, 'interval')}; open it in ui.perfetto.dev")


def _print_energy(output: Output, energy: dict[str, float], area: dict[str, float], technology: Any) -> None:
    from vta.report.costs.energy import energy_table

    output.line(f"energy of the run and area ({technology.name}); what they leave out is in docs/energy.md")
    output.show(energy_table(energy, area))


def _print(output: Output, report: RunReport, cost: NetworkCost | None, check: CheckReport | None) -> None:
    output.line(
        f"{count(report.macs, 'multiply-accumulate')} of whole blocks ({count(report.move_macs)} more move tensors) "
        f"in {count(report.device_runs, 'device run')}; "
        f"{report.device_seconds:.3f} s on the device, {report.host_seconds:.3f} s on the host"
    )
    output.line("bytes moved: " + ", ".join(f"{name} {size(moved)}" for name, moved in report.counters.dram_bytes.items()))
    print_cycles(output, report)
    print_costs(output, cost)
    if check is not None and check.bit_exact:
        output.line(f"bit-exact: {count(check.compared, 'accelerator operator')} and all outputs equal the reference")
