"""A line to a board: bytes there and back, over a serial port or TCP."""

from __future__ import annotations

import socket
from typing import Any, Protocol

from vta.errors import DeviceError

__all__ = ["ByteLink", "SerialLink", "SocketLink"]

_SECONDS = 10.0
"""As long as anything may take: the longest answer to a command takes some milliseconds."""


class ByteLink(Protocol):
    """Bytes in order, none of them lost. Both ways raise `OSError` if the other end is gone, or nothing comes in time."""

    def send(self, data: bytes) -> None:
        """Send all of `data`."""

    def receive(self, nbytes: int) -> bytes:
        """Wait for `nbytes`."""

    def close(self) -> None:
        """Let go of the line."""


class SocketLink:
    """A line through TCP: a board's simulation, or a serial line that another machine serves."""

    def __init__(self, host: str, port: int) -> None:
        """Raises `DeviceError` if nobody listens there."""
        try:
            self._socket = socket.create_connection((host, port), _SECONDS)
        except OSError as error:
            raise DeviceError(f"{host}:{port}: no link: {error.strerror or error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """See `ByteLink.send`."""
        self._socket.sendall(data)

    def receive(self, nbytes: int) -> bytes:
        """See `ByteLink.receive`."""
        parts, left = [], nbytes
        while left:
            part = self._socket.recv(left)
            if not part:
                raise OSError("the other end of the link is gone")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """See `ByteLink.close`."""
        self._socket.close()


class SerialLink:
    """A serial port of this machine."""

    def __init__(self, path: str, baud: int) -> None:
        """Raises `DeviceError` if there is none, or the package for it is missing."""
        try:
            import serial
        except ImportError:
            raise DeviceError("serial lines need the package pyserial; install it with: pip install 'vta[fpga]'") from None
        try:
            self._port: Any = serial.Serial(path, baud, timeout=_SECONDS, write_timeout=_SECONDS)
        except (OSError, ValueError) as error:
            raise DeviceError(f"{path}: no serial line: {error}") from None
        self._port.reset_input_buffer()

    def send(self, data: bytes) -> None:
        """See `ByteLink.send`."""
        self._port.write(data)

    def receive(self, nbytes: int) -> bytes:
        """See `ByteLink.receive`."""
        data = bytes(self._port.read(nbytes))
        if len(data) != nbytes:
            raise TimeoutError(f"{len(data)} bytes of {nbytes} came within {_SECONDS:g} s")
        return data

    def close(self) -> None:
        """See `ByteLink.close`."""
        self._port.close()
