"""What cores take of the FPGAs of boards, and which fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vta.bitstream.clock.estimate import KnownClock, known_clock
from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.need import need_of
from vta.hardware.synthesis.estimate import known_logic, too_much
from vta.hardware.synthesis.resources import Resources
from vta.support.dataclass import dataclass

__all__ = ["CoreFit", "core_fit", "core_fits"]


@dataclass(frozen=True)
class CoreFit:
    """One core on one board."""

    config: str
    board: str
    source: str
    """Where look-up tables and flip-flops come from: ``synthesised``, ``estimated``, or ``counted``: they are not known."""
    resources: Resources
    short: tuple[str, ...]
    """What there is too little of, in words with both numbers."""
    clock: KnownClock | None
    """How fast a system with the core runs; None where nothing tells: then its clock is the user's."""
    wanted_mhz: float
    """The clock of the board's design."""

    @property
    def fits(self) -> bool:
        """Whether nothing is short."""
        return not self.short

    @property
    def slow(self) -> bool:
        """Whether the clock is known, and below the board's."""
        return self.clock is not None and self.clock.mhz < self.wanted_mhz


def core_fits(configs: Mapping[str, HardwareConfig], boards: Iterable[Board]) -> Iterator[CoreFit]:
    """Each of `configs` on each of the `boards` whose capacity is known, without what the board has beside the core."""
    for board in boards:
        if board.capacity is None:
            continue
        design = board.core_design()
        timing = TimingParameters(bus_bits=design.bus_bits)
        for name, hw in configs.items():
            yield core_fit(name, hw, board, timing)


def core_fit(name: str, hw: HardwareConfig, board: Board, timing: TimingParameters) -> CoreFit:
    """The core of `hw`, which is called `name`, on a board whose capacity is known."""
    assert board.capacity is not None, "whoever asks has made sure of it"
    need = need_of(hw, timing, board.family, board.capacity)
    source, found = known_logic(hw, board, timing)
    logic = found or Resources()
    resources = Resources(lut=logic.lut, ff=logic.ff, dsp=need.dsp, bram=need.block_memories)
    short = tuple(too_much(hw, board, timing))
    # What does not fit has no clock.
    clock = None if short else known_clock(hw, board, timing)
    return CoreFit(name, board.name, source, resources, short, clock, board.core_design().clock_mhz)
