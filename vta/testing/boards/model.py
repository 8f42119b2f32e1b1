"""A whole board: what its fabric holds, its memory, and its bus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vta.boards.bit_file import CORE_MARK, read_bit_header
from vta.boards.description import Board, Design
from vta.config.hardware import HardwareConfig
from vta.testing.boards.memory import BoardMemory
from vta.testing.boards.registers import RegisterBlock, make_blocks
from vta.testing.boards.trouble import MisuseError, SimulatedClock, Trouble

__all__ = ["BoardModel", "bitstream_data", "write_bitstream"]

_LENGTH_BYTES = 4
_NOBODY = 0xFFFFFFFF


class BoardModel:
    """`board` with `memory_bytes` of memory for buffers from `buffers_at` on, a physical address (default: of its window).

    The fabric is empty until it is programmed with what `write_bitstream` wrote. Whether the CPU's cache hides what it holds
    from the accelerator follows from the design that `program` puts there, so that memory starts anew with each.
    """

    def __init__(self, board: Board, memory_bytes: int = 1 << 24, buffers_at: int | None = None, seed: int = 0) -> None:
        self.board = board
        self.clock = SimulatedClock()
        self.trouble = Trouble()
        self.programmed = 0
        """How often."""
        self.on_program: Callable[[bytes], object] = lambda data: None
        """Told of the data of each bitstream that is put into the fabric."""
        self._seed = seed
        self._place = board.memory.start + (0 if buffers_at is None else buffers_at - board.memory.start)
        self._nbytes = memory_bytes
        self.memory = BoardMemory(self._place, memory_bytes, 0, seed)
        self._blocks: dict[int, RegisterBlock] = {}
        self._span = 4096
        self._accesses = 0

    def program(self, data: bytes) -> None:
        """Put the data of a bitstream into the fabric. Raises `MisuseError` if it is none of `write_bitstream`."""
        held = _parse(data)
        design = self.board.design(held["design"])
        hw = HardwareConfig.from_json(held["config"], "the bitstream")
        line = 0 if design.coherent else self.board.cache_line_bytes
        if self.memory.line != line:
            self.memory = BoardMemory(self._place, self._nbytes, line, self._seed)
        blocks = make_blocks(design, hw, self.memory, self.board.memory.device_offset, self.clock, self.trouble)
        self._blocks = {design.bases[name]: block for name, block in blocks.items()}
        self._span = design.span
        self.programmed += 1
        self.on_program(data)

    def read(self, address: int) -> int:
        """Read a register by physical address. Raises `OSError` where nothing is, as a bus error would end the process."""
        self._access()
        block, offset = self._find(address)
        value = block.read(offset)
        dead = self.trouble.dead_after is not None and self._accesses > self.trouble.dead_after
        return _NOBODY if dead else value

    def write(self, address: int, value: int) -> None:
        """Write a register by physical address."""
        self._access()
        if not 0 <= value <= _NOBODY:
            raise MisuseError(f"{value:#x} is written to a register of 32 bits")
        block, offset = self._find(address)
        block.write(offset, value)

    def _access(self) -> None:
        self.clock.access()
        self._accesses += 1

    def _find(self, address: int) -> tuple[RegisterBlock, int]:
        base = address // self._span * self._span
        if base not in self._blocks or address % 4:
            raise OSError(f"bus error at {address:#x}")
        return self._blocks[base], address - base


def write_bitstream(path: Path, board: Board, design: Design, hw: HardwareConfig) -> None:
    """Write a file that stands for the bitstream of `hw` as `design` of `board`: a `.bit` file with its head, or raw."""
    held = json.dumps({"design": design.name, "config": design.hardware(hw).to_json()}).encode()
    data = len(held).to_bytes(_LENGTH_BYTES, "little") + held
    data += bytes(-len(data) % 4)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bit_file(data, board, design) if path.suffix == ".bit" else data)


def bitstream_data(path: Path) -> bytes:
    """The data of a file that `write_bitstream` wrote."""
    contents = path.read_bytes()
    return contents[-read_bit_header(path).nbytes :] if path.suffix == ".bit" else contents


def _bit_file(data: bytes, board: Board, design: Design) -> bytes:
    def text(letter: str, value: str) -> bytes:
        encoded = value.encode() + b"\0"
        return letter.encode() + len(encoded).to_bytes(2, "big") + encoded

    part, name = board.part, f"{CORE_MARK}_wrapper" if design.registers == "core" else "vta"
    short = part.removeprefix("xc").rsplit("-", 1)[0] if part.startswith("xc7") else part.removeprefix("xc")
    head = (9).to_bytes(2, "big") + bytes.fromhex("0ff00ff00ff00ff000") + (1).to_bytes(2, "big")
    head += text("a", f"{name};stand-in") + text("b", short) + text("c", "2024/01/01") + text("d", "00:00:00")
    return head + b"e" + len(data).to_bytes(4, "big") + data


def _parse(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    try:
        held: dict[str, Any] = json.loads(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
    except ValueError:
        raise MisuseError("the fabric was programmed with what is no bitstream for a stand-in") from None
    return held
