"""The points of a sweep: every legal design with everything that is to run on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any, TypeVar

from vta.bitstream.fits import CoreFit, core_fit
from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.technology import Technology
from vta.config.timing import TimingParameters, timing_of
from vta.errors import ConfigError
from vta.schedule.energy import area_of
from vta.support.dataclass import dataclass
from vta.sweep.spec import WAY_KEY, Net, Spec

__all__ = ["Design", "Illegal", "Point", "design_of", "expand", "points_of"]

Made = TypeVar("Made")

_BUFFERS = (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.OUT)


@dataclass(frozen=True)
class Design:
    """A config in its memory system."""

    hw: HardwareConfig
    timing: TimingParameters
    technology: Technology = field(default_factory=Technology)
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of the keys that the sweep varies, those with more than one value."""
    requantize: str | None = None
    """How networks are requantized; None: as each says."""
    estimated_mhz: float | None = None
    """What the sweep says of its clock; None: nothing."""
    fit: CoreFit | None = None
    """What it takes of the FPGA of the sweep's board, if that has one."""

    def works(self, works: Sequence[Net | str]) -> list[Net | str]:
        """What runs, requantized in the way of the design."""
        way = self.requantize
        return [replace(work, requantize=way) if way is not None and isinstance(work, Net) else work for work in works]

    @property
    def clock_mhz(self) -> float:
        """As the sweep estimates it, or else of the config's platform."""
        return float(self.hw.platform.fabric_mhz) if self.estimated_mhz is None else self.estimated_mhz

    @property
    def onchip_bytes(self) -> int:
        """Bytes of all buffers."""
        uops = self.hw.uop_depth * self.hw.elem_bytes(MemoryType.UOP)
        return uops + sum(self.hw.depth(memory) * self.hw.elem_bytes(memory) for memory in _BUFFERS)

    @property
    def peak_macs(self) -> int:
        """Multiply-accumulates a cycle of the matrix unit."""
        return self.hw.batch * self.hw.block * self.hw.block

    @property
    def area_um2(self) -> int:
        """Area of arithmetic and memories, by the figures of the technology."""
        return round(area_of(self.hw, self.technology)["total"])


@dataclass(frozen=True)
class Illegal:
    """Values that are no design, and why."""

    values: dict[str, Any]
    """Of the keys that the sweep varies."""
    reason: str
    combinations: int = 1
    """Of all keys that begin with these values."""


@dataclass(frozen=True)
class Point:
    """One row of the table."""

    number: int
    design: Design
    work: Net | str

    @property
    def workload(self) -> str:
        """Name of what runs."""
        return self.work.name if isinstance(self.work, Net) else self.work


def expand(spec: Spec) -> tuple[tuple[Design, ...], tuple[Illegal, ...]]:
    """Every combination of the sweep's values, in the order of the file, the last key fastest: the legal ones, and the others."""
    found: list[Design | Illegal] = []
    timings, ways = list(_combinations(spec.timing)), spec.requantize or (None,)
    for config in _combinations(spec.config):
        hw = _config(spec, config)
        if isinstance(hw, Illegal):
            found.append(replace(hw, combinations=len(timings) * len(ways)))
            continue
        for timing in timings:
            design = _design(spec, hw, config, timing, ways[0])
            if isinstance(design, Illegal):
                found.append(replace(design, combinations=len(ways)))
            else:
                found += [design, *(_design(spec, hw, config, timing, way) for way in ways[1:])]
    legal = tuple(entry for entry in found if isinstance(entry, Design))
    return legal, tuple(entry for entry in found if isinstance(entry, Illegal))


def design_of(
    spec: Spec, config: Mapping[str, Any], timing: Mapping[str, Any], requantize: str | None = None
) -> Design | Illegal:
    """The design of one combination of a sweep's values, or why it is none."""
    hw = _config(spec, config)
    return hw if isinstance(hw, Illegal) else _design(spec, hw, config, timing, requantize)


def points_of(designs: tuple[Design, ...], works: tuple[Net | str, ...]) -> tuple[Point, ...]:
    """Every design with everything to run, numbered from 0."""
    every = ((design, work) for design in designs for work in design.works(works))
    return tuple(Point(number, design, work) for number, (design, work) in enumerate(every))


def _config(spec: Spec, config: Mapping[str, Any]) -> HardwareConfig | Illegal:
    return _made(HardwareConfig.from_json, {**spec.base, **config}, dict(config))


def _design(
    spec: Spec, hw: HardwareConfig, config: Mapping[str, Any], timing: Mapping[str, Any], requantize: str | None
) -> Design | Illegal:
    values = {**config, **timing, WAY_KEY: requantize} if requantize else {**config, **timing}
    varied = {key: value for key, value in values.items() if key in spec.axes}

    def make(timing: Mapping[str, Any]) -> Design:
        parameters = TimingParameters.from_json({"bus_bits": timing_of(hw).bus_bits, **timing})
        fit = None if spec.board is None else _fit(spec.board, hw, parameters)
        mhz = spec.clock.of(hw, parameters, spec.board, fit)
        return Design(hw, parameters, spec.technology, varied, requantize, mhz, fit)

    return _made(make, timing, {**config, **timing})


def _fit(board: Board, hw: HardwareConfig, timing: TimingParameters) -> CoreFit:
    """Raises `ConfigError` if the core of a config needs more than the board's FPGA has."""
    found = core_fit(hw.model, hw, board, timing)
    if not found.fits:
        raise ConfigError(f"does not fit {board.name}: {', '.join(found.short)}")
    return found


def _made(make: Callable[[Mapping[str, Any]], Made], values: Mapping[str, Any], named: dict[str, Any]) -> Made | Illegal:
    """What `make` makes of `values`, or why it cannot."""
    try:
        return make(values)
    except ConfigError as error:
        return Illegal(named, str(error).removeprefix("config: ").removeprefix("timing: "))


def _combinations(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for choice in product(*axes.values()):
        yield dict(zip(axes, choice, strict=True))
