"""What is written beside a bitstream that was built here: what it is, what came of the build, and how its memory is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vta.boards.bit_file import package_path
from vta.boards.controller import ControllerSetup
from vta.boards.ethernet import Network
from vta.boards.manifest import checksum
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError, DeviceError
from vta.files.json_file import read_object
from vta.support.dataclass import dataclass

__all__ = ["BuildRecord", "Package", "check_package", "read_package"]


@dataclass(frozen=True)
class BuildRecord:
    """What came of a build."""

    sha256: str
    """Of the bitstream."""
    clock_mhz: float
    seed: int
    tools: Mapping[str, str]
    """Version of each tool."""
    seconds: Mapping[str, float]
    """Of each stage."""
    resources: Mapping[str, int]
    fmax_mhz: Mapping[str, float]
    """As fast as each clock may be."""
    fits: bool
    """Every clock may be as fast as it is."""


@dataclass(frozen=True)
class Package:
    """A bitstream's description."""

    board: str
    design: str
    config: HardwareConfig
    timing: TimingParameters
    bitstream: str
    """Its file."""
    build: BuildRecord | None
    """None: the vendor's tools build it."""
    controller: ControllerSetup | None
    """How the host sets memory up; None: it need not."""
    network: Network | None = None
    """What the board is called on the network; None: it is on none."""

    def to_json(self) -> dict[str, Any]:
        """The description as a JSON object."""
        return {
            "board": self.board,
            "design": self.design,
            "config": self.config.to_json(),
            "timing": self.timing.to_json(),
            "bitstream": self.bitstream,
            "build": None if self.build is None else asdict(self.build),
            "controller": None if self.controller is None else self.controller.to_json(),
            "network": None if self.network is None else self.network.to_json(),
        }


def read_package(bitstream: Path) -> Package:
    """Read the description of a bitstream. Raises `ConfigError` naming the file and what is wrong if there is none for it."""
    path = package_path(bitstream)
    values = read_object(path)
    try:
        build, controller, network = values.get("build"), values.get("controller"), values.get("network")
        package = Package(
            board=str(values["board"]),
            design=str(values["design"]),
            config=HardwareConfig.from_json(values["config"], str(path)),
            timing=TimingParameters.from_json(values["timing"], str(path)),
            bitstream=str(values["bitstream"]),
            build=None if build is None else BuildRecord(**{field.name: build[field.name] for field in fields(BuildRecord)}),
            controller=None if controller is None else ControllerSetup.from_json(controller, str(path)),
            network=None if network is None else Network.from_json(network, str(path)),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path}: not the description of a bitstream: {type(error).__name__}: {error}") from None
    if Path(package.bitstream).name != bitstream.name:
        raise ConfigError(f"{path}: describes {package.bitstream}, and not {bitstream.name}")
    return package


def check_package(bitstream: Path) -> Package:
    """The description of a bitstream, its checksum compared. Raises `DeviceError` if the file is another than was built."""
    package = read_package(bitstream)
    if package.build is None:
        raise ConfigError(f"{package_path(bitstream)}: does not say what came of a build")
    found = checksum(bitstream)
    if found != package.build.sha256:
        raise DeviceError(
            f"{bitstream}: damaged, or another file: its SHA-256 sum is {found}; "
            f"{package_path(bitstream)} says {package.build.sha256}"
        )
    return package
