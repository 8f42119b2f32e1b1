"""The first instruction after which the memories of two devices differ, which run the same program on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.devices.device import Device, RunOptions, Tokens
from vta.difference.cause import Cause, instruction_cause
from vta.difference.probe_programs import Probe
from vta.difference.values import Array, Where
from vta.errors import DeviceError
from vta.isa.encoding import decode, encode
from vta.isa.instruction import FLAGS, Opcode
from vta.isa.instruction_text import format_instructions
from vta.support.dataclass import dataclass
from vta.tile.packing import pack

__all__ = ["first_instruction"]

_KEEPING = RunOptions(checks=False, keep_state=True, limit_seconds=60.0)


def first_instruction(where: Where, left: Device, right: Device, inputs: Sequence[Array]) -> Cause | None:
    """Find it, as far as the end of the operator that computes a value; None if the devices agree until there.

    `inputs` are those of the region. On-chip memories are read by small programs that run after a part of the program, so any
    device will do whose memories last from run to run.
    """
    region = where.region
    sides = [_Side(region, device, inputs) for device in (left, right)]
    try:
        ends = [record.end for record in region.operators]
        last = next(index for index, record in enumerate(region.operators) if record is where.operator)
        bounds = _dram_bounds(sides, ends[: last + 1])
        if bounds is None:
            return None
        known, differs = bounds
        first = known if _begun_at(sides, differs) else 0
        if not first:
            for side in sides:
                side.begin_with(side.origin)
        place = "DRAM"
        for look in ("DRAM", "accumulators", "input buffer", "weight buffer", "micro-op buffer"):
            found = _bisected(sides, look, first, known, differs)
            if found is not None:
                differs, place = found, look
        return _told(region, differs - 1, place)
    finally:
        for side in sides:
            side.close()


def _told(region: RegionProgram, index: int, where: str) -> Cause:
    program = region.program
    (text,) = format_instructions(program.instructions[index : index + 1])
    origin = program.origin(index)
    operator = "" if origin is None else f", of {origin.operator}" + (f" tile {origin.tile}" if origin.tile >= 0 else "")
    return instruction_cause(text, region.name, index, f"{where} differs after it{operator}")


def _dram_bounds(sides: Sequence[_Side], ends: Sequence[int]) -> tuple[int, int] | None:
    """Where operators end: the last end after which DRAM is the same, and the first after which it is not.

    None if it is the same after the last. What differs is mostly the last operator; else all are looked at.
    """
    before = ends[-2] if len(ends) > 1 else 0
    found = _dram_differs(sides, (before, ends[-1]))
    if found == before:
        found = _dram_differs(sides, ends)
    return None if found is None else (max((end for end in ends if end < found), default=0), found)


def _dram_differs(sides: Sequence[_Side], ends: Sequence[int]) -> int | None:
    """The first of some counts of instructions after which DRAM differs."""
    for side in sides:
        side.start()
    for end in ends:
        for side in sides:
            side.advance(end)
        images = [side.image() for side in sides]
        if not np.array_equal(images[0], images[1]):
            return end
        for side, image in zip(sides, images, strict=True):
            side.equal = side.state(image)
    return None


def _begun_at(sides: Sequence[_Side], differs: int) -> bool:
    """Have the sides begin where DRAM was the same last, if that leads to the same difference; or else with the program.

    Loads before it that may be needed still are done again. Where these differ, what is sought lies before.
    """
    wanted = [side.image() for side in sides]
    for side in sides:
        side.begin_with(side.equal)
    try:
        if all(np.array_equal(side.seen("DRAM", differs)[0], image) for side, image in zip(sides, wanted, strict=True)):
            known = sides[0].equal.done
            return not any(_differ(sides, look, known) for look in ("input buffer", "weight buffer", "micro-op buffer"))
    except DeviceError:
        pass
    return False


def _differ(sides: Sequence[_Side], look: str, count: int) -> bool:
    """Whether a memory differs after so many instructions."""
    left, right = (side.seen(look, count) for side in sides)
    return any(not np.array_equal(ours, theirs) for ours, theirs in zip(left, right, strict=True))


def _bisected(sides: Sequence[_Side], look: str, first: int, equal: int, differs: int) -> int | None:
    """The first count of instructions, up to `differs`, after which a memory differs; None if it does not by then.

    What differs is taken to differ until it has led to what was found already. Instructions before `first` are not to blame.
    """

    candidates = _candidates(sides[0].region, look, differs)
    candidates = candidates[candidates > first]
    low, high = int(np.searchsorted(candidates, equal, "right")) if look == "DRAM" else 0, len(candidates) - 1
    if high < low or not _differ(sides, look, int(candidates[high])):
        return None
    step = 1
    # What led to a difference is mostly near: the steps back grow from one.
    while look != "DRAM" and high - step >= low and _differ(sides, look, int(candidates[high - step])):
        high, step = high - step, 2 * step
    low = low if look == "DRAM" else max(low, high - step + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _differ(sides, look, int(candidates[middle])) else (middle + 1, high)
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


@dataclass(frozen=True, eq=False)
class _State:
    """Of a program that has run in part."""

    done: int
    """Instructions."""
    image: NDArray[np.uint8]
    tokens: Tokens
    """That wait in the queues."""


class _Side:
    """A program in the memory of one device."""

    def __init__(self, region: RegionProgram, device: Device, inputs: Sequence[Array]) -> None:
        self.region = region
        self._device = device
        self.origin = self.equal = self._begins = _State(0, _image_of(region, inputs), Tokens())
        """Before the program, when DRAM was the same last, and where runs begin."""
        self._tokens = Tokens()
        self._loads: dict[int, NDArray[np.uint8]] = {}
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

    def begin_with(self, state: _State) -> None:
        """Start from this state from now on, with nothing on chip but what was loaded of late."""
        self._begins = state

    def state(self, image: NDArray[np.uint8]) -> _State:
        """The present one, with this in DRAM."""
        return _State(self._done, image, self._tokens)

    def start(self) -> None:
        """Write the image and the inputs, and clear what is on chip."""
        self._done, self._tokens = self._begins.done, self._begins.tokens
        self._device.write(self._address, self._begins.image)
        self._device.reset()
        self._probe.clear()
        if self._done:
            self._device.run(self._loads_before(self._done), _KEEPING)

    def advance(self, count: int) -> None:
        """Run on until `count` instructions are done."""
        if count > self._done:
            options = replace(_KEEPING, first=self._done, last=count, tokens=self._tokens)
            self._tokens = self._device.run(self._stream, options).tokens
            self._done = count

    def seen(self, look: str, count: int) -> list[NDArray[np.uint8]]:
        """What a memory holds after the first `count` instructions."""
        self.start()
        self.advance(count)
        return self._looks[look]()

    def image(self) -> NDArray[np.uint8]:
        """The image as it is in the device's memory."""
        return self._device.read(self._address, self.region.program.image_bytes)

    def _loads_before(self, count: int) -> NDArray[np.uint8]:
        """Loads before some instruction that may be needed after it: all of micro-ops, and those since the operator before."""
        if count not in self._loads:
            hw = self.region.program.hw
            rows = decode(self._stream[:count], hw)
            ends = [record.end for record in self.region.operators if record.end < count]
            recent = np.arange(count) >= (ends[-1] if ends else 0)
            rows = rows[_loads(rows, 0) | _loads(rows, 1, 2) & recent]
            for flag in FLAGS:
                rows[flag] = 0
            self._loads[count] = encode(rows, hw)
        return self._loads[count]

    def _uop_rows(self) -> int:
        return int(min(self.region.program.instructions["uop_end"].max(), self.region.program.hw.uop_depth))
