"""Reports of systems that were placed and routed: what of a bitstream's description tells about others, kept in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from vta.bitstream.report import Resources
from vta.boards.package import Package
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError, VTAError
from vta.files.json_file import read_object
from vta.support.dataclass import dataclass

__all__ = ["BuildReport", "built_systems", "read_build_report", "report_of"]

_SYSTEM = "clk"
"""What the place-and-route calls the clock of the system, as the top module does."""


@dataclass(frozen=True)
class BuildReport:
    """One system, placed and routed once."""

    board: str
    config: HardwareConfig
    timing: TimingParameters
    ethernet: bool
    seed: int
    wanted_mhz: float
    """The clock that the system was built for."""
    fmax_mhz: float
    """As fast as that clock may be."""
    others_mhz: Mapping[str, float]
    """As fast as each other clock may be, by the name of its net."""
    resources: Resources
    """Of the whole system."""
    seconds: Mapping[str, float]
    """Of each stage of the build."""
    tools: Mapping[str, str]
    """Version of each."""

    @property
    def system(self) -> tuple[str, str, bool]:
        """What was built, whatever clock and seed it was built with."""
        return self.config.bitstream, self.board, self.ethernet

    @property
    def name(self) -> str:
        """What tells it from others, for tables."""
        ethernet = ", Ethernet" if self.ethernet else ""
        return f"{self.config.bitstream} on {self.board}{ethernet}, seed {self.seed}"

    def to_json(self) -> dict[str, Any]:
        """What its file holds."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            **values,
            "config": self.config.to_json(),
            "timing": self.timing.to_json(),
            "others_mhz": dict(self.others_mhz),
            "resources": asdict(self.resources),
            "seconds": dict(self.seconds),
            "tools": dict(self.tools),
        }


def report_of(package: Package) -> BuildReport:
    """What the description of a bitstream that was built here says. Raises `ConfigError` if it lacks something."""
    build = package.build
    if build is None:
        raise ConfigError(f"{package.bitstream}: was not built here, so that there is nothing to report")
    clocks = build.fmax_mhz
    if _SYSTEM not in clocks and len(clocks) != 1:
        raise ConfigError(f"{package.bitstream}: none of its clocks is {_SYSTEM}: {', '.join(clocks) or 'it has none'}")
    # Without a PLL or a controller of DRAM there is one clock, the oscillator's.
    system = _SYSTEM if _SYSTEM in clocks else next(iter(clocks))
    return BuildReport(
        board=package.board,
        config=package.config,
        timing=package.timing,
        ethernet=package.network is not None,
        seed=build.seed,
        wanted_mhz=build.clock_mhz,
        fmax_mhz=clocks[system],
        others_mhz={name: mhz for name, mhz in clocks.items() if name != system},
        resources=Resources(**build.resources),
        seconds=build.seconds,
        tools=build.tools,
    )


def read_build_report(path: Path) -> BuildReport:
    """Read a report. Raises `ConfigError` naming the file if it is none."""
    try:
        values = read_object(path)
        return BuildReport(
            board=str(values["board"]),
            config=HardwareConfig.from_json(values["config"], str(path)),
            timing=TimingParameters.from_json(values["timing"], str(path)),
            ethernet=bool(values["ethernet"]),
            seed=int(values["seed"]),
            wanted_mhz=float(values["wanted_mhz"]),
            fmax_mhz=float(values["fmax_mhz"]),
            others_mhz={str(clock): float(mhz) for clock, mhz in values["others_mhz"].items()},
            resources=Resources(**values["resources"]),
            seconds={str(stage): float(time) for stage, time in values["seconds"].items()},
            tools={str(tool): str(version) for tool, version in values["tools"].items()},
        )
    except (LookupError, TypeError, ValueError, AttributeError, VTAError) as error:
        raise ConfigError(f"{path}: not a report of a built system: {error}") from None


@cache
def built_systems() -> tuple[BuildReport, ...]:
    """The reports that come with this package."""
    package = Path(__file__).resolve().parents[2]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    folders = (package / "bitstreams" / "builds", package.parent / "bitstreams" / "builds")
    return tuple(read_build_report(path) for folder in folders for path in sorted(folder.glob("*.json")))
