"""What a core needs of an FPGA, by counting: DSP blocks and block memories. Yosys finds the same (docs/rtl.md).

Logic is not counted: its amount depends on the tools. `vta.hardware.synthesis` measures and estimates it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from vta.boards.description import Capacity
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import Fabric, fabrics_for
from vta.isa import INSTRUCTION_BYTES

__all__ = ["CYCLONE", "Need", "described", "fabric_of", "logic_name", "need_of", "shortfalls"]

CYCLONE = "cyclone-v"
ECP5 = "ecp5"

_ALU_DSP = 3
"""Multipliers of a product of 32 bits: three of the four partial products, as only its low half is kept."""
_SPLIT_ALU_DSP = 2
"""The same where one is left to logic (`low_product`)."""
_REQUANTIZING_DSP = 4
"""The requantize unit keeps both halves."""
_MULTIPLIERS_OF_A_BLOCK = {8: 3, 18: 2}
"""Multipliers of so many bits in one DSP block of a Cyclone V (CV-5V2, variable precision DSP blocks)."""
_REQUANTIZING_BLOCKS = 3
"""Such blocks of a lane with the requantize unit: two of its four products share one."""
_INPUT_BANKS = 4
"""Of the input memory, of which DEPTHWISE reads a window."""

_WIDTHS_36K = ((512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16384, 2), (32768, 1))
"""Depths of a block memory of 36 Kbit and the width at each, with a port to write and one to read (UG473, UG573)."""
_WIDTHS_18K = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
"""The same of a block of 18 Kbit of an ECP5 (FPGA-TN-02204)."""
_WIDTHS_10K = ((256, 40), (512, 20), (1024, 10), (2048, 5), (4096, 2), (8192, 1))
"""The same of a block of 10 Kbit (CV-5V2, embedded memory blocks)."""
_WIDTHS = {CYCLONE: _WIDTHS_10K, ECP5: _WIDTHS_18K}
"""Of families whose blocks have not 36 Kbit."""
_ULTRA_RAM = (4096, 72)
_DISTRIBUTED_ROWS = 64
"""Memories of so few rows are made of look-up tables."""
_FEWER_DISTRIBUTED = {ECP5: 16, CYCLONE: 32}
"""The same of families whose look-up tables hold less (CV-5V2, MLAB)."""


@dataclass(frozen=True)
class Need:
    """Cells of an FPGA."""

    dsp: int
    block_memories: float
    """Of 36 Kbit, of which halves count (Xilinx), of 18 Kbit (ECP5), or of 10 Kbit (Cyclone V)."""
    ultra_rams: int = 0


@dataclass(frozen=True)
class _Memory:
    """Memories with one port to write and one to read each."""

    bits: int
    rows: int
    copies: int


def need_of(
    hw: HardwareConfig, timing: TimingParameters, family: str, capacity: Capacity | None = None, fabric: Fabric | None = None
) -> Need:
    """What the core of `hw` takes of an FPGA of `family`, one of `vta.boards.description.FAMILIES`, built as `fabric` says.

    By default that is what `fabric_of` says. Where `capacity` has too few block memories, the largest memories go to UltraRAM, as
    far as there is any.
    """
    return _need(hw, timing, fabric or fabric_of(hw, timing, family, capacity), family, capacity)


def fabric_of(hw: HardwareConfig, timing: TimingParameters, family: str, capacity: Capacity | None = None) -> Fabric:
    """How the core is built for `family`: the first way that fits into `capacity`, or the one with the fewest memories."""
    needs = {fabric: _need(hw, timing, fabric, family, capacity) for fabric in fabrics_for(family, hw, timing)}
    fitting = (fabric for fabric, need in needs.items() if capacity is None or not shortfalls(need, capacity, family))
    return next(fitting, None) or min(needs, key=lambda fabric: needs[fabric].block_memories)


def shortfalls(need: Need, capacity: Capacity, family: str) -> list[str]:
    """What is needed of which there is too little, in words with both numbers."""
    pairs = ((need.dsp, capacity.dsp, "DSP"), (need.block_memories, capacity.block_memories, _memory_of(family)))
    return [f"{needed:g} {what} of {there}" for needed, there, what in pairs if needed > there]


def described(need: Need, family: str) -> str:
    """The need in words."""
    words = f"{need.dsp} DSP, {need.block_memories:g} {_memory_of(family)}"
    return f"{words}, {need.ultra_rams} UltraRAM" if need.ultra_rams else words


def _need(hw: HardwareConfig, timing: TimingParameters, fabric: Fabric, family: str, capacity: Capacity | None) -> Need:
    few = _FEWER_DISTRIBUTED.get(family, _DISTRIBUTED_ROWS)
    memories = [memory for memory in _memories(hw, timing, fabric) if memory.rows > few]
    if family == CYCLONE and hw.table_unit:
        # Yosys makes those of few lanes of look-up tables there; all count, so that no core is said to fit that might not.
        memories.append(_banked(hw, timing, MemoryType.TABLE, MemoryType.TABLE, copies=hw.batch * hw.block))
    widths = _WIDTHS.get(family, _WIDTHS_36K)
    placed = {index: memory.copies * _blocks(memory, widths) for index, memory in enumerate(memories)}
    ultra_rams = 0
    for index in sorted(placed, key=placed.__getitem__, reverse=True):
        if capacity is None or sum(placed.values()) <= capacity.block_memories:
            break
        more = memories[index].copies * _ultra_rams(memories[index])
        if ultra_rams + more <= capacity.ultra_rams:
            ultra_rams += more
            del placed[index]
    return Need(_dsp(hw, fabric, family), sum(placed.values()), ultra_rams)


def logic_name(family: str) -> str:
    """What look-up tables are counted in."""
    return "ALM" if family == CYCLONE else "LUT"


def _memory_of(family: str) -> str:
    return {CYCLONE: "M10K", ECP5: "BRAM18"}.get(family, "BRAM36")


def _dsp(hw: HardwareConfig, fabric: Fabric, family: str) -> int:
    products, lanes = hw.batch * hw.block * hw.block, hw.batch * hw.block
    whole = _REQUANTIZING_DSP if hw.requantize_unit else _SPLIT_ALU_DSP if fabric.split_products else _ALU_DSP
    if family == CYCLONE:
        blocks = math.ceil(products / _MULTIPLIERS_OF_A_BLOCK[8])
        if hw.requantize_unit:
            return blocks + _REQUANTIZING_BLOCKS * lanes
        return blocks + math.ceil(whole * lanes / _MULTIPLIERS_OF_A_BLOCK[18])
    return (products // 2 if fabric.dsp48 and hw.block > 1 else products) + whole * lanes


def _memories(hw: HardwareConfig, timing: TimingParameters, fabric: Fabric) -> Iterator[_Memory]:
    for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.OUT, MemoryType.UOP):
        yield _banked(hw, timing, memory, memory)
    banks = fabric.accumulator_banks
    if banks:
        yield _Memory(8 * hw.elem_bytes(MemoryType.ACC), (1 << hw.log_depth[MemoryType.ACC]) // banks, banks + 1)
    else:
        # Both operands of the ALU are read in one cycle, and a beat has as many elements as it has of 8 bits.
        yield _banked(hw, timing, MemoryType.ACC, MemoryType.ACC_8BIT, copies=2)
    yield _Memory(8 * INSTRUCTION_BYTES, timing.queue_depth, 3)
    beats = max(1, INSTRUCTION_BYTES // timing.bus_bytes)
    yield _Memory(8 * max(INSTRUCTION_BYTES, timing.bus_bytes), -(-timing.fetch_fifo // beats), 1)
    yield _Memory(8 * timing.bus_bytes, timing.load_fifo, 1)
    yield _Memory(8 * timing.bus_bytes, timing.acc_fifo, 1)


def _banked(hw: HardwareConfig, timing: TimingParameters, memory: MemoryType, moved_as: MemoryType, copies: int = 1) -> _Memory:
    """`memory` in a bank for each element of a beat of `moved_as`."""
    banks = max(1, timing.bus_bytes // hw.elem_bytes(moved_as))
    if memory is MemoryType.INP and hw.depthwise_unit:
        banks = max(_INPUT_BANKS, banks)
    return _Memory(8 * hw.elem_bytes(memory), max(2, (1 << hw.log_depth[memory]) // banks), banks * copies)


def _blocks(memory: _Memory, widths: tuple[tuple[int, int], ...]) -> float:
    """Block memories for one copy. A rest of half the width fits half a block, where a block has halves."""
    depth, width = next(((depth, width) for depth, width in widths if memory.rows <= depth), widths[-1])
    deep = math.ceil(memory.rows / depth)
    whole, rest = divmod(memory.bits, width)
    halves = widths is _WIDTHS_36K
    return deep * (whole + (0 if not rest else 0.5 if halves and rest <= width // 2 else 1))


def _ultra_rams(memory: _Memory) -> int:
    rows, bits = _ULTRA_RAM
    return math.ceil(memory.rows / rows) * math.ceil(memory.bits / bits)
