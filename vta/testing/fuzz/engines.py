"""Runs a program on the engines that must agree, and says where they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vta.config.timing import TimingParameters
from vta.devices.device import Counters, Device, RunOptions, UnitCycles
from vta.errors import DeviceError, EncodingError, UsageError
from vta.isa import Program, decode
from vta.isa.program import PAGE_BYTES
from vta.support.dataclass import dataclass
from vta.testing.isa_reference import IsaReference
from vta.testing.timing_reference import reference_timing

__all__ = ["ENGINES", "Difference", "Outcome", "compare", "open_device", "run_engines"]

ENGINES = ("sim", "cycle", "rtl", "stalled", "xilinx", "xilinx4", "netlist", "contract", "opencl")
"""Devices; ``stalled``, which is rtl with a memory that withholds handshakes at random, so that only its data count;
``xilinx`` and ``xilinx4``, which are rtl as it is built for Xilinx, with two banks of the accumulator and with four;
``netlist``, which is what Yosys makes of rtl for an ECP5; ``contract``, the timing contract stepped in Python without data."""

_BASE = PAGE_BYTES
_MARGIN_BYTES = 1 << 20
_STALL_PERMILLE = 300


@dataclass(frozen=True)
class Outcome:
    """What one engine made of a program. Absent values are what the engine does not know."""

    engine: str
    error: str | None = None
    image: NDArray[np.uint8] | None = None
    """The DRAM image afterwards."""
    counters: Counters | None = None
    cycles: int | None = None
    units: Mapping[str, UnitCycles] = field(default_factory=dict)
    beats: tuple[int, int] | None = None
    """Read and written."""


@dataclass(frozen=True)
class Difference:
    """A disagreement: `kind` is ``bits``, ``cycles`` or ``counters``."""

    kind: str
    message: str


def run_engines(program: Program, timing: TimingParameters, engines: Sequence[str], limit_seconds: float = 60.0) -> list[Outcome]:
    """Run `program` on the ISA reference and on each of `engines`; the outcomes in that order."""
    outcomes = [_attempt("isa", lambda: _run_reference(program))]
    for name in engines:
        if name == "contract":
            outcomes.append(_attempt(name, lambda: _step_contract(program, timing)))
        else:
            outcomes.append(_attempt(name, partial(_run_device, name, program, timing, limit_seconds)))
    return outcomes


def compare(outcomes: Sequence[Outcome]) -> list[Difference]:
    """Compare every outcome with the first that knows the same thing."""
    differences = [Difference("bits", f"{o.engine} failed: {o.error}") for o in outcomes if o.error is not None]
    done = [outcome for outcome in outcomes if outcome.error is None]
    images = [outcome for outcome in done if outcome.image is not None]
    for outcome in images[1:]:
        differences += _image_differences(images[0], outcome)
    counted = [outcome for outcome in done if outcome.counters is not None]
    for outcome in counted[1:]:
        if outcome.counters != counted[0].counters:
            text = f"{counted[0].engine} {counted[0].counters}, {outcome.engine} {outcome.counters}"
            differences.append(Difference("counters", text))
    timed = [outcome for outcome in done if outcome.cycles is not None]
    for outcome in timed[1:]:
        differences += _time_differences(timed[0], outcome)
    return differences


def open_device(name: str, program: Program, timing: TimingParameters) -> Device:
    """A device called `name` with room for `program`.

    Raises `UsageError` for an unknown name; `DeviceError` where the device needs what is not installed.
    """
    memory_bytes = program.image_bytes + 16 * len(program.instructions) + _MARGIN_BYTES
    if name == "sim":
        from vta.devices.sim import SimDevice

        return SimDevice(program.hw, memory_bytes)
    if name == "cycle":
        from vta.devices.cycle import CycleDevice

        return CycleDevice(program.hw, timing, memory_bytes)
    if name in ("rtl", "stalled", "xilinx", "xilinx4", "netlist"):
        from vta.devices.rtl import RtlDevice
        from vta.hardware.fabric import PLAIN, fabrics_for
        from vta.hardware.verilator.library import Stalls

        # Any seed does, if it is the same each time that a program runs.
        stalls = Stalls(_STALL_PERMILLE, len(program.instructions)) if name == "stalled" else None
        fabrics = fabrics_for("xilinx", program.hw, timing)
        fabric = {"xilinx": fabrics[0], "xilinx4": fabrics[-1]}.get(name, PLAIN)
        return RtlDevice(program.hw, timing, memory_bytes, stalls=stalls, fabric=fabric, mapped=name == "netlist")
    if name == "opencl":
        from vta.devices.opencl import OpenclDevice

        return OpenclDevice(program.hw, memory_bytes)
    raise UsageError(f"unknown engine {name!r}; allowed: {', '.join(ENGINES)}")


def _attempt(name: str, run: Callable[[], Outcome]) -> Outcome:
    try:
        return run()
    except (DeviceError, EncodingError) as error:
        return Outcome(name, error=str(error))


def _run_reference(program: Program) -> Outcome:
    dram = np.zeros(_BASE + program.image_bytes, dtype=np.uint8)
    dram[_BASE : _BASE + len(program.image)] = program.image
    reference = IsaReference(program.hw, dram)
    reference.run(program.encoded(_BASE))
    return Outcome("isa", image=dram[_BASE:], counters=reference.counters)


def _run_device(name: str, program: Program, timing: TimingParameters, limit_seconds: float) -> Outcome:
    device = open_device(name, program, timing)
    base = device.allocate(program.image_bytes)
    image = np.zeros(program.image_bytes, dtype=np.uint8)
    image[: len(program.image)] = program.image
    device.write(base, image)
    result = device.run(program.encoded(base), RunOptions(limit_seconds=limit_seconds))
    after = device.read(base, program.image_bytes)
    if name == "stalled":
        return Outcome(name, image=after, counters=result.counters)
    beats = None if result.cycles is None else (result.read_beats, result.write_beats)
    return Outcome(name, None, after, result.counters, result.cycles, dict(result.units), beats)


def _step_contract(program: Program, timing: TimingParameters) -> Outcome:
    result = reference_timing(decode(program.encoded(_BASE), program.hw), program.hw, timing)
    return Outcome("contract", cycles=result.cycles, units=result.units, beats=(result.read_beats, result.write_beats))


def _image_differences(expected: Outcome, actual: Outcome) -> list[Difference]:
    assert expected.image is not None
    assert actual.image is not None
    wrong = np.flatnonzero(expected.image != actual.image)
    if not len(wrong):
        return []
    first = int(wrong[0])
    values = f"{expected.engine} {expected.image[first]:#04x}, {actual.engine} {actual.image[first]:#04x}"
    return [Difference("bits", f"{len(wrong)} bytes of the image differ, the first at {first:#x}: {values}")]


def _time_differences(expected: Outcome, actual: Outcome) -> list[Difference]:
    names = f"{expected.engine} %s, {actual.engine} %s"
    found = []
    if expected.cycles != actual.cycles:
        found.append(Difference("cycles", names % (expected.cycles, actual.cycles)))
    for unit in sorted(expected.units.keys() | actual.units.keys()):
        pair = expected.units.get(unit), actual.units.get(unit)
        if pair[0] != pair[1]:
            found.append(Difference("counters", f"{unit}: {names % pair}"))
    if expected.beats != actual.beats:
        found.append(Difference("counters", f"read and written beats: {names % (expected.beats, actual.beats)}"))
    return found
