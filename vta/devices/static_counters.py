"""What a stream does, counted from its instructions alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import Counters
from vta.isa.instruction import DEPTHWISE_TAPS, REQUANTIZE_KEEP, AluOp, Opcode, Unit, units_of

__all__ = ["count_instructions", "count_operators"]

_MOVED = {
    "inp_bytes": MemoryType.INP,
    "wgt_bytes": MemoryType.WGT,
    "acc_bytes": MemoryType.ACC,
    "uop_bytes": MemoryType.UOP,
    "out_bytes": MemoryType.OUT,
}


def count_instructions(instructions: NDArray[np.void], hw: HardwareConfig) -> Counters:
    """The counters of a whole run of `instructions`, shape (n,) of `INSTRUCTION_DTYPE`, as every device counts them."""
    units, opcode = units_of(instructions), instructions["opcode"]
    steps = instructions["iter_out"] * instructions["iter_in"] * np.maximum(0, instructions["uop_end"] - instructions["uop_bgn"])
    keeps = (instructions["alu_opcode"] == AluOp.REQUANTIZE) & ((instructions["imm"] & REQUANTIZE_KEEP) != 0)
    gemm, reset = opcode == Opcode.GEMM, instructions["reset"] != 0
    products, depthwise_uops = int(steps[gemm & ~reset].sum()), int(steps[opcode == Opcode.DEPTHWISE].sum())
    return Counters(
        **_bytes_moved(instructions, hw),
        gemm_uops=products + depthwise_uops,
        reset_uops=int(steps[gemm & reset].sum()),
        alu_uops=int(steps[(opcode == Opcode.ALU) & ~keeps].sum()),
        macs=(products * hw.block + depthwise_uops * DEPTHWISE_TAPS) * hw.batch * hw.block,
        load_instructions=int((units == Unit.LOAD).sum()),
        compute_instructions=int((units == Unit.COMPUTE).sum()),
        store_instructions=int((units == Unit.STORE).sum()),
    )


def count_operators(
    instructions: NDArray[np.void], operator_index: NDArray[np.int32], operator_count: int, hw: HardwareConfig
) -> tuple[Counters, ...]:
    """The counters of each operator; `operator_index`, shape (n,), says which instruction is of which, -1 of none."""
    return tuple(count_instructions(instructions[operator_index == index], hw) for index in range(operator_count))


def _bytes_moved(instructions: NDArray[np.void], hw: HardwareConfig) -> dict[str, int]:
    moves = (instructions["opcode"] == Opcode.LOAD) | (instructions["opcode"] == Opcode.STORE)
    # An ACC_8BIT load counts the accumulator bytes that it fills.
    memory = np.where(instructions["memory_type"] == MemoryType.ACC_8BIT, MemoryType.ACC, instructions["memory_type"])
    elements = instructions["x_size"] * instructions["y_size"]
    moved = {name: int(elements[moves & (memory == kind)].sum()) * hw.elem_bytes(kind) for name, kind in _MOVED.items()}
    moved["acc_bytes"] += int(elements[moves & (memory == MemoryType.TABLE)].sum()) * hw.elem_bytes(MemoryType.TABLE)
    return moved
