"""Energy of a run and area of a config, from counted operations and bytes and the figures of a technology.

Energy is what the arithmetic and the memories take: clock trees, control, wires between the units and leakage are left out.
Area is that of arithmetic and memories. Both are for comparing configs and schedules, not for planning a chip.
"""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.technology import Technology
from vta.devices.device import Counters
from vta.isa.instruction import INSTRUCTION_BYTES

__all__ = ["Parts", "area_of", "energy_of"]

Parts = dict[str, float]

_INPUT_BITS = 8
"""Of an input and of a weight scalar."""
_REQUANTIZE_SUMS = 5
"""Sums and shifts of a REQUANTIZE: the bias, both shifts, the rounding, and the zero point with its clip."""


def energy_of(counters: Counters, hw: HardwareConfig, technology: Technology) -> Parts:
    """Energy in pJ of what `counters` count, by part; the last, `total`, is the sum of the others.

    A product adds to an accumulator. A micro-op of GEMM reads a micro-op, a row of input, of weights and of the accumulator, and
    writes one of the accumulator and of the output; one with reset writes these two; one of ALU reads two rows of the
    accumulator and writes the two; with the requantize unit each counts as one of its own, which multiplies. Rows that products
    requantize are no micro-ops: they are counted as what is stored beyond those of ALU. Loads write to the chip, stores read
    the output. DRAM moves these and the instructions.
    """
    lanes = hw.batch * hw.block
    executed = counters.gemm_uops + counters.reset_uops + counters.alu_uops
    rows = {
        "uop": executed + counters.uop_bytes / hw.elem_bytes(MemoryType.UOP),
        "inp": counters.gemm_uops + counters.inp_bytes / hw.elem_bytes(MemoryType.INP),
        "wgt": counters.gemm_uops + counters.wgt_bytes / hw.elem_bytes(MemoryType.WGT),
        "acc": 2 * counters.gemm_uops
        + counters.reset_uops
        + 3 * counters.alu_uops
        + counters.acc_bytes / hw.elem_bytes(MemoryType.ACC),
        "out": executed + counters.out_bytes / hw.elem_bytes(MemoryType.OUT),
    }
    product = technology.multiply_pj((_INPUT_BITS, _INPUT_BITS)) + technology.add_pj(hw.acc_bits)
    scalar, passes = technology.add_pj(hw.acc_bits), float(counters.alu_uops)
    if hw.requantize_unit:
        passes = max(passes, counters.out_bytes / hw.elem_bytes(MemoryType.OUT))
        scalar = _REQUANTIZE_SUMS * scalar + technology.multiply_pj((hw.acc_bits, hw.acc_bits))
    moved = sum(counters.dram_bytes.values()) + counters.instructions * INSTRUCTION_BYTES
    parts = {
        "mac": counters.macs * product,
        "alu": passes * lanes * scalar,
        **{name: count * _access_pj(MemoryType[name.upper()], hw, technology) for name, count in rows.items()},
        "dram": moved * technology.dram_byte_pj,
    }
    return {**parts, "total": sum(parts.values())}


def area_of(hw: HardwareConfig, technology: Technology) -> Parts:
    """Area in um2 by part; the last, `total`, is the sum of the others.

    The matrix unit has a multiplier and an adder for each product of a cycle, the ALU an adder, a shifter that counts as one,
    and, where the target multiplies, a multiplier for each scalar of an accumulator row. The requantize unit uses these,
    and has as many adders as it has sums and shifts; there is a copy of the table for each scalar.
    """
    lanes, acc = hw.batch * hw.block, hw.acc_bits
    product = technology.multiply_um2((_INPUT_BITS, _INPUT_BITS)) + technology.add_um2(acc)
    scalar = 2 * technology.add_um2(acc) + (technology.multiply_um2((acc, acc)) if hw.capabilities.multiply else 0.0)
    memories = (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.OUT)
    parts = {
        "mac": lanes * hw.block * product,
        "alu": lanes * scalar,
        **({"requantize": lanes * _REQUANTIZE_SUMS * technology.add_um2(acc)} if hw.requantize_unit else {}),
        **({"table": lanes * _size_bytes(MemoryType.TABLE, hw) * 8 * technology.sram_bit_um2} if hw.table_unit else {}),
        **{memory.name.lower(): _size_bytes(memory, hw) * 8 * technology.sram_bit_um2 for memory in memories},
    }
    return {**parts, "total": sum(parts.values())}


def _size_bytes(memory: MemoryType, hw: HardwareConfig) -> int:
    return hw.depth(memory) * hw.elem_bytes(memory)


def _access_pj(memory: MemoryType, hw: HardwareConfig, technology: Technology) -> float:
    return technology.sram_access_pj(hw.elem_bytes(memory), _size_bytes(memory, hw))
