"""Devices by name, and what each can be told."""

from __future__ import annotations

import os
from pathlib import Path

from vta.boards.bit_file import design_of
from vta.boards.description import Board, Design
from vta.boards.files import BOARD_PREFIX, find_board, is_board, shipped_boards
from vta.boards.manifest import listed_design
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import Device
from vta.errors import UsageError
from vta.support.dataclass import dataclass

__all__ = ["DEVICE_KINDS", "DeviceSpec", "open_device"]

DEVICE_KINDS = ("sim", "cycle", "rtl", "opencl")
"""The devices of this machine; boards have names of their own."""


@dataclass(frozen=True)
class DeviceSpec:
    """Which device to open, and how; what a kind does not have is ignored."""

    kind: str = "sim"
    memory_bytes: int = 1 << 28
    timing: TimingParameters | None = None
    """By default those of the config's platform."""
    preset: str = "rtl"
    """Whose timing, for ``cycle``."""
    timing_only: bool = False
    trace: Path | None = None
    """Where ``rtl`` writes its signals."""
    kernel: Path | None = None
    """What ``opencl`` runs, source or binary; by default the kernel of this package."""
    platform: str = ""
    """Part of the name of the platform for ``opencl``; by default the first that can take the kernel."""
    design: str = ""
    """What a board's fabric holds; by default what the board's description says."""
    bitstream: Path | None = None
    """What to put into a board's fabric first."""
    bitstreams: Path | None = None
    """A directory with a manifest, to take the bitstream of the config from."""
    link: str = ""
    """How a board without a processor is reached: HOST[:PORT], or the path of a serial line (`open_link`)."""


def open_device(hw: HardwareConfig, spec: DeviceSpec) -> Device:
    """Open a device for `hw`: a simulator, or a board as `find_board` names them.

    Raises `UsageError` for an unknown kind, `ConfigError` for a board whose description is not good, and `DeviceError` if
    the device cannot be opened.
    """
    if spec.kind == "sim":
        from vta.devices.sim import SimDevice

        return SimDevice(hw, spec.memory_bytes)
    if spec.kind == "cycle":
        from vta.devices.cycle import CycleDevice

        return CycleDevice(hw, spec.timing, spec.memory_bytes, spec.preset, spec.timing_only)
    if spec.kind == "rtl":
        from vta.devices.rtl import RtlDevice

        return RtlDevice(hw, spec.timing, spec.memory_bytes, spec.trace)
    if spec.kind == "opencl":
        from vta.devices.opencl import OpenclDevice

        return OpenclDevice(hw, spec.memory_bytes, spec.kernel, spec.platform)
    if is_board(spec.kind):
        return _open_board(hw, spec)
    allowed = ", ".join([*DEVICE_KINDS, *shipped_boards(), f"{BOARD_PREFIX}FILE"])
    raise UsageError(f"no device {spec.kind!r}; allowed: {allowed}")


def _design(board: Board, hw: HardwareConfig, spec: DeviceSpec) -> Design:
    """The design that is named, or else that of the bitstream, where there is one to look at."""
    if spec.bitstream is not None and spec.bitstream.is_file():
        return design_of(spec.bitstream, board, spec.design)
    if spec.bitstreams is not None and not spec.design:
        return listed_design(spec.bitstreams, board, hw)
    return board.design(spec.design)


def _open_board(hw: HardwareConfig, spec: DeviceSpec) -> Device:
    board = find_board(spec.kind, os.environ)
    design = _design(board, hw, spec)
    if board.driver == "de10nano":
        from vta.devices.de10nano import open_de10nano

        return open_de10nano(hw, board, design, spec.memory_bytes, spec.bitstream, spec.bitstreams)
    if board.driver == "link":
        from vta.devices.link.host import open_linked

        return open_linked(hw, board, design, spec.memory_bytes, spec.bitstream, spec.bitstreams, spec.link)
    from vta.devices.pynq import open_pynq

    return open_pynq(hw, board, design, spec.memory_bytes, spec.bitstream, spec.bitstreams)
