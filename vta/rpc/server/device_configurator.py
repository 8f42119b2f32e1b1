"""What a server's device is opened with: its config, and on a board its bitstream, also one that a client sent."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

from vta.boards.bit_file import design_of
from vta.boards.files import find_board, is_board
from vta.config.hardware import HardwareConfig
from vta.devices.open_device import DEVICE_KINDS, DeviceSpec
from vta.errors import DeviceError, RemoteError
from vta.rpc.server.temp_dir import TempDir
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import Limits

__all__ = ["DeviceConfigurator"]

_SUFFIXES = (".bit", ".rbf")
_NAME_CHARACTERS = 100


class DeviceConfigurator:
    """The device of `spec` for `hw`, until a client's bitstream is kept."""

    def __init__(self, hw: HardwareConfig, spec: DeviceSpec, limits: Limits) -> None:
        self._hw = hw
        self._spec = spec
        self._limits = limits
        self._temp_dir: TempDir | None = None
        self._numbers = 0

    @property
    def kind(self) -> str:
        """Name of the device."""
        return self._spec.kind

    def close(self) -> None:
        """Remove the bitstreams of clients."""
        if self._temp_dir is not None:
            self._temp_dir.close()

    def opened(self, hw: HardwareConfig | None, bitstream: Path | None, design: str = "") -> tuple[HardwareConfig, DeviceSpec]:
        """What to open for another config and a client's bitstream of `design`, if there are any.

        Raises `DeviceError` if there is no bitstream for the config.
        """
        if hw is None:
            return self._hw, self._spec
        if bitstream is not None:
            return hw, replace(self._spec, bitstream=bitstream, design=design)
        if not self._is_board or replace(hw, target=self._hw.target) == self._hw:
            return hw, self._spec
        if self._spec.bitstreams is None:
            raise DeviceError(
                f"the fabric holds {self._hw.bitstream}, and this server has no directory of other bitstreams: "
                f"send one of {hw.bitstream} (vta rpc program)"
            )
        return hw, replace(self._spec, bitstream=None)

    def check(self, header: pb.UploadHeader) -> None:
        """Raise `RemoteError` if the bitstream that `header` announces cannot be taken."""
        if not self._is_board:
            raise RemoteError(f"device {self.kind} is no board: it takes no bitstream; another config it takes as it is")
        if Path(header.name).suffix not in _SUFFIXES:
            raise RemoteError(f"{header.name!r} is no name of a bitstream; allowed: files that end in {', '.join(_SUFFIXES)}")
        if header.nbytes > self._limits.upload_bytes:
            raise RemoteError(f"a bitstream of {header.nbytes} bytes; the limit is {self._limits.upload_bytes}")
        if not header.keep and self._spec.bitstream is None and self._spec.bitstreams is None:
            raise RemoteError(
                "this server does not have what the fabric holds now and could not go back: ask it to keep the new one"
            )

    def new_file(self, header: pb.UploadHeader) -> Path:
        """Where a client's bitstream goes."""
        if self._temp_dir is None:
            self._temp_dir = TempDir()
        self._numbers += 1
        folder = self._temp_dir.path / str(self._numbers)
        folder.mkdir()
        return folder / Path(header.name).name[-_NAME_CHARACTERS:]

    def design(self, header: pb.UploadHeader, bitstream: Path) -> str:
        """The design that a client's bitstream is: as the client says, the file, or else as the server's own.

        Raises `ConfigError` if the board has no such design, and `DeviceError` if the file says something else.
        """
        return design_of(bitstream, find_board(self.kind, os.environ), header.design, self._spec.design).name

    def keep(self, hw: HardwareConfig, bitstream: Path, design: str) -> None:
        """From now on the device is `hw`, by a client's bitstream of `design`."""
        self._hw = hw
        self._spec = replace(self._spec, bitstream=bitstream, design=design)
        if self._temp_dir is not None:
            with contextlib.suppress(OSError):
                for other in self._temp_dir.path.iterdir():
                    if other != bitstream.parent:
                        shutil.rmtree(other)

    @property
    def _is_board(self) -> bool:
        return self.kind not in DEVICE_KINDS and is_board(self.kind)
