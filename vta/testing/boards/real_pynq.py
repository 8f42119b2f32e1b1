"""A device for the real package pynq over a `BoardModel`: `MMIO`, `allocate`, buffers and `Bitstream` are the package's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pynq
from pynq.buffer import PynqBuffer

from vta.testing.boards.model import BoardModel, bitstream_data

__all__ = ["StandInDevice"]

_WORD = 4


class StandInDevice(pynq.Device):  # type: ignore[misc]
    """What `pynq` would find on a board. It has no part in probing: name it where a device is wanted."""

    def __init__(self, model: BoardModel) -> None:
        super().__init__("vta-stand-in")
        self.model = model
        self.name = model.board.name
        self.capabilities = {"REGISTER_RW": True, "MEMORY_MAPPED": False}
        self.default_memory = _Memory(self)

    def read_registers(self, address: int, length: int) -> bytes:
        """Read whole words."""
        words = (self.model.read(address + offset) for offset in range(0, length, _WORD))
        return b"".join(word.to_bytes(_WORD, "little") for word in words)

    def write_registers(self, address: int, data: bytes) -> None:
        """Write whole words."""
        contents = bytes(data)
        for offset in range(0, len(contents), _WORD):
            self.model.write(address + offset, int.from_bytes(contents[offset : offset + _WORD], "little"))

    def download(self, bitstream: Any, parser: Any = None) -> None:
        """Program the fabric."""
        self.model.program(bitstream_data(Path(bitstream.bitfile_name)))

    def flush(self, bo: int, offset: int, pointer: int, nbytes: int) -> None:
        """Write the CPU's lines back; `bo` is the physical address of the buffer."""
        self.model.memory.flush(bo + offset, nbytes)

    def invalidate(self, bo: int, offset: int, pointer: int, nbytes: int) -> None:
        """Have the CPU read memory anew."""
        self.model.memory.invalidate(bo + offset, nbytes)


class _Memory:
    """Where the package's buffers come from."""

    def __init__(self, device: StandInDevice) -> None:
        self._device = device

    def allocate(self, shape: Any, dtype: Any, cacheable: bool = False) -> Any:
        """A buffer of the package on the model's memory."""
        memory = self._device.model.memory
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        start = memory.allocate(nbytes)
        view = memory.cpu[start - memory.start : start - memory.start + nbytes]
        buffer = PynqBuffer(shape, dtype, buffer=view.data, device=self._device, device_address=start, bo=start, coherent=False)
        buffer.memory = self
        buffer.pointer = start
        buffer.return_to = self
        # Freed a second time, by its destructor, it would be unmapped, and it is not mapped.
        buffer.freed = True
        return buffer

    def return_pointer(self, pointer: int) -> None:
        """Take a buffer back."""
        self._device.model.memory.free(pointer)
