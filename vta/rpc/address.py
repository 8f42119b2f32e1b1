"""Addresses of trackers and servers: HOST:PORT."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from vta.errors import UsageError

__all__ = ["Address", "is_loopback", "parse_address"]

_WILDCARDS = ("", "0.0.0.0", "::")


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
    if not colon or not host or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 1 << 16:
        raise UsageError(f"{text!r} is not an address; write HOST:PORT, e.g. 127.0.0.1:9190, with an IPv6 host in brackets")
    return Address(host, int(port))


def is_loopback(host: str) -> bool:
    """Whether nobody outside this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
