"""Addresses of trackers and servers: HOST:PORT."""

from __future__ import annotations

import ipaddress
import re

from vta.errors import UsageError
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["Address", "is_host", "is_loopback", "parse_address"]

_PORT_DIGITS = 5
_WILDCARDS = ("", "0.0.0.0", "::")
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")


@dataclass(frozen=True)
class Address:
    """Where a tracker or a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        """Whether it means all addresses of a machine."""
        return self.host in _WILDCARDS


def parse_address(text: str) -> Address:
    """Parse ``HOST:PORT``, an IPv6 host in brackets. Raises `UsageError` with the text if it is not of that form."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    digits = port.isascii() and port.isdecimal() and len(port) <= _PORT_DIGITS
    if not colon or not is_host(host) or not digits or not 0 < int(port) < 1 << 16:
        raise UsageError(f"{shown(text)} is not an address; write HOST:PORT, e.g. 127.0.0.1:9190, with an IPv6 host in brackets")
    return Address(host, int(port))


def is_host(text: str) -> bool:
    """Whether `text` is an IP address, or can be the name of a host."""
    if _NAME.fullmatch(text):
        return True
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether nobody outside this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
