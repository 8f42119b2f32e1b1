"""What a board is: one YAML file that drivers, build scripts and servers read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vta.boards.fpga import Fpga, read_fpga
from vta.boards.reader import Reader
from vta.config.hardware import HardwareConfig
from vta.config.targets import TARGETS
from vta.errors import ConfigError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.files.yaml_file import parse_yaml
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = [
    "DRIVERS",
    "FAMILIES",
    "REGISTER_MAPS",
    "Board",
    "Capacity",
    "Design",
    "MemoryWindow",
    "board_from_yaml",
    "load_board",
]

DRIVERS = ("pynq", "de10nano", "link")
FAMILIES = ("zynq-7000", "zynq-ultrascale+", "cyclone-v", "ecp5")
REGISTER_MAPS: dict[str, tuple[str, ...]] = {
    "core": ("core",),
    "vcr": ("core",),
    "hls": ("fetch", "load", "compute", "store"),
}
"""Each register map, and the blocks of registers that it needs an address for."""

_PAGE = 4096
_MOST_CELLS = 100_000_000
_ADDRESSES = 1 << 32


@dataclass(frozen=True)
class MemoryWindow:
    """The memory that CPU and accelerator share."""

    start: int
    """First physical byte address, as the CPU sees it."""
    end: int
    """First physical byte address after it."""
    device_offset: int = 0
    """What is added to a physical address to make it the accelerator's; a bridge may lie in between."""
    allocation_bytes: int = 0
    """Largest single allocation; 0: no limit of its own."""

    @property
    def device_start(self) -> int:
        """First byte address as the accelerator sees it."""
        return self.start + self.device_offset

    @property
    def device_end(self) -> int:
        """First byte address after it as the accelerator sees it."""
        return self.end + self.device_offset

    @property
    def nbytes(self) -> int:
        """Size of the window."""
        return self.end - self.start


@dataclass(frozen=True)
class Capacity:
    """What the FPGA has."""

    luts: int
    """Look-up tables of 6 inputs (Xilinx) or 4 (ECP5), or adaptive logic modules (Cyclone V)."""
    dsp: int
    """DSP slices or blocks, or multipliers of 18 x 18 bits (ECP5)."""
    block_memories: int
    """Of 36 Kbit (Xilinx), 18 Kbit (ECP5), or 10 Kbit (Cyclone V)."""
    ultra_rams: int = 0
    """Of 288 Kbit."""


@dataclass(frozen=True)
class Design:
    """What a bitstream of one kind makes of the board."""

    name: str
    registers: str
    """Its register map, a key of `REGISTER_MAPS`."""
    target: str
    """The value of TARGET whose capabilities it has."""
    clock_mhz: float
    bus_bits: int
    coherent: bool
    """The CPU's caches see what the accelerator writes, and it sees what lies in them."""
    bases: Mapping[str, int]
    """Physical address of each block of registers."""
    span: int
    """Bytes of each block."""
    bitstream: str
    """File of the bitstream in a directory of them; ``{bitstream}`` and ``{version}`` stand for those of a config."""

    def bitstream_name(self, hw: HardwareConfig) -> str:
        """The file that holds this design for `hw`."""
        return self.bitstream.format(bitstream=hw.bitstream, version=hw.hw_version)

    def hardware(self, hw: HardwareConfig) -> HardwareConfig:
        """`hw` as this design implements it."""
        return replace(hw, target=self.target)


@dataclass(frozen=True)
class Board:
    """One kind of board."""

    name: str
    driver: str
    """How programs reach it, one of `DRIVERS`."""
    part: str
    """The FPGA, as its vendor's tools name it."""
    family: str
    memory: MemoryWindow
    cache_line_bytes: int
    """Of the CPU's outermost cache."""
    default: str
    """The design that is meant if none is named."""
    designs: Mapping[str, Design]
    source: str
    """The file that this was read from."""
    capacity: Capacity | None = None
    """Of its FPGA, where the description says."""
    fpga: Fpga | None = None
    """How its FPGA is connected, where it stands alone: what a bitstream is built from here."""

    def core_design(self, name: str = "") -> Design:
        """The design called `name`, or else that of this package's core: the default if it is one, or the first.

        Raises `ConfigError` if there is none.
        """
        if name or self.designs[self.default].registers == "core":
            return self.design(name)
        for design in self.designs.values():
            if design.registers == "core":
                return design
        raise ConfigError(f"{self.source}: board {self.name} has none of this package's core; it has {', '.join(self.designs)}")

    def design(self, name: str = "") -> Design:
        """The design called `name`, or the default. Raises `ConfigError` listing the designs if there is none of the name."""
        chosen = name or self.default
        if chosen not in self.designs:
            raise ConfigError(f"{self.source}: no design {shown(chosen)}; board {self.name} has {', '.join(self.designs)}")
        return self.designs[chosen]


def load_board(path: Path) -> Board:
    """Read the description of a board: YAML, or JSON, which takes no package to read.

    Raises `ConfigError` naming file, field, value and what is allowed, if it is not one.
    """
    return board_from_yaml(read_text(path, ConfigError), str(path))


def board_from_yaml(text: str, source: str) -> Board:
    """The board that a YAML text describes; `source` names the file in errors. Raises like `load_board`."""
    values = _parse(text, source)
    if not isinstance(values, dict):
        raise ConfigError(f"{source}: a mapping of fields is needed, not {type(values).__name__}")
    reader = Reader(values, source)
    reader.check_names(
        ("name", "driver", "part", "family", "memory", "cache_line_bytes", "default", "designs"), ("capacity", "fpga")
    )
    name = reader.text("name")
    if not name.replace("-", "").isalnum() or name != name.lower():
        raise reader.fail("name", "lower-case letters, digits and hyphens")
    given = reader.nested("designs")
    if not given.values:
        raise reader.fail("designs", "one design or more")
    driver = reader.choice("driver", DRIVERS)
    if driver == "link" and "fpga" not in values:
        raise ConfigError(f"{source}: field fpga is missing; a board with the driver link needs it")
    board = Board(
        name=name,
        driver=driver,
        part=reader.text("part"),
        family=reader.choice("family", FAMILIES),
        memory=_memory(reader.nested("memory")),
        cache_line_bytes=reader.integer("cache_line_bytes", "16, 32, 64, 128", lambda value: value in (16, 32, 64, 128)),
        default=reader.choice("default", tuple(map(str, given.values))),
        designs={str(design): _design(str(design), given.nested(design)) for design in given.values},
        source=source,
        capacity=_capacity(reader.nested("capacity")) if "capacity" in values else None,
        fpga=read_fpga(reader.nested("fpga")) if "fpga" in values else None,
    )
    inside = 0 if board.fpga is None else board.fpga.block_memory_bytes
    if inside and inside != board.memory.nbytes:
        raise ConfigError(f"{source}: block_memory_bytes = {inside} in fpga; memory has {board.memory.nbytes} bytes")
    return board


def _capacity(reader: Reader) -> Capacity:
    reader.check_names(("luts", "dsp", "block_memories"), ("ultra_rams",))

    def count(name: str, default: int | None = None) -> int:
        return reader.integer(name, f"0 to {_MOST_CELLS}", lambda value: 0 <= value <= _MOST_CELLS, default)

    return Capacity(count("luts"), count("dsp"), count("block_memories"), count("ultra_rams", 0))


def _memory(reader: Reader) -> MemoryWindow:
    reader.check_names(("start", "end"), ("device_offset", "allocation_bytes"))

    def aligned(value: int) -> bool:
        return 0 <= value <= _ADDRESSES and value % _PAGE == 0

    pages = f"multiples of {_PAGE:#x} up to {_ADDRESSES:#x}"
    start = reader.integer("start", pages, aligned)
    end = reader.integer("end", f"{pages}, above start = {start:#x}", lambda value: aligned(value) and value > start)
    below = f"{pages} that keep start and end inside 32-bit addresses"
    offset = reader.integer(
        "device_offset",
        below,
        lambda value: value % _PAGE == 0 and start + value >= 0 and end + value <= _ADDRESSES,
        default=0,
    )
    largest = reader.integer("allocation_bytes", f"{_PAGE} and more", lambda value: value >= _PAGE, default=0)
    return MemoryWindow(start, end, offset, largest)


def _design(name: str, reader: Reader) -> Design:
    reader.check_names(
        ("registers", "target", "clock_mhz", "bus_bits", "coherent", "bases", "bitstream"),
        ("span",),
    )
    registers = reader.choice("registers", tuple(REGISTER_MAPS))
    span = reader.integer(
        "span", "4096 to 65536, a power of two", lambda value: 4096 <= value <= 65536 and value & (value - 1) == 0, default=4096
    )
    bases = reader.nested("bases")
    bases.check_names(REGISTER_MAPS[registers])
    places = f"multiples of {span:#x} below {_ADDRESSES:#x}"
    addresses = {
        block: bases.integer(block, places, lambda value: 0 <= value <= _ADDRESSES - span and value % span == 0)
        for block in REGISTER_MAPS[registers]
    }
    if len(set(addresses.values())) < len(addresses):
        raise ConfigError(f"{bases.place}: two blocks have one address; allowed: addresses that differ by {span:#x} or more")
    return Design(
        name=name,
        registers=registers,
        target=reader.choice("target", tuple(TARGETS)),
        clock_mhz=reader.number("clock_mhz", 1, 1000),
        bus_bits=reader.integer("bus_bits", "64, 128, 256, 512", lambda value: value in (64, 128, 256, 512)),
        coherent=reader.boolean("coherent"),
        bases=addresses,
        span=span,
        bitstream=_pattern(reader),
    )


def _pattern(reader: Reader) -> str:
    pattern = reader.text("bitstream")
    allowed = "a relative path with {bitstream}, and {version} where that matters"
    try:
        example = pattern.format(bitstream="b", version="v")
    except (KeyError, IndexError, ValueError):
        raise reader.fail("bitstream", allowed) from None
    if "{bitstream}" not in pattern or Path(example).is_absolute() or ".." in Path(example).parts:
        raise reader.fail("bitstream", allowed)
    return pattern


def _parse(text: str, source: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            pass  # YAML may start like that, too.
        else:
            return parse_json(text, source, ConfigError)
    try:
        return parse_yaml(text, source, ConfigError)
    except ImportError:
        raise ConfigError(
            f"{source}: boards are described in YAML: install the extra boards (pip install 'vta[boards]')"
        ) from None
