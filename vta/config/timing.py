"""Parameters of the timing contract (native/TIMING.md): the memory system around the core and the depths of its queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError
from vta.files.json_file import read_object
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["TimingParameters", "load_timing", "timing_of"]

_RANGES = {
    "bus_bits": (64, 512),
    "burst_beats": (1, 256),
    "read_latency": (1, 4096),
    "write_latency": (1, 4096),
    "beat_interval": (1, 64),
    "queue_depth": (2, 65536),
    "load_fifo": (1, 65536),
    "acc_fifo": (1, 65536),
    "fetch_fifo": (1, 65536),
    "load_ahead": (1, 64),
    "store_ahead": (1, 64),
    "token_limit": (1, 65535),
}
_PAGE_BYTES = 4096
_INSTRUCTION_BYTES = 16


@dataclass(frozen=True)
class TimingParameters:
    """What TIMING.md calls by the same names. Raises `ConfigError` if a value is out of range."""

    bus_bits: int = 64
    """Width of the memory data bus."""
    burst_beats: int = 64
    """Longest burst, and the boundary that no burst crosses."""
    read_latency: int = 16
    """Cycles from a read request to its first beat in an idle memory."""
    write_latency: int = 1
    """Cycles from the last beat of a write burst to its response."""
    beat_interval: int = 1
    """Cycles per read beat."""
    queue_depth: int = 512
    """Instructions in each unit's queue."""
    load_fifo: int = 256
    """Read beats buffered by the load unit."""
    acc_fifo: int = 128
    """Read beats buffered by the compute unit's loads."""
    fetch_fifo: int = 128
    """Read beats buffered by the fetch unit."""
    load_ahead: int = 8
    """Incomplete load instructions at most."""
    store_ahead: int = 8
    """Incomplete store instructions at most."""
    token_limit: int = 255
    """Largest count of a token queue."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low, high = _RANGES[field.name]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ConfigError(f"timing parameter {field.name} = {shown(value)}; allowed: integers {low} to {high}")
        for name in ("bus_bits", "burst_beats"):
            if getattr(self, name) & (getattr(self, name) - 1):
                raise ConfigError(f"timing parameter {name} = {getattr(self, name)} is not a power of two")
        if self.burst_beats * self.bus_bytes > _PAGE_BYTES:
            raise ConfigError(
                f"timing parameter burst_beats = {self.burst_beats}: bursts of {self.burst_beats * self.bus_bytes} bytes; "
                f"the limit is {_PAGE_BYTES}"
            )
        if self.bus_bytes * self.fetch_fifo < _INSTRUCTION_BYTES:
            raise ConfigError(
                f"timing parameter fetch_fifo = {self.fetch_fifo} holds no whole instruction with bus_bits = {self.bus_bits}; "
                f"at least {_INSTRUCTION_BYTES // self.bus_bytes} is needed"
            )
        for name in ("load_fifo", "acc_fifo", "fetch_fifo"):
            if getattr(self, name) < self.burst_beats:
                raise ConfigError(
                    f"timing parameter {name} = {getattr(self, name)}; at least burst_beats = {self.burst_beats} is needed"
                )

    @property
    def bus_bytes(self) -> int:
        """Bytes of one beat."""
        return self.bus_bits // 8

    def to_json(self) -> dict[str, int]:
        """The parameters as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], source: str = "timing") -> TimingParameters:
        """Build parameters from a JSON object; keys left out have their defaults. `source` names the file in errors."""
        unknown = set(values) - set(_RANGES)
        if unknown:
            raise ConfigError(f"{source}: unknown key {sorted(unknown)[0]}; allowed keys: {', '.join(_RANGES)}")
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None


def timing_of(hw: HardwareConfig) -> TimingParameters:
    """The default parameters with the bus width of the config's platform."""
    return TimingParameters(bus_bits=hw.platform.bus_bits)


def load_timing(path: Path, hw: HardwareConfig) -> TimingParameters:
    """Read timing parameters from a JSON file; keys left out have the defaults for `hw`.

    Raises `ConfigError` naming file, key, value and what is allowed.
    """
    values = read_object(path)
    return TimingParameters.from_json({"bus_bits": timing_of(hw).bus_bits, **values}, str(path))


assert {field.name for field in fields(TimingParameters)} == set(_RANGES)
