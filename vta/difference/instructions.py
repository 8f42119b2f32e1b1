"""The first instruction after which the memories of two devices differ, which run the same program on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.devices.device import Device, RunOptions
from vta.difference.cause import Cause, instruction_cause
from vta.difference.probe_programs import Probe
from vta.difference.values import Array
from vta.isa.instruction import Opcode
from vta.isa.instruction_text import format_instructions
from vta.tile.packing import pack

__all__ = ["first_instruction"]

_KEEPING = RunOptions(checks=False, keep_state=True, limit_seconds=60.0)


def first_instruction(region: RegionProgram, left: Device, right: Device, inputs: Sequence[Array]) -> Cause | None:
    """Find it; None if the devices agree on the whole program.

    `inputs` are those of the region. On-chip memories are read by small programs that run after a part of the program, so any
    device will do whose memories last from run to run.
    """
    sides = [_Side(region, device, inputs) for device in (left, right)]
    try:
        ends = [record.end for record in region.operators] + [len(region.program.instructions)]
        known, differs = _dram_differs(sides, ends)
        if differs is None:
            return None
        where = "DRAM"
        for look in ("DRAM", "accumulators", "input buffer", "weight buffer", "micro-op buffer"):
            found = _bisected(sides, look, known, differs)
            if found is not None:
                differs, where = found, look
        return _told(region, differs - 1, where)
    finally:
        for side in sides:
            side.close()


def _told(region: RegionProgram, index: int, where: str) -> Cause:
    program = region.program
    (text,) = format_instructions(program.instructions[index : index + 1])
    origin = program.origin(index)
    operator = "" if origin is None else f", of {origin.operator}" + (f" tile {origin.tile}" if origin.tile >= 0 else "")
    return instruction_cause(text, region.name, index, f"{where} differs after it{operator}")


def _dram_differs(sides: Sequence[_Side], ends: Sequence[int]) -> tuple[int, int | None]:
    """Where operators end: the last end after which DRAM is the same, and the first after which it is not."""
    for side in sides:
        side.start()
    known = 0
    for end in ends:
        for side in sides:
            side.advance(end)
        if not np.array_equal(sides[0].image(), sides[1].image()):
            return known, end
        known = end
    return known, None


def _bisected(sides: Sequence[_Side], look: str, equal: int, differs: int) -> int | None:
    """The first count of instructions, up to `differs`, after which a memory differs; None if it does not by then.

    What differs is taken to differ until it has led to what was found already.
    """

    def differ(count: int) -> bool:
        left, right = (side.seen(look, count) for side in sides)
        return any(not np.array_equal(ours, theirs) for ours, theirs in zip(left, right, strict=True))

    candidates = _candidates(sides[0].region, look, differs)
    low, high = int(np.searchsorted(candidates, equal, "right")) if look == "DRAM" else 0, len(candidates) - 1
    if high < low or not differ(int(candidates[high])):
        return None
    step = 1
    # What led to a difference is mostly near: the steps back grow from one.
    while look != "DRAM" and high - step >= low and differ(int(candidates[high - step])):
        high, step = high - step, 2 * step
    low = low if look == "DRAM" else max(low, high - step + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if differ(int(candidates[middle])) else (middle + 1, high)
    return int(candidates[low])


def _candidates(region: RegionProgram, look: str, last: int) -> NDArray[np.int64]:
    """Counts of instructions, up to `last`, after which a memory may have changed."""
    rows = region.program.instructions[:last]
    changes = {
        "DRAM": rows["opcode"] == Opcode.STORE,
        "accumulators": np.isin(rows["opcode"], (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE)) | _loads(rows, 3, 4),
        "input buffer": _loads(rows, 2),
        "weight buffer": _loads(rows, 1),
        "micro-op buffer": _loads(rows, 0),
    }
    return np.flatnonzero(changes[look]) + 1


def _loads(rows: NDArray[np.void], *memories: int) -> NDArray[np.bool_]:
    return np.asarray((rows["opcode"] == Opcode.LOAD) & np.isin(rows["memory_type"], memories))


def _image_of(region: RegionProgram, inputs: Sequence[Array]) -> NDArray[np.uint8]:
    """The image of a program with its inputs in their places."""
    program = region.program
    image = np.zeros(program.image_bytes, np.uint8)
    image[: program.image.size] = program.image
    for binding, array in zip(region.inputs, inputs, strict=True):
        symbol, packed = program.symbol(binding.symbol), pack(array, program.hw)
        image[symbol.offset : symbol.offset + packed.size] = packed
    return image


class _Side:
    """A program in the memory of one device."""

    def __init__(self, region: RegionProgram, device: Device, inputs: Sequence[Array]) -> None:
        self.region = region
        self._device = device
        self._first_image = _image_of(region, inputs)
        self._address = device.allocate(region.program.image_bytes)
        self._stream = region.program.encoded(self._address)
        self._probe = Probe(device)
        self._done = 0
        self._looks: dict[str, Callable[[], list[NDArray[np.uint8]]]] = {
            "DRAM": lambda: [self.image()],
            "accumulators": self._probe.accumulators,
            "input buffer": self._probe.inputs,
            "weight buffer": self._probe.weights,
            "micro-op buffer": lambda: self._probe.uops(self._uop_rows()),
        }

    def close(self) -> None:
        """Give the memory back."""
        self._probe.close()
        self._device.free(self._address)

    def start(self) -> None:
        """Write the image and the inputs, and clear what is on chip."""
        self._device.write(self._address, self._first_image)
        self._device.reset()
        self._probe.clear()
        self._done = 0

    def advance(self, count: int) -> None:
        """Run on until `count` instructions are done."""
        if count > self._done:
            self._device.run(self._stream, replace(_KEEPING, first=self._done, last=count))
            self._done = count

    def seen(self, look: str, count: int) -> list[NDArray[np.uint8]]:
        """What a memory holds after the first `count` instructions."""
        self.start()
        self.advance(count)
        return self._looks[look]()

    def image(self) -> NDArray[np.uint8]:
        """The image as it is in the device's memory."""
        return self._device.read(self._address, self.region.program.image_bytes)

    def _uop_rows(self) -> int:
        return int(min(self.region.program.instructions["uop_end"].max(), self.region.program.hw.uop_depth))
