"""What a build takes of its FPGA, and how fast it runs, as the place-and-route reports it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from vta.boards.description import Capacity
from vta.errors import DeviceError, UsageError
from vta.support.dataclass import dataclass

__all__ = ["Clock", "Report", "Resources", "check_cells", "read_report"]

_GLOBAL = "$glbnet$"
_USED = {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "dsp": "MULT18X18D", "bram": "DP16KD"}
_LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
"""Look-up tables that a cell of the netlist takes at least."""


@dataclass(frozen=True)
class Resources:
    """Cells of an ECP5."""

    lut: int
    """Look-up tables of 4 inputs, with those of carry chains and small memories."""
    ff: int
    dsp: int
    bram: int


@dataclass(frozen=True)
class Clock:
    """One clock."""

    mhz: float
    """As fast as it may be."""
    wanted_mhz: float
    """As fast as it is."""

    @property
    def met(self) -> bool:
        """Whether it may be as fast as it is."""
        return self.mhz >= self.wanted_mhz


@dataclass(frozen=True)
class Report:
    """What came out."""

    resources: Resources
    clocks: Mapping[str, Clock]

    @property
    def missed(self) -> dict[str, Clock]:
        """The clocks that are too fast."""
        return {name: clock for name, clock in self.clocks.items() if not clock.met}

    @property
    def slack(self) -> float:
        """The least of what clocks may be over what they are."""
        return min((clock.mhz / clock.wanted_mhz for clock in self.clocks.values()), default=1.0)


def read_report(path: Path) -> Report:
    """Read the place-and-route's report.

    Raises `DeviceError` naming the file if it is none.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        used = {name: int(values["utilization"].get(cell, {"used": 0})["used"]) for name, cell in _USED.items()}
        clocks = {
            name.removeprefix(_GLOBAL): Clock(round(float(entry["achieved"]), 2), round(float(entry["constraint"]), 2))
            for name, entry in values["fmax"].items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DeviceError(f"{path}: not a report of the place-and-route: {error}") from None
    return Report(Resources(**used), clocks)


def check_cells(path: Path, capacity: Capacity, what: str) -> Resources:
    """What the netlist takes, as the synthesis counts it in the file `path`.

    Raises `UsageError` with the numbers if that is more than `capacity`; `what` names what does not fit where.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["design"]["num_cells_by_type"]
    except (OSError, ValueError, LookupError) as error:
        raise DeviceError(f"{path}: not the synthesis's count of cells: {error}") from None
    found = Resources(
        lut=sum(count * int(cells.get(cell, 0)) for cell, count in _LUTS.items()),
        ff=int(cells.get("TRELLIS_FF", 0)),
        dsp=int(cells.get("MULT18X18D", 0)),
        bram=int(cells.get("DP16KD", 0)),
    )
    there = {"lut": capacity.luts, "dsp": capacity.dsp, "bram": capacity.block_memories}
    short = [f"{getattr(found, name)} {name.upper()} of {most}" for name, most in there.items() if getattr(found, name) > most]
    if short:
        raise UsageError(f"{what}: the synthesis needs {' and '.join(short)}")
    return found
