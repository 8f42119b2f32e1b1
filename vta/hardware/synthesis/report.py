"""Reports of synthesised cores: what Yosys found for each unit, kept in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError, VTAError
from vta.files.json_file import read_object
from vta.hardware.fabric import Fabric
from vta.hardware.synthesis.resources import Resources
from vta.support.dataclass import dataclass

__all__ = ["SynthesisReport", "read_report", "reported_cores"]


@dataclass(frozen=True)
class SynthesisReport:
    """One core, mapped for one family."""

    config: HardwareConfig
    timing: TimingParameters
    family: str
    seconds: float
    units: Mapping[str, Resources]
    fabric: Fabric
    """How the core was built for it."""

    @property
    def total(self) -> Resources:
        """Of the whole core."""
        return sum(self.units.values(), Resources())

    def to_json(self) -> dict[str, Any]:
        """What its file holds."""
        return {
            "config": self.config.to_json(),
            "timing": self.timing.to_json(),
            "family": self.family,
            "fabric": asdict(self.fabric),
            "seconds": self.seconds,
            "units": {unit: asdict(found) for unit, found in self.units.items()},
        }


def read_report(path: Path) -> SynthesisReport:
    """Read a report. Raises `ConfigError` naming the file if it is none."""
    try:
        values = read_object(path)
        config = HardwareConfig.from_json(values["config"], str(path))
        timing = TimingParameters.from_json(values["timing"], str(path))
        return SynthesisReport(
            config=config,
            timing=timing,
            family=str(values["family"]),
            seconds=float(values["seconds"]),
            units={unit: Resources(**found) for unit, found in values["units"].items()},
            fabric=Fabric(**values["fabric"]),
        )
    except (LookupError, TypeError, ValueError, AttributeError, VTAError) as error:
        raise ConfigError(f"{path}: not a report of a synthesised core: {error}") from None


@cache
def reported_cores() -> tuple[SynthesisReport, ...]:
    """The reports that come with this package."""
    package = Path(__file__).resolve().parents[2]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    folders = (package / "bitstreams" / "reports", package.parent / "bitstreams" / "reports")
    return tuple(read_report(path) for folder in folders for path in sorted(folder.glob("*.json")))
