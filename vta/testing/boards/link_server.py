"""Servers that put a simulated system where its driver looks for a board: behind TCP, and behind UDP. On loopback only."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from vta.errors import DeviceError
from vta.testing.boards.system import SimulatedSystem

__all__ = ["LinkServer", "NetworkServer"]

_LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 1 << 16
_LISTEN_SECONDS = 0.05
_GOES_ON_CYCLES = 8192
"""Cycles that pass after a packet: a system that is asked again and again comes to an end of its run."""
_STEP_CYCLES = 512


class LinkServer:
    """Serves the link of `system` on a loopback port, to one host at a time, in a thread."""

    def __init__(self, system: SimulatedSystem, port: int = 0) -> None:
        self._system = system
        self._connection: socket.socket | None = None
        self._listener = socket.create_server((_LOOPBACK, port))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Stop listening, and let go of the host that is connected."""
        for end in (self._listener, self._connection):
            if end is not None:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self._system.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connection = connection
            with connection, suppress(OSError, DeviceError):
                while data := connection.recv(_CHUNK_BYTES):
                    self._system.send(data)
                    connection.sendall(self._system.settle())


class NetworkServer:
    """Serves the network of `system` on a loopback port of UDP, in a thread."""

    def __init__(self, system: SimulatedSystem, port: int = 0) -> None:
        self._system = system
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((_LOOPBACK, port))
        self.port: int = self._socket.getsockname()[1]
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Stop listening."""
        self._ends.set()
        self._thread.join()
        self._socket.close()
        self._system.close()

    def _serve(self) -> None:
        left = 0
        while not self._ends.is_set():
            self._socket.settimeout(0 if left else _LISTEN_SECONDS)
            with suppress(OSError):
                data, (_, port) = self._socket.recvfrom(_CHUNK_BYTES)
                if data:
                    self._system.put_packet(data, port)
                    left = _GOES_ON_CYCLES
            if left:
                left = max(0, left - _STEP_CYCLES)
                if (answer := self._system.take_packet(_STEP_CYCLES)) is not None:
                    self._socket.sendto(answer[0], (_LOOPBACK, answer[1]))
