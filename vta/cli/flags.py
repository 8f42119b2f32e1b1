"""The options that stand for the parameters which errors and advice of the library name."""

from __future__ import annotations

from vta.errors import VTAError

__all__ = ["OPTIONS", "as_options", "with_flags"]

_FLAGS = {
    "allow_host_code": "--allow-host-code",
    "certificates": "--certs DIR",
    "insecure": "--insecure",
    "link": "--link HOST[:PORT], or --link /dev/ttyUSB0",
    "params": "--params FILE",
    "process_bytes": "--process-memory BYTES",
    "random_weights": "--random-weights SEED",
    "resume": "--resume",
    "shapes": "--input-shape NAME=SHAPE",
    "skip_layers": "--skip-layers",
    "state": "--load-state FILE",
}

OPTIONS = {
    "calibration": "--calibration-method",
    "input_values": "--input-value",
    "least_gain": "--min-gain",
    "per_channel=False": "--per-tensor",
    "requantize": "--requantise",
    "schedules=vta.schedules(fastest=True)": "--fastest",
    "skip_conv_layers=()": "--quantize-first",
    "skip_dense": "--skip-dense",
    "skip_layers": "--skip-layers",
    "start": "--start",
    "stop": "--stop",
    "targets": "--target",
}
"""Of `vta compile`, by the setting that they change, or the value that they give it."""

_COMMANDS = {"tune": "vta tune", "evaluate": "vta eval", "sweep": "vta sweep", "configs": "vta config"}


def as_options(name: str, value: str) -> str:
    """Words for a setting that advice names (see `vta.report.settings`)."""
    if name in _COMMANDS:
        return f"`{_COMMANDS[name]}`"
    whole = OPTIONS.get(f"{name}={value}")
    return f"`{whole or ' '.join([OPTIONS[name], *([_argument(value)] if value else [])])}`"


def _argument(value: str) -> str:
    """A value as the shell takes it: one that is a word needs no quotes."""
    word = value.strip("'")
    return word if word.isalnum() else f'"{word}"'


def with_flags(error: VTAError) -> str:
    """The text of an error with the options that it is about."""
    flags = [_FLAGS[name] for name in error.parameters if name in _FLAGS]
    return f"{error} ({', '.join(flags)})" if flags else str(error)
