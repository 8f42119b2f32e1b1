"""What a build is of: config, board and options, checked before anything is written."""

from __future__ import annotations

from dataclasses import replace

from vta.bitstream.pll import PllSettings, pll_for
from vta.boards.description import Board, Design
from vta.boards.ethernet import Network, check_ip, check_mac
from vta.boards.fpga import Fpga
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError, UsageError
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.parameters import SystemParameters
from vta.support.dataclass import dataclass

__all__ = ["Plan", "make_plan"]

_LEAST_CYCLES_OF_A_BIT = 4
_LEAST_NETWORK_MHZ = 36
"""A word of 32 bits in each cycle is 1 Gb/s at 31.25 MHz; heads of packets take a few cycles more than they have words."""


@dataclass(frozen=True)
class Plan:
    """One bitstream to build."""

    board: Board
    fpga: Fpga
    design: Design
    hw: HardwareConfig
    timing: TimingParameters
    seed: int
    attempts: int
    """Seeds to try at most until the clock is met."""
    jobs: int
    """Attempts that run at once."""
    network: Network | None
    """What the board is called, where it is built with Ethernet."""

    @property
    def pll(self) -> PllSettings | None:
        """What makes the clock of the oscillator's, where they differ and no memory controller does it."""
        if self.fpga.dram or self.design.clock_mhz == self.fpga.clock_mhz:
            return None
        return pll_for(self.fpga.clock_mhz, self.design.clock_mhz)

    @property
    def parameters(self) -> SystemParameters:
        """What the system has beside the core."""
        kind = MemoryKind.DRAM if self.fpga.dram else MemoryKind.BLOCK
        mhz = self.pll.mhz if self.pll else self.design.clock_mhz
        return SystemParameters(round(mhz * 1e6), self.board.memory.nbytes, kind, self.network is not None)

    @property
    def address_bits(self) -> int:
        """Of a byte in the memory."""
        return (self.board.memory.nbytes - 1).bit_length()

    def check_memory(self, nbytes: int) -> None:
        """Raise `ConfigError` unless the board's chips have `nbytes`, as its description says."""
        if nbytes != self.board.memory.nbytes:
            raise ConfigError(
                f"{self.board.source}: memory has {self.board.memory.nbytes} bytes; by the figures of its chips it is {nbytes}"
            )

    @property
    def file(self) -> str:
        """The bitstream's name."""
        return f"{self.hw.bitstream}.bit"


def make_plan(
    board: Board,
    hw: HardwareConfig,
    *,
    timing: TimingParameters | None = None,
    clock_mhz: float | None = None,
    seed: int = 1,
    attempts: int = 1,
    jobs: int = 1,
    ethernet: bool = False,
    ip: str = "",
    mac: str = "",
) -> Plan:
    """The plan for the core of `hw` on `board`; `clock_mhz`, `ip` and `mac` take the place of what its description says.

    With `ethernet`, or an address, it is reached over the network, too. Raises `UsageError` if the board has no section `fpga`,
    or the bus, the clock or an address does not fit the board.
    """
    if board.fpga is None:
        raise UsageError(f"board {board.name} is built with its vendor's tools: {board.source} has no section fpga")
    design = board.core_design()
    if clock_mhz is not None:
        design = replace(design, clock_mhz=clock_mhz)
    timing = timing or TimingParameters(bus_bits=design.bus_bits)
    if timing.bus_bits != design.bus_bits:
        raise UsageError(f"a bus of {timing.bus_bits} bits; design {design.name} of board {board.name} has {design.bus_bits}")
    if design.clock_mhz * 1e6 < _LEAST_CYCLES_OF_A_BIT * board.fpga.baud:
        raise UsageError(
            f"a clock of {design.clock_mhz:g} MHz is too slow for a serial line of {board.fpga.baud} baud; "
            f"allowed: {_LEAST_CYCLES_OF_A_BIT * board.fpga.baud / 1e6:g} MHz or more"
        )
    network = _network(board, ip, mac) if ethernet or ip or mac else None
    if network is None:
        board = replace(board, fpga=replace(board.fpga, ethernet=None))
    if network and design.clock_mhz < _LEAST_NETWORK_MHZ:
        raise UsageError(
            f"a clock of {design.clock_mhz:g} MHz is too slow for Ethernet at 1 Gb/s; allowed: {_LEAST_NETWORK_MHZ} MHz or more"
        )
    assert board.fpga is not None, "only its Ethernet was left out"
    return Plan(board, board.fpga, design, design.hardware(hw), timing, seed, attempts, jobs, network)


def _network(board: Board, ip: str, mac: str) -> Network:
    """The board's names on the network, or those that are given."""
    ethernet = board.fpga and board.fpga.ethernet
    if not ethernet:
        address = f", and so no address {ip or mac}" if ip or mac else ""
        raise UsageError(f"board {board.name} has no Ethernet{address}", parameters=("ethernet", "ip", "mac"))
    try:
        return replace(ethernet.network, ip=check_ip(ip or ethernet.network.ip), mac=check_mac(mac or ethernet.network.mac))
    except ValueError as error:
        raise UsageError(str(error)) from None
