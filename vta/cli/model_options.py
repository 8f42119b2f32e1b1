"""The options that say which model is imported, and how."""

from __future__ import annotations

import argparse
import contextlib

from vta.cli.options import existing_file, integer, model_name
from vta.support.shorten import shown

__all__ = ["add_model", "input_shape", "input_value", "state_pair"]


def add_model(parser: argparse.ArgumentParser) -> argparse.Action:
    """Add MODEL, which is returned, and the options of its import."""
    model = parser.add_argument(
        "model",
        type=model_name,
        metavar="MODEL",
        help="net.onnx, net.tflite, net.pt2, net-symbol.json (its .params beside it), or a built-in name such as resnet18_v1",
    )
    group = parser.add_argument_group("import")
    group.add_argument(
        "--params", type=existing_file, metavar="FILE", help="MXNet parameters, where they are not beside the -symbol.json file"
    )
    group.add_argument(
        "--input-shape",
        type=input_shape,
        action="append",
        default=[],
        metavar="NAME=SHAPE",
        help="shape of an input whose file leaves it open, e.g. data=1,3,32,32 (may be repeated)",
    )
    group.add_argument(
        "--input-value",
        type=input_value,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="make a constant of an input of an ONNX model, as its conditions may need, e.g. sr=16000 (may be repeated)",
    )
    group.add_argument(
        "--static-ranges",
        action="store_true",
        help="take layers of an ONNX model that find the range of their data at run time as float layers, to be quantised here",
    )
    group.add_argument(
        "--state",
        type=state_pair,
        action="append",
        default=[],
        metavar="INPUT=OUTPUT",
        help="an input that is to hold from one run to the next what an output gives, starting with zeros (may be repeated)",
    )
    group.add_argument(
        "--batch",
        type=integer(1),
        metavar="N",
        help="samples that the network takes at once (default: as the file says; 1 if open)",
    )
    group.add_argument(
        "--random-weights",
        type=integer(0),
        metavar="SEED",
        help="fill in weights at random; needed for a structure without weights, or to measure speed alone",
    )
    return model


def input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Parse ``NAME=1,3,32,32``."""
    name, equals, dims = text.rpartition("=")
    try:
        shape = tuple(int(dim) for dim in dims.split(","))
    except ValueError:
        shape = ()
    if not name or not equals or not shape or min(shape) < 1:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not of the form NAME=1,3,32,32 (dimensions of 1 or more)")
    return name, shape


def input_value(text: str) -> tuple[str, int | float]:
    """Parse ``NAME=NUMBER``."""
    name, _, number = text.rpartition("=")
    with contextlib.suppress(ValueError):
        if name:
            return name, float(number) if set(number) & set(".eE") else int(number)
    raise argparse.ArgumentTypeError(f"{shown(text)} is not of the form NAME=NUMBER")


def state_pair(text: str) -> tuple[str, str]:
    """Parse ``INPUT=OUTPUT``."""
    name, _, output = text.partition("=")
    if not name or not output:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not of the form INPUT=OUTPUT")
    return name, output
