"""Links by name."""

from __future__ import annotations

from vta.boards.ethernet import ETHERBONE_PORT
from vta.boards.fpga import Fpga
from vta.devices.link.byte_link import SerialLink, SocketLink
from vta.devices.link.network_words import NetworkWords
from vta.devices.link.serial_words import SerialWords
from vta.devices.link.words import WordLink
from vta.errors import UsageError

__all__ = ["open_link"]

_SERVED = "tcp:"
_PORTS = range(1, 1 << 16)


def open_link(place: str, fpga: Fpga | None) -> WordLink:
    """Open the link to a board of `fpga` that `place` names.

    A path is a serial line. HOST or HOST:PORT is the board itself on a network, if it has Ethernet. With ``tcp:`` before it, and
    for boards without Ethernet, it is a serial line that another machine serves. Raises `UsageError` if `place` is none of
    these, and `DeviceError` if the link cannot be opened.
    """
    if "/" in place:
        return SerialWords(SerialLink(place, fpga.baud if fpga else 0))
    served = place.startswith(_SERVED)
    host, port = _address(place, place.removeprefix(_SERVED))
    if not served and fpga and fpga.ethernet:
        return NetworkWords(host, port)
    return SerialWords(SocketLink(host, port))


def _address(place: str, text: str) -> tuple[str, int]:
    host, colon, digits = text.rpartition(":")
    if not colon:
        host, digits = text, str(ETHERBONE_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not digits.isdecimal() or int(digits) not in _PORTS:
        raise UsageError(
            f"{place!r} is no link; allowed: HOST, HOST:PORT with a port from 1 to 65535, tcp:HOST:PORT, "
            "or the path of a serial line"
        )
    return host, int(digits)
