"""A board's Ethernet: the pins of the chip that drives its cable, and what the board is called on the network."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["ETHERBONE_PORT", "ETHERNET_SIGNALS", "Network", "check_ip", "check_mac"]

ETHERNET_SIGNALS = {"clock_tx": 1, "clock_rx": 1, "rst_n": 1, "rx_ctl": 1, "rx_data": 4, "tx_ctl": 1, "tx_data": 4}
"""The signals of RGMII that have pins, and how many each has."""
ETHERBONE_PORT = 1234
"""The port of UDP that the board listens to."""

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_MULTICAST = 1


@dataclass(frozen=True)
class Network:
    """What a board is called on the network."""

    ip: str
    """Its address of IPv4, as 192.168.1.50."""
    mac: str
    """Its Ethernet address, as 10:e2:d5:00:00:01."""
    port: int = ETHERBONE_PORT

    def to_json(self) -> dict[str, Any]:
        """The names as a JSON object."""
        return {"ip": self.ip, "mac": self.mac, "port": self.port}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], place: str) -> Network:
        """Read what `to_json` wrote. Raises `ConfigError` naming `place`, the value, and what is allowed."""
        try:
            return cls(check_ip(str(values["ip"])), check_mac(str(values["mac"])), int(values["port"]))
        except (LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"{place}: network: {error}") from None


def check_ip(text: str) -> str:
    """`text` if a board can have that address. Raises `ValueError` saying what is allowed if not."""
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        address = None
    if (
        address is None
        or address.is_multicast
        or address.is_unspecified
        or address.is_loopback
        or int(address) & 0xFF in (0, 255)
    ):
        raise ValueError(f"{text!r} is no address of a board; allowed: one of IPv4, as 192.168.1.50, that ends in 1 to 254")
    return str(address)


def check_mac(text: str) -> str:
    """`text` in lower case if a board can have that Ethernet address. Raises `ValueError` saying what is allowed if not."""
    mac = text.lower()
    if not _MAC.fullmatch(mac) or int(mac[:2], 16) & _MULTICAST or not int(mac.replace(":", ""), 16):
        raise ValueError(f"{text!r} is no Ethernet address of a board; allowed: six bytes, as 10:e2:d5:00:00:01, the first even")
    return mac
