"""Command-line options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vta.cli.file_names import existing_file, log_file, model_name, model_stem, output_file, picture_file
from vta.cli.terminal.output import SIZE_UNITS
from vta.support.shorten import shown

if TYPE_CHECKING:
    from vta.config.target_list import TargetList
    from vta.records.objective import Objective
    from vta.runtime import Preprocessing

__all__ = [
    "CALIBRATION_METHODS",
    "DEFAULT_CONFIG",
    "DEVICES",
    "HelpFormatter",
    "add_config",
    "add_debug",
    "add_device",
    "add_host",
    "add_json",
    "add_preprocessing",
    "add_quantization",
    "add_objective",
    "add_records",
    "byte_count",
    "device_name",
    "existing_file",
    "integer",
    "log_file",
    "model_name",
    "model_stem",
    "number_list",
    "output_file",
    "picture_file",
    "positive_or_zero",
    "preprocessing",
    "target_list",
]

DEVICES = ("sim", "cycle", "rtl", "opencl")

_DEVICE_ALIASES = {"intelfocl": "opencl"}

CALIBRATION_METHODS = ("min-max", "percentile", "kl", "mse")

DEFAULT_CONFIG = "sim"
"""Of commands that need no certain hardware."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions and examples; leaves options room for their names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=110)


def integer(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return a parser of integers from `low` to `high` (None: no upper limit)."""
    span = f"{low} or more" if high is None else f"{low} to {high}"

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not an integer; allowed: {span}") from None
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(f"{value} is out of range; allowed: {span}")
        return value

    return parse


def number(text: str) -> float:
    """Parse a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a number") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not finite")
    return value


def positive(text: str) -> float:
    """Parse a finite number above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} must be above 0")
    return value


def positive_or_zero(text: str) -> float:
    """Parse a finite number of at least 0."""
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} must be at least 0")
    return value


def percentage(text: str) -> float:
    """Parse a number above 50 and up to 100."""
    value = number(text)
    if not 50 < value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is out of range; allowed: above 50, up to 100")
    return value


def number_list(text: str) -> tuple[float, ...]:
    """Parse numbers separated by commas."""
    return tuple(number(part) for part in text.split(","))


def positive_list(text: str) -> tuple[float, ...]:
    """Parse numbers above 0 separated by commas."""
    return tuple(positive(part) for part in text.split(","))


def layer_list(text: str) -> tuple[int | str, ...]:
    """Parse layers separated by commas: the index of a convolution, or a name. ``none`` is no layer."""
    if text == "none":
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise argparse.ArgumentTypeError(
            f"{shown(text)} has an empty entry; give indices or names with commas between, or 'none'"
        )
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def byte_count(text: str) -> int:
    """Parse a number of bytes with an optional unit: 65536, 64K, 16M, 1G, also with the ending iB."""
    digits = text.rstrip("iBKMGkmg")
    unit = text[len(digits) :].removesuffix("B").removesuffix("i").upper()
    try:
        size = int(digits) * SIZE_UNITS[unit]
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a size; write it like 65536, 64K, 16M or 1GiB") from None
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text} must be above 0")
    return size


def target_list(text: str) -> TargetList:
    """Parse an ordered list of targets."""
    from vta.config.target_list import parse_targets
    from vta.errors import UsageError

    try:
        return parse_targets(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def config_name(text: str) -> Path:
    """Parse the name of a shipped config or the path of a config file that exists."""
    from vta.config.files import config_path
    from vta.errors import ConfigError

    try:
        return config_path(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def device_name(text: str) -> str:
    """Parse a device: a simulator or OpenCL, also by the name of its target, or a board."""
    name = _DEVICE_ALIASES.get(text, text)
    if name in DEVICES:
        return name
    from vta.boards.files import BOARD_PREFIX, is_board, shipped_boards

    if not is_board(name):
        boards = ", ".join(shipped_boards())
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no device; allowed: {', '.join(DEVICES)}, {boards}, {BOARD_PREFIX}FILE"
        )
    if name.startswith(BOARD_PREFIX):
        existing_file(name.removeprefix(BOARD_PREFIX))
    return name


def add_debug(parser: argparse.ArgumentParser, shows: str = "show the traceback of an error") -> None:
    """Add --debug, which may stand before or after the command."""
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=shows)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on standard output, everything else on standard error"
    )


def add_config(parser: argparse.ArgumentParser, required: bool = True, default: str | None = None) -> None:
    """Add --config; one with a default is never required."""
    preset = f" (default: {default})" if default else ""
    parser.add_argument(
        "--config",
        type=config_name,
        default=default,
        required=required and default is None,
        metavar="CONFIG",
        help=f"hardware config: a JSON file or a shipped name such as sim; 'vta config list' prints all{preset}",
    )


def add_host(parser: argparse.ArgumentParser, default: str = "reference") -> None:
    """Add --host and --threads; `default` says what is taken where nothing is asked for."""
    parser.add_argument(
        "--host",
        choices=("reference", "llvm", "onnxruntime"),
        help="what computes the operators that are not on the device: the NumPy references, kernels that LLVM compiles for this "
        f"processor, or onnxruntime; floats of the last two differ by rounding (default: {default})",
    )
    parser.add_argument(
        "--threads",
        type=integer(1),
        default=1,
        metavar="N",
        help="threads for compiled kernels, or onnxruntime (default: %(default)s)",
    )
    parser.add_argument(
        "--trust-library",
        action="store_true",
        help="with --host llvm: run the compiled code that the file holds also where it was made by somebody else; otherwise "
        "kernels are compiled anew",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device, --memory, and what boards can be told."""
    parser.add_argument(
        "--device",
        type=device_name,
        default="sim",
        metavar="DEVICE",
        help="where to run: sim, the functional simulator (default); cycle, which also counts clock cycles; rtl, the "
        "hardware itself in a Verilator simulation ('vta rtl doctor' says what that needs); opencl (or intelfocl), an "
        "OpenCL kernel on an FPGA or a CPU; on a board itself its name ('vta boards list' prints all), pynq, de10nano, or "
        "board:FILE",
    )
    parser.add_argument(
        "--memory",
        type=byte_count,
        default=1 << 28,
        metavar="BYTES",
        help="size of the device's memory, e.g. 16M (default: 256M)",
    )
    group = parser.add_argument_group("OpenCL (of --device opencl)")
    group.add_argument(
        "--kernel",
        type=existing_file,
        metavar="FILE",
        help="run this kernel: a binary of the device's compiler (.aocx) or source (.cl) (default: source in this package)",
    )
    group.add_argument(
        "--platform", default="", metavar="NAME", help="part of the platform's name (default: the first that can run the kernel)"
    )
    group = parser.add_argument_group("boards")
    group.add_argument("--design", default="", metavar="NAME", help="what the fabric holds ('vta boards show BOARD' lists them)")
    group.add_argument("--bitstream", type=existing_file, metavar="FILE", help="put this into the fabric first")
    group.add_argument(
        "--bitstreams", type=Path, metavar="DIR", help="put the config's bitstream of this directory into the fabric first"
    )
    group.add_argument(
        "--link",
        default="",
        metavar="LINK",
        help="how a board without a processor is reached: HOST[:PORT] on the network, a serial line's path, or tcp:HOST:PORT",
    )


def add_quantization(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a float network becomes an integer one."""
    group = parser.add_argument_group("quantisation (of float networks)")
    group.add_argument(
        "--calibration",
        type=existing_file,
        metavar="DATA.npz",
        help="sample inputs: arrays named like the network's inputs, or 'x' for its only one",
    )
    group.add_argument(
        "--calibration-limit",
        type=integer(1),
        default=256,
        metavar="N",
        help="use N samples, evenly spread (default: %(default)s)",
    )
    group.add_argument(
        "--calibration-method",
        choices=CALIBRATION_METHODS,
        default="mse",
        help="how the range of each activation is taken from the samples: its largest magnitude, a percentile, or the "
        "range of least Kullback-Leibler divergence or squared error (default: %(default)s)",
    )
    group.add_argument(
        "--percentile", type=percentage, default=99.99, metavar="P", help="for the percentile method (default: %(default)s)"
    )
    group.add_argument(
        "--global-scale",
        type=positive,
        metavar="S",
        help="without calibration: every activation's range is [-S, S] (default: 8.0)",
    )
    group.add_argument(
        "--scales",
        choices=("real", "power-of-two"),
        default="real",
        help="what the scale of an activation may be (default: %(default)s)",
    )
    group.add_argument(
        "--multipliers",
        action="store_true",
        help="where the target multiplies: requantise by multiplier and shift, not by shift alone",
    )
    group.add_argument(
        "--rounding",
        choices=("compensated", "nearest", "adaround"),
        default="compensated",
        help="of weights: so that errors make up for each other on the calibration data, each to the nearest, or by an "
        "optimisation for each layer, which takes longer (default: %(default)s)",
    )
    group.add_argument(
        "--no-bias-correction",
        action="store_true",
        help="do not let biases make up for the mean error of rounded weights on the calibration data",
    )
    group.add_argument(
        "--equalise",
        dest="equalize",
        choices=("measured", "none", "depthwise", "all"),
        default="measured",
        help="between which layers the ranges of channels are evened out on the calibration data: none, a depthwise one and its "
        "neighbours, the same unless an output is measured to be less noisy without, or all (default: %(default)s)",
    )
    group.add_argument(
        "--zero-points",
        choices=("measured", "none", "depthwise", "all"),
        default="measured",
        help="networks in which values that are never negative get all 256 levels: none, those with depthwise layers, all, or "
        "those with depthwise layers unless an output is measured to be less noisy without (default: %(default)s)",
    )
    group.add_argument("--per-tensor", action="store_true", help="one weight scale a layer instead of one a channel")
    group.add_argument("--skip-dense", action="store_true", help="leave all dense layers in float")
    first = group.add_mutually_exclusive_group()
    first.add_argument(
        "--skip-layers",
        type=layer_list,
        metavar="LIST",
        help="layers to leave in float: convolutions by index, any by name, e.g. 0,fc1; 'none' for none "
        "(default: with calibration data what it is measured to pay for, else 0, the first convolution)",
    )
    first.add_argument(
        "--quantize-first", action="store_const", const=(), dest="skip_layers", help="quantise the first convolution too"
    )
    parser.add_argument_group("requantisation (of networks that came quantised)").add_argument(
        "--requantise",
        dest="requantize",
        choices=("exact", "close", "shift"),
        default="exact",
        help="results of each operator: the bytes of the source framework; within 1 of them in fewer steps; or by shifts alone, "
        "which any target has, with weights that are rounded once more (default: %(default)s)",
    )


def add_records(parser: argparse.ArgumentParser) -> None:
    """Add --records, --no-records and --fastest: where schedules come from."""
    parser.add_argument(
        "--records",
        type=_log_or_none,
        action="append",
        default=[],
        metavar="LOG",
        help="take schedules from this log of 'vta tune' where it has one that fits (may be repeated), before the records that "
        "come with vta, also those of host kernels where --target has llvm; 'none' is --no-records",
    )
    parser.add_argument(
        "--no-records",
        action="append_const",
        dest="records",
        const=None,
        help="do not use the records that come with vta: the compiler chooses by an estimate",
    )
    parser.add_argument(
        "--fastest",
        action="store_true",
        help="of the records that come with vta take those of the fewest cycles, even if they move more bytes, or leave out "
        "products with zero padding: counters then show fewer multiply-accumulates than the network has",
    )
    add_objective(parser, "to take the best record of a log")


def add_objective(parser: argparse._ActionsContainer, what: str) -> None:
    """Add --objective and --technology; `what` is judged by them."""
    parser.add_argument(
        "--objective",
        default="cycles",
        metavar="WHAT",
        help=f"what {what} by: cycles, energy, or powers of both such as cycles=1,energy=2 (default: %(default)s)",
    )
    parser.add_argument(
        "--technology",
        type=existing_file,
        metavar="FILE.json",
        help="figures for energy, by the names in docs/energy.md (default: a 45 nm process)",
    )


def objective_of(options: argparse.Namespace) -> Objective:
    """What was asked for. Raises `UsageError` if it is none."""
    from vta.config.technology import load_technology
    from vta.errors import TuningError, UsageError
    from vta.records.objective import Objective

    try:
        return Objective.parse(options.objective, load_technology(options.technology) if options.technology else None)
    except TuningError as error:
        raise UsageError(f"--{error}") from None


def _log_or_none(text: str) -> Path | None:
    return None if text == "none" else existing_file(text)


def add_preprocessing(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options that turn stored samples into network input; `what` names the samples."""
    group = parser.add_argument_group("preprocessing", f"Applied to {what}, in this order; the result goes in as NCHW.")
    group.add_argument("--layout", choices=("NCHW", "NHWC"), default="NCHW", help="how images are stored (default: %(default)s)")
    group.add_argument("--scale", type=positive, default=1.0, metavar="S", help="divide by S, e.g. 255 (default: 1)")
    group.add_argument(
        "--mean", type=number_list, default=(), metavar="A,B,C", help="subtract these, one a channel or one for all"
    )
    group.add_argument(
        "--std", type=positive_list, default=(), metavar="A,B,C", help="divide by these, one a channel or one for all"
    )


def preprocessing(options: argparse.Namespace) -> Preprocessing:
    """Return the preprocessing that `options` ask for."""
    from vta.runtime import Preprocessing

    return Preprocessing(options.layout, options.scale, options.mean, options.std)
