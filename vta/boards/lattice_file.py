"""The head of an ECP5's `.bit` file: for which part it was built.

The format: the bytes ff 00, texts that end with a zero byte each, ff, and the bits (Lattice FPGA-TN-02039, ECP5 sysCONFIG).
"""

from __future__ import annotations

from pathlib import Path

from vta.errors import DeviceError
from vta.files.user_file import open_regular

__all__ = ["read_lattice_part"]

_START, _END = b"\xff\x00", b"\x00\xff"
_PART = b"Part: "
_HEAD_BYTES = 4096


def read_lattice_part(path: Path) -> str:
    """The part that a bitstream was built for, for example LFE5UM5G-85F-8CABGA554.

    Raises `DeviceError` naming the file if it is none.
    """
    try:
        with open_regular(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise DeviceError(f"{path}: cannot be read: {error.strerror or error}") from None
    end = head.find(_END, len(_START))
    texts = head[len(_START) : end].split(b"\0") if head.startswith(_START) and end > 0 else []
    for text in texts:
        if text.startswith(_PART):
            return text.removeprefix(_PART).decode("ascii", errors="replace")
    raise DeviceError(f"{path}: not a bitstream of an ECP5: its head names no part")
