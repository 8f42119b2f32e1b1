"""A region's program in the memory of a device, ready to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import OperatorRecord, RegionProgram, TensorBinding
from vta.devices.device import Device, RunOptions, RunResult, SampleDevice
from vta.tile.packing import pack, pack_samples, packed_image_shape, packed_nbytes, unpack, unpack_samples

__all__ = ["LoadedRegion"]


class LoadedRegion:
    """The image of one region on a device, its stream encoded for where the image lies."""

    def __init__(self, region: RegionProgram, device: Device) -> None:
        """Allocate the image; nothing is written yet. Raises `DeviceError` if there is no room."""
        program = region.program
        self.region = region
        self._device = device
        self._hw = program.hw
        self._offsets = {symbol.name: symbol.offset for symbol in program.symbols}
        self._address = device.allocate(program.image_bytes)
        self._stream = program.encoded(self._address)

    def free(self) -> None:
        """Give the image's memory back to the device."""
        self._device.free(self._address)

    def write_constants(self) -> None:
        """Write micro-ops and constants."""
        self._device.write(self._address, self.region.program.image)

    def write(self, binding: TensorBinding, array: NDArray[Any]) -> None:
        """Put a value of the binding's logical shape where the program expects it."""
        self._device.write(self._address + self._offsets[binding.symbol], pack(array, self._hw))

    def read(self, binding: TensorBinding) -> NDArray[Any]:
        """Return the value that lies in the image, in its logical shape."""
        node = binding.node
        nbytes = packed_nbytes(node.shape, self._hw, binding.planes)
        data = self._device.read(self._address + self._offsets[binding.symbol], nbytes)
        return unpack(data, node.shape, node.dtype, self._hw)

    def write_packed(self, binding: TensorBinding, array: NDArray[Any]) -> None:
        """Put a value that lies as on the device where the program expects it."""
        self._device.write(self._address + self._offsets[binding.symbol], array.reshape(-1).view(np.uint8))

    def read_packed(self, binding: TensorBinding) -> NDArray[Any]:
        """Return the value of the image as it lies there: (N, blocks, H, W, BLOCK) of bytes, where a batch has one row."""
        shape = packed_image_shape(binding.node.shape, self._hw)
        data = self._device.read(self._address + self._offsets[binding.symbol], prod(shape))
        return data.view(binding.node.dtype).reshape(shape)

    def carry(self, source: TensorBinding, to: TensorBinding) -> None:
        """Put a value of the image in the place of another one of its type, where it does not lie already."""
        first, second = self._offsets[source.symbol], self._offsets[to.symbol]
        if first != second:
            nbytes = packed_nbytes(source.node.shape, self._hw, source.planes)
            self._device.write(self._address + second, self._device.read(self._address + first, nbytes))

    def run(self, options: RunOptions, by_operator: bool = True) -> RunResult:
        """Run the whole program on the inputs that were written; counters are kept for each operator if wanted."""
        return self._device.run(self._stream, self._counting(options) if by_operator else options)

    def run_samples(
        self,
        device: SampleDevice,
        inputs: Sequence[tuple[TensorBinding, NDArray[Any], bool]],
        outputs: Sequence[tuple[TensorBinding, bool]],
        samples: int,
        options: RunOptions,
    ) -> list[NDArray[Any]]:
        """Run the whole program for so many samples on the device that the region is loaded on; returns its outputs.

        Samples lie along an axis before those of one. Of each binding it is said whether the value lies as on the device.
        """
        given = [
            (self._place(binding), array.reshape(samples, -1).view(np.uint8) if packed else pack_samples(array, self._hw))
            for binding, array, packed in inputs
        ]
        wanted = [(self._place(binding), packed_nbytes(binding.node.shape, self._hw, binding.planes)) for binding, _ in outputs]
        made = device.run_samples(self._stream, samples, given, wanted, options)
        return [self._values(data, binding, packed) for data, (binding, packed) in zip(made, outputs, strict=True)]

    def _place(self, binding: TensorBinding) -> int:
        return self._address + self._offsets[binding.symbol]

    def _values(self, data: NDArray[np.uint8], binding: TensorBinding, packed: bool) -> NDArray[Any]:
        node = binding.node
        if packed:
            return data.view(node.dtype).reshape(len(data), *packed_image_shape(node.shape, self._hw))
        return unpack_samples(data, node.shape, node.dtype, self._hw)

    def run_stepwise(self, options: RunOptions) -> Iterator[tuple[OperatorRecord, NDArray[Any]]]:
        """Run the program in program order and yield each operator's output as soon as it is complete; nothing is counted."""
        options = replace(options, seed=None, keep_state=True)
        self._device.reset()
        first = 0
        for record in self.region.operators:
            self._device.run(self._stream, replace(options, first=first, last=record.end))
            first = record.end
            yield record, self.read(record.output)
        self._device.run(self._stream, replace(options, first=first))

    def _counting(self, options: RunOptions) -> RunOptions:
        program = self.region.program
        counted = program.operator_index if len(program.operator_index) else None
        return replace(options, operator_index=counted, operator_count=len(program.operators))
