"""A system without its board: its own RTL in simulation, behind the links that its driver uses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.sources import hardware_digest
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.door_register import BYTE_VALID, LAST_WORD, PORT_SHIFT, WORD_VALID, Door
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.verilator.build import Core, cached_library
from vta.hardware.verilator.library import Stalls, VerilatedCore

__all__ = ["SimulatedSystem"]

_CLOCK_HZ = 1_000_000
"""Slower than any board, so that the bridge's patience ends soon."""
_QUIET_CYCLES = 4000
"""After so many cycles without a byte the system has said all that it has to say, for now; a run takes as long or longer."""
_WORD_BYTES = 4


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
        network: str = "",
    ) -> None:
        """`dram` gives the Verilog of all, with a memory controller and its chips, instead of the contract's memory.

        `network` is the Verilog of the network's cores (`vta.bitstream.ethernet.packets_verilog`), for a system that has one.
        """
        kind = MemoryKind.BLOCK if dram is None else MemoryKind.DRAM
        parameters = SystemParameters(_CLOCK_HZ, memory_bytes, kind, bool(network))
        self.memory = np.zeros(memory_bytes if dram is None else 0, np.uint8)
        self._limit_cycles = limit_cycles
        self._patience_cycles = parameters.patience_cycles + 1

        def make() -> Core:
            from vta.hardware.system.door import door_verilog

            system = door_verilog(hw, timing, parameters) if dram is None else dram(parameters)
            return Core(f"{system}\n{network}", timing.bus_bytes)

        cores = hashlib.sha256(network.encode()).hexdigest()
        library = cached_library([repr(hw), repr(timing), repr(parameters), cores, hardware_digest()], make)
        self._core = VerilatedCore(library, self.memory, timing, stalls)

    def send(self, data: bytes) -> None:
        """See `ByteLink.send`."""
        for byte in data:
            self._core.write(Door.BYTE, byte)

    def receive(self, nbytes: int) -> bytes:
        """See `ByteLink.receive`."""
        return bytes(self._byte() for _ in range(nbytes))

    def settle(self) -> bytes:
        """What the system says until it is quiet."""
        said = bytearray()
        while self._core.run(_QUIET_CYCLES):
            said.append(self._core.read(Door.BYTE) & ~BYTE_VALID)
        return bytes(said)

    def pass_time(self) -> None:
        """Let the bridge lose its patience with a command that does not go on."""
        self._core.run(self._patience_cycles)

    @property
    def cycles(self) -> int:
        """Since the reset."""
        return self._core.observed().cycles

    def put_packet(self, data: bytes, port: int) -> None:
        """Hand a packet of UDP that comes from `port` to the network's cores."""
        self._core.write(Door.SENDER, len(data) | port << PORT_SHIFT)
        words = [int.from_bytes(data[first : first + _WORD_BYTES], "little") for first in range(0, len(data), _WORD_BYTES)]
        for word in words[:-1]:
            self._core.write(Door.WORD, word)
        self._core.write(Door.LAST, words[-1])

    def take_packet(self, cycles: int) -> tuple[bytes, int] | None:
        """The next packet that the network's cores send, and the port it goes to; None if none begins within `cycles`."""
        data, state = bytearray(), 0
        while not state & LAST_WORD:
            if not self._core.run(self._limit_cycles if data else cycles):
                return None
            state = self._core.read(Door.WORD)
            if not state & WORD_VALID:
                return None
            data += self._core.read(Door.LAST).to_bytes(_WORD_BYTES, "little")
        return bytes(data), state >> PORT_SHIFT

    def close(self) -> None:
        """See `ByteLink.close`."""
        self._core.close()

    def _byte(self) -> int:
        if not self._core.run(self._limit_cycles):
            raise TimeoutError(f"the system says nothing for {self._limit_cycles} cycles")
        return self._core.read(Door.BYTE) & ~BYTE_VALID
