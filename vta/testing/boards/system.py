"""A system without its board: its own RTL in simulation, behind the link that its driver uses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import DeviceError
from vta.hardware.sources import hardware_digest
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.door_register import BYTE_VALID
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.verilator.build import Core, cached_library
from vta.hardware.verilator.library import Stalls, VerilatedCore

__all__ = ["LinkServer", "SimulatedSystem"]

_CLOCK_HZ = 1_000_000
"""Slower than any board, so that the bridge's patience ends soon."""
_QUIET_CYCLES = 4000
"""After so many cycles without a byte the system has said all that it has to say, for now; a run takes as long or longer."""
_CHUNK_BYTES = 1 << 16


class SimulatedSystem:
    """The system of `hw` on the bus of `timing`, with `memory_bytes` of the timing contract's memory. A `ByteLink`.

    Time passes as bytes move: `receive` lets at most `limit_cycles` pass for a byte. The first of a kind is compiled, which takes
    a minute or two. Raises `DeviceError` if a tool is missing.
    """

    def __init__(
        self,
        hw: HardwareConfig,
        timing: TimingParameters,
        memory_bytes: int,
        stalls: Stalls | None = None,
        limit_cycles: int = 1 << 20,
        dram: Callable[[SystemParameters], str] | None = None,
    ) -> None:
        """`dram` gives the Verilog of all, with a memory controller and its chips, instead of the contract's memory."""
        kind = MemoryKind.BLOCK if dram is None else MemoryKind.DRAM
        parameters = SystemParameters(_CLOCK_HZ, memory_bytes, kind)
        self.memory = np.zeros(memory_bytes if dram is None else 0, np.uint8)
        self._limit_cycles = limit_cycles
        self._patience_cycles = parameters.patience_cycles + 1

        def make() -> Core:
            from vta.hardware.system.door import door_verilog

            return Core(door_verilog(hw, timing, parameters) if dram is None else dram(parameters), timing.bus_bytes)

        library = cached_library([repr(hw), repr(timing), repr(parameters), hardware_digest()], make)
        self._core = VerilatedCore(library, self.memory, timing, stalls)

    def send(self, data: bytes) -> None:
        """See `ByteLink.send`."""
        for byte in data:
            self._core.write(0, byte)

    def receive(self, nbytes: int) -> bytes:
        """See `ByteLink.receive`."""
        return bytes(self._byte() for _ in range(nbytes))

    def settle(self) -> bytes:
        """What the system says until it is quiet."""
        said = bytearray()
        while self._core.run(_QUIET_CYCLES):
            said.append(self._core.read(0) & ~BYTE_VALID)
        return bytes(said)

    def pass_time(self) -> None:
        """Let the bridge lose its patience with a command that does not go on."""
        self._core.run(self._patience_cycles)

    def close(self) -> None:
        """See `ByteLink.close`."""
        self._core.close()

    def _byte(self) -> int:
        if not self._core.run(self._limit_cycles):
            raise TimeoutError(f"the system says nothing for {self._limit_cycles} cycles")
        return self._core.read(0) & ~BYTE_VALID


class LinkServer:
    """Serves the link of `system` on a loopback port, to one host at a time, in a thread."""

    def __init__(self, system: SimulatedSystem, port: int = 0) -> None:
        self._system = system
        self._connection: socket.socket | None = None
        self._listener = socket.create_server(("127.0.0.1", port))
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
