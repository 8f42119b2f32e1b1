"""The options that stand for the parameters which errors of the library name."""

from __future__ import annotations

from vta.errors import VTAError

__all__ = ["with_flags"]

_FLAGS = {
    "allow_host_code": "--allow-host-code",
    "certificates": "--certs DIR",
    "insecure": "--insecure",
    "link": "--link HOST:PORT, or --link /dev/ttyUSB0",
    "params": "--params FILE",
    "process_bytes": "--process-memory BYTES",
    "random_weights": "--random-weights SEED",
    "resume": "--resume",
    "shapes": "--input-shape NAME=SHAPE",
}


def with_flags(error: VTAError) -> str:
    """The text of an error with the options that it is about."""
    flags = [_FLAGS[name] for name in error.parameters if name in _FLAGS]
    return f"{error} ({', '.join(flags)})" if flags else str(error)
