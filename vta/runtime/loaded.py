"""A region's program in the memory of a device, ready to run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram, TensorBinding
from vta.runtime.device import Device, RunResult
from vta.runtime.packing import pack, packed_nbytes, unpack

__all__ = ["LoadedRegion"]


class LoadedRegion:
    """The image of one region on a device, its stream encoded for where the image lies."""

    def __init__(self, region: RegionProgram, device: Device) -> None:
        """Allocate the image and write its constants. Raises `DeviceError` if there is no room."""
        self.region = region
        self._device = device
        self._hw = region.program.hw
        self._address = device.allocate(region.program.image_bytes)
        device.write(self._address, region.program.image)
        self._stream = region.program.encoded(self._address)
        self._offsets = {symbol.name: symbol.offset for symbol in region.program.symbols}

    def free(self) -> None:
        """Give the image's memory back to the device."""
        self._device.free(self._address)

    def write(self, binding: TensorBinding, array: NDArray[Any]) -> None:
        """Put a value of the binding's logical shape where the program expects it."""
        self._device.write(self._address + self._offsets[binding.symbol], pack(array, self._hw))

    def read(self, binding: TensorBinding) -> NDArray[Any]:
        """Return the value that lies in the image, in its logical shape."""
        node = binding.node
        nbytes = packed_nbytes(node.shape, self._hw, binding.planes)
        data = self._device.read(self._address + self._offsets[binding.symbol], nbytes)
        return unpack(data, node.shape, node.dtype, self._hw)
