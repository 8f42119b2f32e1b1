"""The schedules that come with the package: the best ones found for well-known networks on the shipped configs.

There is one log for each geometry, in the folder `tuning`. A log is split into lines when the first operator on that geometry is
compiled, and a line is parsed when its workload is.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from vta.config.hardware import HardwareConfig
from vta.config.targets import TARGETS
from vta.errors import TuningError
from vta.records.knobs import fitting_schedule
from vta.records.log import Record, line_start, parse_line, target_of
from vta.records.region import fitting_choice, ranked_choices, region_identity
from vta.records.workload import Workload, workload_of
from vta.schedule.kept_choice import kept_choice
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["SHIPPED", "ShippedSchedules", "shipped_folder", "shipped_records"]

_CHOICE = '"choice": '
"""What only lines of choices have."""


@dataclass(frozen=True)
class ShippedSchedules:
    """Chooses the schedules of the shipped records, and the compiler's default where there is none that fits.

    A workload has up to two records. One does all products and moves no more bytes than the compiler's own schedule, so
    that a larger buffer never costs bytes, whether there are records for it or not. The other has the fewest cycles,
    may leave out products with zero padding, and is taken with `fastest`.
    """

    fastest: bool = False

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """The shipped schedule of an operator, or the default one."""
        return self.find(operator, hw) or kept_choice(operator, hw)

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...] | None:
        """What was chosen for the operators of this very region together; None if nothing was, or it does not fit."""
        known = _choice_lines(hw.bitstream)
        if not known:
            return None
        identity = region_identity(region, hw)
        records = (parse_line(line).record for line in known if identity in line)
        choices = ranked_choices(record for record in records if record is not None)
        return fitting_choice(choices.get((hw.model, identity), []), region, hw)[0]

    def find(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule | None:
        """The shipped schedule of an operator, if there is one and it fits."""
        records = shipped_records(workload_of(operator, hw), hw)
        for record in records if self.fastest else records[::-1]:
            try:
                schedule = fitting_schedule(record.entity, operator, hw)
            except TuningError:
                continue
            if self.fastest or not schedule.skip_padding:
                return schedule
        return None


SHIPPED = ShippedSchedules()
"""What compiling uses by itself."""


def shipped_folder() -> Path | None:
    """Where the logs are; None if the installation has none."""
    package = Path(__file__).resolve().parents[1]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    for folder in (package / "tuning", package.parent / "tuning"):
        if any(folder.glob("*.log")):
            return folder
    return None


def shipped_records(workload: Workload, hw: HardwareConfig) -> tuple[Record, ...]:
    """The shipped records of a workload, cheapest first: those for `hw`, or, where there are none of its target at all, for a
    target like it. A workload that a target has none of is one for which the compiler's own schedule was better.
    """
    source = _source(hw.target, hw.bitstream)
    found = [] if source is None else _lines_by_start(hw.bitstream).get(line_start(source, workload), [])
    records = (parse_line(line, workload=workload).record for line in found)
    alone = (record for record in records if record is not None and record.place is None)
    return tuple(sorted(alone, key=lambda record: record.cost))


@cache
def _choice_lines(geometry: str) -> tuple[str, ...]:
    """The lines of a geometry's log that belong to choices for whole regions."""
    lines = (line for found in _lines_by_start(geometry).values() for line in found)
    return tuple(line for line in lines if _CHOICE in line)


@cache
def _source(target: str, geometry: str) -> str | None:
    """Whose records serve a target, as records name it."""
    starts = _lines_by_start(geometry)
    names = (target_of(f"{other}_{geometry}") for other in _like(target))
    return next((name for name in names if any(json.dumps(name) in start for start in starts)), None)


@cache
def _lines_by_start(geometry: str) -> dict[str, list[str]]:
    """The lines of a geometry's log by how they start, up to the schedule."""
    folder = shipped_folder()
    path = folder / f"{geometry}.log" if folder else None
    found: dict[str, list[str]] = {}
    if path is not None and path.is_file():
        for line in path.read_bytes().decode(errors="replace").split("\n"):
            start, separator, _ = line.partition('"config": ')
            if separator:
                found.setdefault(start, []).append(line)
    return found


@cache
def _like(name: str) -> tuple[str, ...]:
    """The targets of the same bus width, first the one called `name`, then those with the same order of micro-ops."""
    wanted = TARGETS[name]

    def difference(other: str) -> tuple[bool, bool]:
        return other != name, TARGETS[other].capabilities.uop_dst_distance != wanted.capabilities.uop_dst_distance

    same = [other for other, target in TARGETS.items() if target.platform.bus_bits == wanted.platform.bus_bits]
    return tuple(sorted(same, key=difference))
