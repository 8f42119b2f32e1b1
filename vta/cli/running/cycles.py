"""The options of the cycle device, and what a run on a device that counts cycles prints."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from vta.cli.options import DEVICES, existing_file, integer, output_file
from vta.cli.terminal.output import Output, count

if TYPE_CHECKING:
    from vta.config.hardware import HardwareConfig
    from vta.config.timing import TimingParameters
    from vta.report.costs.layer_costs import NetworkCost

__all__ = [
    "TIMED",
    "add_cycle_device",
    "add_cycle_run",
    "check_cycle_options",
    "print_costs",
    "print_cycles",
    "timing_parameters",
]

PRESETS = ("rtl", "chisel", "hls")

TIMED = ("cycle", "rtl")
"""Devices whose clock cycles depend on timing parameters."""


_OWNERS = {
    "preset": "cycle",
    "timing_only": "cycle",
    "timeline": "cycle",
    "trace": "rtl",
    "kernel": "opencl",
    "platform": "opencl",
}
"""Options that belong to one device."""


def add_cycle_device(parser: argparse.ArgumentParser) -> None:
    """Add what the cycle device can be told."""
    group = parser.add_argument_group("time (of --device cycle and rtl)")
    group.add_argument(
        "--preset",
        choices=PRESETS,
        help="whose timing (device cycle): rtl, the hardware in this package, to the cycle (default); chisel or hls, "
        "approximations of the published designs",
    )
    group.add_argument(
        "--timing", type=existing_file, metavar="FILE.json", help="timing parameters, by the names in native/TIMING.md"
    )
    group.add_argument("--bus-bits", type=integer(64, 512), metavar="N", help="width of the memory bus: 64, 128, 256 or 512")


def add_cycle_run(parser: argparse.ArgumentParser) -> None:
    """Add what only a single run on the cycle device offers."""
    parser.add_argument("--timing-only", action="store_true", help="count cycles without computing anything")
    parser.add_argument(
        "--timeline", type=output_file, metavar="T.json", help="write what each unit did when; opens in ui.perfetto.dev"
    )
    parser.add_argument(
        "--trace", type=output_file, metavar="T.vcd", help="write all signals of device rtl as a VCD file, or FST by its ending"
    )


def check_cycle_options(options: argparse.Namespace) -> None:
    """Raise `UsageError` for options that the device does not have, or that exclude each other."""
    from vta.errors import UsageError

    for name, device in _OWNERS.items():
        if options.device != device and getattr(options, name, None):
            raise UsageError(f"--{name.replace('_', '-')} needs --device {device}")
    if options.device not in TIMED and (options.timing or options.bus_bits):
        raise UsageError("--timing and --bus-bits need a device that counts cycles, such as --device cycle")
    if options.device in DEVICES:
        for name in ("design", "bitstream", "bitstreams", "link"):
            if getattr(options, name, None):
                raise UsageError(f"--{name} needs a board, and --device {options.device} is none")
    if getattr(options, "timing_only", False):
        for name in ("check", "outputs"):
            if getattr(options, name):
                raise UsageError(f"--{name} needs outputs, and --timing-only computes none")


def timing_parameters(options: argparse.Namespace, hw: HardwareConfig) -> TimingParameters:
    """The timing parameters that `options` ask for; by default those of the config's platform.

    Raises `ConfigError` naming file, key and what is allowed.
    """
    from dataclasses import replace

    from vta.config.timing import load_timing, timing_of

    timing = load_timing(options.timing, hw) if options.timing else timing_of(hw)
    return replace(timing, bus_bits=options.bus_bits) if options.bus_bits else timing


def print_cycles(output: Output, report: Any) -> None:
    """Print cycles and what the units did in them, if the device counts cycles."""
    from vta.report.costs.cycles import preset_text, unit_table

    if report.cycles is None:
        return
    presets = {result.preset for _, result in report.results if result.preset}
    whose = "; ".join(preset_text(preset) for preset in sorted(presets)) or "counted by the hardware"
    output.line(f"{count(report.cycles, 'cycle')} ({whose})")
    if any(result.units for _, result in report.results):
        output.show(unit_table(report.results))


def print_costs(output: Output, cost: NetworkCost | None) -> None:
    """Print what each layer cost, most first, and what would make the network faster; nothing without cycles."""
    from vta.cli.flags import as_options
    from vta.codegen.region_program import HOST, VTA
    from vta.report.advice import advice_on
    from vta.report.costs.layer_costs import cost_table

    if cost is None:
        return
    output.show(cost_table(cost))
    device, host = cost.cycles(VTA), cost.cycles(HOST)
    output.line(f"accelerator alone: {_pace(cost, device)}")
    if host:
        output.line(f"with the host part ({count(host)}): {_pace(cost, device + host)}")
        output.line(
            "host layers: wall time of this run, where it ran, in cycles of the accelerator's clock; a 650 MHz ARM core would "
            f"take about {cost.model_cycles:,} for them (docs/partition.md)"
        )
    for advice in advice_on(cost, as_options):
        output.line(f"advice: {advice.text}")


def _pace(cost: NetworkCost, cycles: int) -> str:
    """Cycles, and what they are at the clock of the config."""
    frames = cost.frames_per_second(cycles)
    speed = "" if frames is None else f", {frames:,.1f} frames a second"
    return f"{count(cycles, 'cycle')}, {cost.milliseconds(cycles):,.3f} ms at {cost.clock_mhz:g} MHz{speed}"
