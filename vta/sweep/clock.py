"""At which clock a design is taken to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from vta.bitstream.fits import CoreFit
from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.support.dataclass import dataclass

__all__ = ["Clock"]


@dataclass(frozen=True)
class Clock:
    """The clock that a sweep estimates for its designs."""

    mhz: float | None = None
    """Of all designs; None: what is estimated, or that of the board's design of the core, or of the config's platform."""
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By key of the config or timing, and by its value as a text: at most so many MHz."""

    def of(self, hw: HardwareConfig, timing: TimingParameters, board: Board | None, fit: CoreFit | None = None) -> float:
        """MHz of a design: the least of all that is said of it; else what is known of it by `fit`, or wanted by the board."""
        values = {**hw.to_json(), "bus_bits": timing.bus_bits, "read_latency": timing.read_latency}
        found = [by_value[text] for key, by_value in self.limits.items() if (text := str(values.get(key))) in by_value]
        if self.mhz is not None:
            found.append(self.mhz)
        elif fit is not None and fit.clock is not None:
            if not found:
                found.append(fit.clock.mhz)
        elif board is not None:
            found.append(board.core_design().clock_mhz)
        elif not found:
            found.append(hw.platform.fabric_mhz)
        return float(min(found))
