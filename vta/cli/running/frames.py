"""`vta run` on a stream, and the states that a network keeps: options, and what is printed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.options import DEVICES, existing_file, integer, output_file
from vta.cli.running.cycles import check_cycle_options
from vta.cli.terminal.output import Output, count
from vta.errors import UsageError
from vta.files.atomic_file import whole_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vta.runtime.compiled_module import CompiledModule
    from vta.runtime.loaded_module import LoadedModule
    from vta.runtime.values.frames import FramesReport

__all__ = ["add_frames", "run_stream", "start_states"]

_MOST_RANDOM = 1_000_000
"""Frames that are drawn, which all are in memory."""


def add_frames(parser: argparse.ArgumentParser) -> None:
    """Add the options of streams and states."""
    group = parser.add_argument_group("streams")
    group.add_argument(
        "--frames",
        type=_frames,
        metavar="N|IN.npz",
        help="run once for each frame, from the states that the frame before left: N random frames, or those of a file, whose "
        "first axis is time",
    )
    group.add_argument("--load-state", type=existing_file, metavar="FILE.npz", help="start from these states, by their names")
    group.add_argument("--save-state", type=output_file, metavar="FILE.npz", help="write the states after the last run here")


def _frames(text: str) -> int | Path:
    return integer(1, _MOST_RANDOM)(text) if text.isdecimal() else existing_file(text)


def run_stream(options: argparse.Namespace) -> None:
    """Run the frames that `options` name, and print what they took."""
    from vta.cli.running.remote import check_remote_options
    from vta.cli.running.session import has_core, open_module_device
    from vta.runtime import load
    from vta.runtime.values.frames import frame_count

    for flag in ("timeline", "energy", "order", "inputs", "input"):
        if getattr(options, flag) not in (None, False):
            raise UsageError(f"--{flag} is for one run; --frames makes many")
    check_remote_options(options)
    if options.remote is None:
        check_cycle_options(options)
    output = Output(options.json)
    with output.progress() as progress:
        progress("loading")
        compiled = load(options.artifact, contained=options.remote is None and options.device not in DEVICES and not has_core())
        inputs = _inputs(options, compiled)
        total = frame_count(compiled.graph, inputs)
        with open_module_device(options, compiled.hw, progress) as device, device.load(compiled) as module:
            start_states(options, module)
            report = module.run_frames(inputs, tick=lambda done: progress("running", done, total), check=options.check)
            if options.save_state:
                module.state.save(options.save_state)
    if options.outputs:
        _write_outputs(options.outputs, report)
    _print(output, report, options.check)
    output.result(_figures(report, options.check))


def start_states(options: argparse.Namespace, module: LoadedModule) -> None:
    """Set what a module starts from. Raises `UsageError` if states are asked for of a network that has none, or do not fit."""
    for flag, path in (("load", options.load_state), ("save", options.save_state)):
        if path and not module.state:
            raise UsageError(f"--{flag}-state {path}: the network keeps no states")
    if options.load_state:
        module.state.restore(options.load_state)


def _print(output: Output, report: FramesReport, checked: bool) -> None:
    """Say what the frames took."""
    output.line(
        f"{count(report.frames, 'frame')} in {count(report.device_runs, 'device run')}; "
        f"{report.device_seconds:.3f} s on the device, {report.seconds - report.device_seconds:.3f} s on the host"
    )
    if report.cycles is not None:
        low, high = min(report.cycles), max(report.cycles)
        spread = f"{count(low)}" if low == high else f"{count(low)} to {count(high)}"
        output.line(f"{spread} cycles a frame")
    if checked:
        output.line("bit-exact: all accelerator operators and outputs of every frame equal the reference")


def _write_outputs(path: Path, report: FramesReport) -> None:
    """Write the results of all frames, with an axis of time in front."""
    from vta.files.npz_writer import write_npz

    with whole_file(path, "the outputs") as beside, open(beside, "wb") as stream:
        write_npz(stream, dict(report.outputs.items()))


def _inputs(options: argparse.Namespace, compiled: CompiledModule) -> dict[str, NDArray[Any]]:
    from vta.runtime.evaluation.random_inputs import any_value, random_frames

    if isinstance(options.frames, int):
        return random_frames(compiled.graph, options.frames, options.seed, any_value)
    from vta.cli.arrays import load_arrays
    from vta.ir.state import initial_values
    from vta.runtime.evaluation.samples import by_input

    graph = compiled.graph
    found = by_input(load_arrays(options.frames), graph.arguments, str(options.frames), initial_values(graph))
    return {node.name: array for node, array in found.items()}


def _figures(report: FramesReport, checked: bool) -> dict[str, Any]:
    return {
        "bit_exact": True if checked else None,
        "frames": report.frames,
        "device_runs": report.device_runs,
        "seconds": report.seconds,
        "device_seconds": report.device_seconds,
        "cycles": None if report.cycles is None else sum(report.cycles),
        "frame_cycles": None if report.cycles is None else max(report.cycles),
    }
