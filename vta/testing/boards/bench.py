"""Boards that are not there, opened through their real drivers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from vta.boards.description import Board, Design, MemoryWindow
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.devices.board import BoardDevice
from vta.devices.de10nano import open_de10nano
from vta.devices.open_device import DeviceSpec
from vta.devices.pynq import open_pynq
from vta.support.dataclass import dataclass
from vta.testing.boards.dev_mem import PhysicalModel
from vta.testing.boards.model import BoardModel, bitstream_data, write_bitstream
from vta.testing.boards.pynq_module import PynqModule

__all__ = ["StandIn", "make_stand_in", "stand_in_opener", "stand_in_worker"]

_BUFFERS_AT = 0x16000000
"""Where the kernels of these boards have their pool of contiguous memory."""


@dataclass
class StandIn:
    """A board with everything that a driver needs of it."""

    board: Board
    design: Design
    hw: HardwareConfig
    model: BoardModel
    bitstream: Path
    whole_buffers: bool = False
    pynq: PynqModule = field(init=False)
    physical: PhysicalModel = field(init=False)

    def __post_init__(self) -> None:
        self.pynq = PynqModule(self.model, self.whole_buffers)
        self.physical = PhysicalModel(self.model)

    def open(
        self,
        hw: HardwareConfig | None = None,
        bitstream: Path | None = None,
        bitstreams: Path | None = None,
        program: bool = True,
        memory_bytes: int = 1 << 28,
    ) -> BoardDevice:
        """The device, by default with the stand-in's config and bitstream."""
        if bitstream is None and bitstreams is None and program:
            bitstream = self.bitstream
        driver: Callable[..., BoardDevice] = open_de10nano if self.board.driver == "de10nano" else open_pynq
        way: dict[str, Any] = {"physical": self.physical} if self.board.driver == "de10nano" else {"pynq": self.pynq}
        return driver(hw or self.hw, self.board, self.design, memory_bytes, bitstream, bitstreams, clock=self.model.clock, **way)


def make_stand_in(
    device: str,
    design: str,
    hw: HardwareConfig,
    directory: Path,
    memory_bytes: int = 1 << 24,
    whole_buffers: bool = False,
    coherent: bool | None = None,
) -> StandIn:
    """A stand-in for the board that `device` names, with `memory_bytes` for buffers; its bitstream lies in `directory`.

    `coherent` replaces what the board's description says of the design.
    """
    board = find_board(device)
    chosen = board.design(design)
    if coherent is not None:
        chosen = replace(chosen, coherent=coherent)
    window, place = board.memory, _BUFFERS_AT
    if board.driver == "de10nano":
        # The driver maps the whole window.
        place = window.start
        window = MemoryWindow(place, place + memory_bytes, window.device_offset, window.allocation_bytes)
    board = replace(board, memory=window, designs={**board.designs, chosen.name: chosen})
    bitstream = directory / chosen.bitstream_name(hw)
    write_bitstream(bitstream, board, chosen, hw)
    return StandIn(board, chosen, hw, BoardModel(board, memory_bytes, place), bitstream, whole_buffers)


def stand_in_worker(directory: Path) -> tuple[str, ...]:
    """The command of a server's worker process whose boards are stand-ins; what their fabric holds lies in `directory`."""
    return (sys.executable, "-m", "vta.testing.boards", "worker", str(directory))


def stand_in_opener(directory: Path) -> Callable[[HardwareConfig, DeviceSpec], BoardDevice]:
    """Like `open_device`, for boards that are not there. The fabric holds what it held for the last one that opened it.

    The first who opens it without a bitstream finds that of his config.
    """
    fabric = directory / "fabric"

    def opened(hw: HardwareConfig, spec: DeviceSpec) -> BoardDevice:
        stand_in = make_stand_in(spec.kind, spec.design, hw, directory, spec.memory_bytes)
        held = fabric.read_bytes() if fabric.exists() else bitstream_data(stand_in.bitstream)
        stand_in.model.program(held)
        stand_in.model.on_program = fabric.write_bytes
        return stand_in.open(bitstream=spec.bitstream, bitstreams=spec.bitstreams, program=False, memory_bytes=spec.memory_bytes)

    return opened
