"""What operations cost in energy and area: the figures that reports of energy and area are made from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vta.errors import ConfigError
from vta.files.json_file import read_object
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["Technology", "load_technology"]

_KIB = 1024
_SRAM_REFERENCE_BYTES = 8 * _KIB
_SRAM_REFERENCE_BITS = 64


@dataclass(frozen=True)
class Technology:
    """Energy in pJ and area in um2 of a silicon process; the defaults are those of a 45 nm one at 0.9 V.

    Energies, and areas of arithmetic: M. Horowitz, "Computing's energy problem", ISSCC 2014; DRAM is the middle of its 1.3 to
    2.6 nJ for 64 bits. Area of memory: the 0.346 um2 cell of a 45 nm process (K. Mistry et al., IEDM 2007), at half of an
    array's area. Raises `ConfigError` if a value is no positive number.
    """

    name: str = "45 nm, 0.9 V"
    multiply_8_pj: float = 0.2
    """An 8-bit by 8-bit integer product."""
    multiply_32_pj: float = 3.1
    add_8_pj: float = 0.03
    add_32_pj: float = 0.1
    sram_pj: float = 10.0
    """An access of 64 bits to a memory of 8 KiB; in proportion to the bits, and to the square root of the size."""
    dram_byte_pj: float = 243.75
    multiply_8_um2: float = 282.0
    multiply_32_um2: float = 3495.0
    add_8_um2: float = 36.0
    add_32_um2: float = 137.0
    sram_bit_um2: float = 0.69

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "name":
                if not isinstance(value, str) or not value:
                    raise ConfigError(f"technology name = {shown(value)}; allowed: a string that is not empty")
            elif isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise ConfigError(f"technology {field.name} = {shown(value)}; allowed: numbers above 0")

    def multiply_pj(self, bits: tuple[int, int]) -> float:
        """A product of two integers of so many bits."""
        return _between(math.prod(bits) / 64, self.multiply_8_pj, self.multiply_32_pj, 16)

    def multiply_um2(self, bits: tuple[int, int]) -> float:
        """A multiplier of two integers of so many bits."""
        return _between(math.prod(bits) / 64, self.multiply_8_um2, self.multiply_32_um2, 16)

    def add_pj(self, bits: int) -> float:
        """A sum of two integers of so many bits; a minimum, maximum or shift counts as one."""
        return _between(bits / 8, self.add_8_pj, self.add_32_pj, 4)

    def add_um2(self, bits: int) -> float:
        """An adder of two integers of so many bits."""
        return _between(bits / 8, self.add_8_um2, self.add_32_um2, 4)

    def sram_access_pj(self, row_bytes: float, size_bytes: int) -> float:
        """Read or write `row_bytes` of a memory of `size_bytes`."""
        return self.sram_pj * row_bytes * 8 / _SRAM_REFERENCE_BITS * math.sqrt(size_bytes / _SRAM_REFERENCE_BYTES)

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], source: str = "technology") -> Technology:
        """Build from a JSON object; keys left out have their defaults. `source` names the file in errors."""
        allowed = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(allowed))
        if unknown:
            raise ConfigError(f"{source}: unknown key {unknown[0]}; allowed keys: {', '.join(allowed)}")
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{source}: {error}") from None


def load_technology(path: Path) -> Technology:
    """Read figures from a JSON file; keys left out have their defaults.

    Raises `ConfigError` naming file, key, value and what is allowed.
    """
    values = read_object(path)
    return Technology.from_json(values, str(path))


def _between(size: float, small: float, large: float, ratio: float) -> float:
    """The power law through `small` at size 1 and `large` at size `ratio`."""
    return float(small * size ** (math.log(large / small) / math.log(ratio)))
