"""What each target's hardware does with the corner cases of the ISA, as data.

The published implementations of the ISA disagree on several points. The compiler asks this table what it may use;
the verifier refuses a program that uses what its target lacks.
"""

from __future__ import annotations

from enum import IntEnum

from vta.support.dataclass import dataclass

__all__ = ["TARGETS", "Capabilities", "MemoryType", "Platform"]


class MemoryType(IntEnum):
    """The memory_type field of LOAD and STORE."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3
    OUT = 4
    ACC_8BIT = 5
    TABLE = 6


@dataclass(frozen=True)
class Capabilities:
    """What a target implements of the ISA, beyond what all implementations share."""

    multiply: bool
    """ALU MUL works."""
    acc8_load: bool
    """LOAD of memory type ACC_8BIT works."""
    padded_types: frozenset[MemoryType]
    """Memory types whose pads are honoured."""
    uop_load_2d: bool
    """UOP loads honour y_size, x_stride; otherwise x_size words are loaded flat."""
    shift_min: int
    """Smallest shift amount; a negative amount shifts left."""
    shift_max: int
    """Largest shift amount."""
    register_shift_left: bool
    """A negative shift amount that comes from a register (tensor mode) shifts left."""
    immediate_reads_src: bool
    """In immediate mode the first operand is read at the src index, so src must equal dst."""
    uop_depth_limit: int | None
    """Words of uop SRAM where the hardware ignores the config; None where it follows it."""
    empty_loop_runs: bool
    """A loop of zero iterations wraps around and runs; programs must not contain one."""
    store_reads_acc: bool
    """STORE truncates the accumulator row itself; otherwise it reads the OUT buffer, which only GEMM and ALU write."""
    uop_dst_distance: int
    """Within one uop sequence, a dst may repeat only at this distance or more (1: always)."""
    alu_forwarding: bool
    """ALU results may be read by the very next micro-op (no read-after-write hazard in the pipeline)."""
    loops_flattened: bool
    """The pipeline runs on from one loop iteration into the next; otherwise it drains before each."""
    requantize: bool = False
    """The ALU has REQUANTIZE: an option of the config."""
    table: bool = False
    """REQUANTIZE can look its results up in a table: an option of the config."""
    depthwise: bool = False
    """There is DEPTHWISE: an option of the config."""


@dataclass(frozen=True)
class Platform:
    """Figures of the board or shell around the core."""

    device: str
    """FPGA part, or "" where there is none."""
    fabric_mhz: int
    bus_bits: int
    """Width of the memory bus."""

    @property
    def bus_bytes(self) -> int:
        """Bytes of one beat."""
        return self.bus_bits // 8

    @property
    def clock_hz(self) -> int:
        """Clock of the core."""
        return self.fabric_mhz * 1_000_000


_LOADED_TYPES = frozenset({MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC, MemoryType.ACC_8BIT})

_FULL = Capabilities(
    multiply=True,
    acc8_load=True,
    padded_types=_LOADED_TYPES,
    uop_load_2d=True,
    shift_min=-31,
    shift_max=31,
    register_shift_left=True,
    immediate_reads_src=False,
    uop_depth_limit=None,
    empty_loop_runs=False,
    store_reads_acc=False,
    uop_dst_distance=1,
    alu_forwarding=True,
    loops_flattened=True,
)
_HLS = Capabilities(
    multiply=False,
    acc8_load=False,
    padded_types=frozenset({MemoryType.INP, MemoryType.ACC}),
    uop_load_2d=False,
    shift_min=-16,
    shift_max=15,
    register_shift_left=True,
    immediate_reads_src=False,
    uop_depth_limit=None,
    empty_loop_runs=False,
    store_reads_acc=False,
    uop_dst_distance=3,
    alu_forwarding=False,
    loops_flattened=False,
)
_CHISEL = Capabilities(
    multiply=False,
    acc8_load=False,
    padded_types=frozenset({MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC}),
    uop_load_2d=True,
    shift_min=-31,
    shift_max=31,
    register_shift_left=False,
    immediate_reads_src=True,
    uop_depth_limit=2048,
    empty_loop_runs=True,
    store_reads_acc=False,
    uop_dst_distance=1,
    alu_forwarding=False,
    loops_flattened=True,
)
_OPENCL = Capabilities(
    multiply=True,
    acc8_load=True,
    padded_types=frozenset({MemoryType.INP}),
    uop_load_2d=False,
    shift_min=-31,
    shift_max=31,
    register_shift_left=True,
    immediate_reads_src=False,
    uop_depth_limit=None,
    empty_loop_runs=False,
    store_reads_acc=False,
    uop_dst_distance=1,
    alu_forwarding=True,
    loops_flattened=False,
)


@dataclass(frozen=True)
class Target:
    """A value of the config key TARGET."""

    name: str
    capabilities: Capabilities
    platform: Platform
    extensible: bool = False
    """A config may have the options that the published instruction set lacks."""


_SIMULATED = Platform(device="", fabric_mhz=100, bus_bits=64)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("sim", _FULL, _SIMULATED, extensible=True),
        Target("cycle", _FULL, _SIMULATED, extensible=True),
        Target("rtl", _FULL, _SIMULATED, extensible=True),
        Target("tsim", _CHISEL, _SIMULATED),
        Target("pynq", _HLS, Platform("xc7z020clg484-1", fabric_mhz=100, bus_bits=64)),
        Target("ultra96", _HLS, Platform("xczu3eg-sbva484-1-e", fabric_mhz=333, bus_bits=128)),
        Target("zcu104", _HLS, Platform("xczu7ev-ffvc1156-2-e", fabric_mhz=333, bus_bits=128)),
        Target("de10nano", _CHISEL, Platform("5CSEBA6U23I7", fabric_mhz=100, bus_bits=64)),
        Target("intelfocl", _OPENCL, Platform("", fabric_mhz=100, bus_bits=64)),
    )
}
"""Every legal value of the config key TARGET."""
