"""A stand-in for the package pynq over a `BoardModel`: the same names, arguments and behaviour, as far as drivers use them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.testing.boards.model import BoardModel, bitstream_data
from vta.testing.boards.trouble import MisuseError

__all__ = ["PynqModule"]


class PynqModule:
    """What `import pynq` gives on a board.

    With `whole_buffers` flushing or invalidating a slice of a buffer does so for all of it, as pynq does from 3.1 on;
    otherwise for the lines of the slice.
    """

    def __init__(self, model: BoardModel, whole_buffers: bool = False) -> None:
        self.model = model
        self.whole_buffers = whole_buffers
        self.Clocks = SimpleNamespace(fclk0_mhz=50.0)
        self.downloads: list[tuple[str, Path]] = []
        """How and which bitstreams were downloaded."""

    def allocate(self, shape: Any, dtype: Any = "u4", target: Any = None, **kwargs: Any) -> _Buffer:
        """A buffer of contiguous memory; as from pynq 3.0 on, only once something was downloaded."""
        if set(kwargs) - {"cacheable"}:
            raise TypeError(f"allocate() got an unexpected keyword argument {next(iter(kwargs))!r}")
        if not self.model.programmed:
            raise RuntimeError("Overlay is not downloaded")
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = self.model.memory
        start = memory.allocate(nbytes)
        view = memory.cpu[start - memory.start : start - memory.start + nbytes].view(dtype).reshape(shape)
        buffer: _Buffer = view.view(_Buffer)
        buffer.place(self, start)
        return buffer

    def MMIO(self, base_addr: int, length: int = 4, device: Any = None) -> _Mmio:  # noqa: N802 - the package's name
        """Registers from `base_addr` on."""
        return _Mmio(self.model, base_addr, length)

    def Bitstream(  # noqa: N802 - the package's name
        self, bitfile_name: str, dtbo: str | None = None, partial: bool = False, device: Any = None
    ) -> _Bitstream:
        """A bitstream that can be downloaded."""
        if not isinstance(bitfile_name, str):
            raise TypeError("Bitstream name has to be a string.")
        return _Bitstream(self, "Bitstream", Path(bitfile_name))

    def Overlay(  # noqa: N802 - the package's name
        self, bitfile_name: str, dtbo: str | None = None, download: bool = True, ignore_version: bool = False, device: Any = None
    ) -> _Bitstream:
        """The same with metadata beside it, downloaded at once."""
        if not Path(bitfile_name).with_suffix(".hwh").exists():
            raise RuntimeError("Unable to find metadata for bitstream")
        overlay = _Bitstream(self, "Overlay", Path(bitfile_name))
        if download:
            overlay.download()
        return overlay


class _Bitstream:
    def __init__(self, module: PynqModule, kind: str, path: Path) -> None:
        if not path.is_file():
            raise OSError(f"Bitstream file {path} does not exist.")
        self._module = module
        self._kind = kind
        self._path = path

    def download(self) -> None:
        """Program the fabric."""
        self._module.model.program(bitstream_data(self._path))
        self._module.downloads.append((self._kind, self._path))


class _Mmio:
    def __init__(self, model: BoardModel, base: int, length: int) -> None:
        self._model = model
        self._base = base
        self._length = length

    def read(self, offset: int = 0, length: int = 4, word_order: str = "little") -> int:
        """Read a word."""
        self._check(offset)
        return self._model.read(self._base + offset)

    def write(self, offset: int, data: int) -> None:
        """Write a word. The real one takes Python's integers only."""
        self._check(offset)
        if type(data) is not int:
            raise ValueError("Data type must be int or bytes.")
        self._model.write(self._base + offset, data)

    def _check(self, offset: int) -> None:
        if offset < 0 or offset >= self._length:
            raise IndexError(f"offset {offset:#x} is not below {self._length:#x}")
        if offset % 4:
            raise MemoryError("Unaligned access: offset must be multiple of 4.")


class _Buffer(np.ndarray[Any, np.dtype[Any]]):
    """A view of the CPU's memory that knows its physical address, also as a slice."""

    _module: PynqModule | None = None
    _whole: tuple[int, int] = (0, 0)
    _origin: int = 0
    _start: int = 0

    def place(self, module: PynqModule, start: int) -> None:
        """Say where it lies."""
        self._module = module
        self._whole = (start, self.nbytes)
        self._start = start
        self._origin = self._pointer()

    def __array_finalize__(self, parent: NDArray[Any] | None) -> None:
        if isinstance(parent, _Buffer) and parent._module is not None:
            self._module, self._whole, self._origin, self._start = parent._module, parent._whole, parent._origin, parent._start

    @property
    def physical_address(self) -> int:
        """Where it lies, with what is wrong with that."""
        assert self._module is not None, "a buffer is placed when it is made"
        return self._address() + self._module.model.trouble.offset

    device_address = physical_address

    def flush(self) -> None:
        """Write the CPU's lines back."""
        memory, start, nbytes = self._span()
        memory.flush(start, nbytes)

    def invalidate(self) -> None:
        """Have the CPU read memory anew."""
        memory, start, nbytes = self._span()
        memory.invalidate(start, nbytes)

    def freebuffer(self) -> None:
        """Give the memory back. Once."""
        assert self._module is not None, "a buffer is placed when it is made"
        self._module.model.memory.free(self._whole[0])

    def _span(self) -> tuple[Any, int, int]:
        assert self._module is not None, "a buffer is placed when it is made"
        start, nbytes = self._whole if self._module.whole_buffers else (self._address(), self.nbytes)
        memory = self._module.model.memory
        if not self._whole[0] <= start <= start + nbytes <= self._whole[0] + self._whole[1]:
            raise MisuseError("cache maintenance outside of the buffer")
        return memory, start, nbytes

    def _address(self) -> int:
        return self._start + self._pointer() - self._origin

    def _pointer(self) -> int:
        return int(self.__array_interface__["data"][0])
