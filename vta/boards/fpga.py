"""What a system without a processor needs to know of a board: its FPGA and the pins of clock, link and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from vta.boards.ethernet import ETHERNET_SIGNALS, Network, check_ip, check_mac
from vta.boards.reader import Reader
from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["DRAM_SIGNALS", "Dram", "Ethernet", "Fpga", "Pin", "Pins", "read_fpga"]

DRAM_SIGNALS = {"a": 0, "ba": 0, "ras_n": 1, "cas_n": 1, "we_n": 1, "dm": 0, "dq": 0, "dqs_p": 0, "clk_p": 1, "cke": 1, "odt": 1}
"""The signals of a DRAM that have pins, and how many each has; 0: as many as the chips have."""

_DEVICES = ("12k", "25k", "45k", "85k", "um-25k", "um-45k", "um-85k", "um5g-25k", "um5g-45k", "um5g-85k")
"""Devices of the family ECP5, as the place-and-route names them."""
_FASTER = "um5g"
"""What the names of those of an ECP5-5G begin with."""
_PIN = re.compile(r"[A-Z]{1,2}[1-9][0-9]?")
_LANE_BITS = 8
_LARGEST_MEMORY = 0xF0000000
_SMALLEST_MEMORY = 1 << 12
_RGMII_DELAY_NS = 2.0
_MOST_DELAY_NS = 3.1
"""Of the FPGA's cells: 127 steps of 25 ps."""
_WORD = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Pins:
    """The pins of a signal, from its lowest bit on."""

    pins: tuple[str, ...]
    io_type: str
    """As the vendor's constraints name it, for example LVCMOS33."""
    options: Mapping[str, str]
    """What else the constraints say of the pins, for example SLEWRATE."""


@dataclass(frozen=True)
class Pin:
    """One pin."""

    pin: str
    io_type: str


@dataclass(frozen=True)
class Dram:
    """Chips of DDR3."""

    module: str
    """Their name in LiteDRAM, for example MT41K256M16."""
    signals: Mapping[str, Pins]

    @property
    def lanes(self) -> int:
        """Groups of 8 data lines."""
        return len(self.signals["dq"].pins) // _LANE_BITS


@dataclass(frozen=True)
class Ethernet:
    """A chip that drives a cable at 1 Gb/s, joined by RGMII."""

    signals: Mapping[str, Pins]
    tx_delay_ns: float
    """Of the clock that is sent, behind its data."""
    rx_delay_ns: float
    """Of the data that is received; 0 where the chip delays the clock."""
    network: Network
    """What the board is called, unless a build says otherwise."""


@dataclass(frozen=True)
class Fpga:
    """The FPGA and what it is connected to."""

    device: str
    package: str
    speed: int
    loader: str
    """The board's name for openFPGALoader; empty: it has none."""
    clock: Pin
    clock_mhz: float
    """Of the oscillator."""
    reset: Pin | None
    """Low: reset."""
    received: str
    """The pin with what the host sends."""
    sent: str
    serial_io_type: str
    baud: int
    dram: Dram | None
    block_memory_bytes: int
    """Of memory inside the FPGA, where there is no DRAM."""
    ethernet: Ethernet | None = None

    @property
    def speed_grade(self) -> str:
        """As its delays are known: an ECP5-5G has one of its own."""
        return f"5G-{self.speed}" if self.device.startswith(_FASTER) else str(self.speed)

    @property
    def named_signals(self) -> dict[str, Pins]:
        """The signals of memory and network, by the names of the top module's ports."""
        named = {f"ddram_{name}": pins for name, pins in (self.dram.signals.items() if self.dram else ())}
        return named | {f"eth_{name}": pins for name, pins in (self.ethernet.signals.items() if self.ethernet else ())}


_SPEEDS, _SPEEDS_OF_5G = (6, 7, 8), (8,)
"""Speed grades of an ECP5, and of an ECP5-5G (Lattice FPGA-DS-02012, ordering information)."""


def _speed(reader: Reader) -> int:
    device = str(reader.values.get("device"))
    speeds = _SPEEDS_OF_5G if device.startswith(_FASTER) else _SPEEDS
    return reader.integer("speed", ", ".join(map(str, speeds)), lambda value: value in speeds)


def read_fpga(reader: Reader) -> Fpga:
    """Read the section of a board's description. Raises `ConfigError` naming field, value and what is allowed."""
    reader.check_names(
        ("device", "package", "speed", "clock", "serial"), ("loader", "reset", "dram", "block_memory_bytes", "ethernet")
    )
    if ("dram" in reader.values) == ("block_memory_bytes" in reader.values):
        raise ConfigError(f"{reader.place}: one of the fields dram and block_memory_bytes is needed")
    clock, serial = reader.nested("clock"), reader.nested("serial")
    clock.check_names(("pin", "io_type", "mhz"))
    serial.check_names(("received", "sent", "io_type", "baud"))
    fpga = Fpga(
        device=reader.choice("device", _DEVICES),
        package=_word(reader, "package"),
        speed=_speed(reader),
        loader=_word(reader, "loader") if "loader" in reader.values else "",
        clock=_pin(clock),
        clock_mhz=clock.number("mhz", 8, 400),
        reset=_reset(reader.nested("reset")) if "reset" in reader.values else None,
        received=_name(serial, "received"),
        sent=_name(serial, "sent"),
        serial_io_type=_word(serial, "io_type"),
        baud=serial.integer("baud", "9600 to 12000000", lambda value: 9600 <= value <= 12_000_000),
        dram=_dram(reader.nested("dram")) if "dram" in reader.values else None,
        block_memory_bytes=_block_memory(reader),
        ethernet=_ethernet(reader.nested("ethernet")) if "ethernet" in reader.values else None,
    )
    _check_distinct(fpga, reader.place)
    return fpga


def _block_memory(reader: Reader) -> int:
    allowed = f"powers of two from {_SMALLEST_MEMORY}"
    return reader.integer(
        "block_memory_bytes", allowed, lambda value: _SMALLEST_MEMORY <= value < _LARGEST_MEMORY and not value & (value - 1), 0
    )


def _word(reader: Reader, name: str) -> str:
    value = reader.text(name)
    if not _WORD.fullmatch(value):
        raise reader.fail(name, "letters, digits and underscores")
    return value


def _name(reader: Reader, name: str) -> str:
    value = reader.text(name)
    if not _PIN.fullmatch(value):
        raise reader.fail(name, "the name of a pin, as K23 or AA2")
    return value


def _pin(reader: Reader) -> Pin:
    return Pin(_name(reader, "pin"), _word(reader, "io_type"))


def _reset(reader: Reader) -> Pin:
    reader.check_names(("pin", "io_type"))
    return _pin(reader)


def _dram(reader: Reader) -> Dram:
    reader.check_names(("module", "signals"))
    signals = reader.nested("signals")
    signals.check_names(tuple(DRAM_SIGNALS))
    dram = Dram(_word(reader, "module"), {name: _pins(signals.nested(name), count) for name, count in DRAM_SIGNALS.items()})
    data, lanes = dram.signals["dq"].pins, dram.lanes
    if lanes not in (1, 2, 4, 8) or len(data) % _LANE_BITS:
        raise ConfigError(f"{signals.place}: dq has {len(data)} pins; allowed: 8, 16, 32, 64")
    for name in ("dm", "dqs_p"):
        if len(dram.signals[name].pins) != lanes:
            raise ConfigError(f"{signals.place}: {name} has {len(dram.signals[name].pins)} pins; dq needs {lanes}")
    return dram


def _ethernet(reader: Reader) -> Ethernet:
    reader.check_names(("signals", "ip", "mac"), ("tx_delay_ns", "rx_delay_ns"))
    signals = reader.nested("signals")
    signals.check_names(tuple(ETHERNET_SIGNALS))
    try:
        network = Network(check_ip(reader.text("ip")), check_mac(reader.text("mac")))
    except ValueError as error:
        raise ConfigError(f"{reader.place}: {error}") from None
    return Ethernet(
        {name: _pins(signals.nested(name), count) for name, count in ETHERNET_SIGNALS.items()},
        tx_delay_ns=reader.number("tx_delay_ns", 0, _MOST_DELAY_NS) if "tx_delay_ns" in reader.values else _RGMII_DELAY_NS,
        rx_delay_ns=reader.number("rx_delay_ns", 0, _MOST_DELAY_NS) if "rx_delay_ns" in reader.values else _RGMII_DELAY_NS,
        network=network,
    )


def _pins(reader: Reader, count: int) -> Pins:
    reader.check_names(("pins", "io_type"), ("options",))
    names = tuple(reader.text("pins").split())
    if not names or any(not _PIN.fullmatch(name) for name in names) or count not in (0, len(names)):
        raise reader.fail("pins", f"{count or 'names'} of pins with spaces between, as K23 AA2")
    return Pins(names, _word(reader, "io_type"), _options(reader))


def _options(reader: Reader) -> Mapping[str, str]:
    if "options" not in reader.values:
        return {}
    given: Mapping[Any, Any] = reader.nested("options").values
    if not all(_WORD.fullmatch(str(part)) for pair in given.items() for part in pair):
        raise reader.fail("options", "words by name, as SLEWRATE: FAST")
    return {str(name): str(value) for name, value in given.items()}


def _check_distinct(fpga: Fpga, place: str) -> None:
    """Refuse a pin that two signals have."""
    users: dict[str, str] = {}
    named = [("clock", fpga.clock.pin), ("serial received", fpga.received), ("serial sent", fpga.sent)]
    named += [("reset", fpga.reset.pin)] if fpga.reset else []
    named += [(_said(name), pin) for name, pins in fpga.named_signals.items() for pin in pins.pins]
    for user, pin in named:
        if pin in users:
            raise ConfigError(f"{place}: pin {pin} is that of {users[pin]} and of {user}; allowed: a pin for each signal")
        users[pin] = user


def _said(port: str) -> str:
    kind, _, name = port.partition("_")
    return f"{'dram' if kind == 'ddram' else 'ethernet'} {name}"
