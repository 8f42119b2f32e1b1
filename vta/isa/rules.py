"""Rules that an instruction breaks or keeps by itself: fields, dependency flags, what the target implements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.encoding import all_fit, instruction_fields
from vta.isa.findings import Finding, FindingKind
from vta.isa.instruction import (
    FLAGS,
    GEMM_REQUANTIZES,
    REQUANTIZE_KEEP,
    REQUANTIZE_TABLE,
    REQUANTIZE_WIDE,
    AluOp,
    Opcode,
    Unit,
    missing_stage_flags,
    units_of,
)

__all__ = ["capability_findings", "field_findings", "finish_findings", "header_findings"]

_PADS = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
_LOADED = (MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC, MemoryType.ACC_8BIT)


def field_findings(instructions: NDArray[np.void], hw: HardwareConfig) -> list[Finding]:
    """Return fields that hold what they cannot encode or what their instruction does not define."""
    findings = list(_unencodable(instructions, hw))
    opcode, memory = instructions["opcode"], instructions["memory_type"]
    load, store = opcode == Opcode.LOAD, opcode == Opcode.STORE
    moves = instructions["x_size"] != 0
    known = (*_LOADED, MemoryType.TABLE) if hw.capabilities.table else _LOADED
    loaded = ", ".join(f"{m.name} ({m.value})" for m in known)
    last_alu = AluOp.REQUANTIZE if hw.capabilities.requantize else AluOp.MUL
    padded = _padded(instructions)
    checks = (
        (load & ~np.isin(memory, known), "memory_type", f"LOAD takes {loaded}"),
        (store & (memory != MemoryType.OUT) & moves, "memory_type", f"STORE takes OUT ({MemoryType.OUT.value})"),
        ((opcode == Opcode.ALU) & (instructions["alu_opcode"] > last_alu), "alu_opcode", f"allowed: 0 to {last_alu:d}"),
        *_option_checks(instructions, hw),
    )
    for mask, name, allowed in checks:
        for index in np.flatnonzero(mask):
            value = int(instructions[name][index])
            findings.append(_at(FindingKind.FIELD, instructions, index, f"{name} = {value}; {allowed}"))
    findings += [_at(FindingKind.FIELD, instructions, index, "STORE has no padding") for index in np.flatnonzero(store & padded)]
    findings += [
        _at(FindingKind.FIELD, instructions, index, "pads around x_size = 0 or y_size = 0: implementations disagree on it")
        for index in np.flatnonzero(load & padded & ~(moves & (instructions["y_size"] != 0)))
    ]
    return findings


def _option_checks(instructions: NDArray[np.void], hw: HardwareConfig) -> Iterator[tuple[NDArray[np.bool_], str, str]]:
    requantizes = (instructions["opcode"] == Opcode.ALU) & (instructions["alu_opcode"] == AluOp.REQUANTIZE)
    flags = instructions["imm"]
    what = f"REQUANTIZE takes {REQUANTIZE_WIDE} (wide), {REQUANTIZE_KEEP} (keep)"
    known = np.isin(flags, (0, REQUANTIZE_WIDE, REQUANTIZE_KEEP))
    if hw.capabilities.table:
        what += f", {REQUANTIZE_TABLE} (table), {REQUANTIZE_KEEP | REQUANTIZE_TABLE} (keep and table)"
        known |= np.isin(flags, (REQUANTIZE_TABLE, REQUANTIZE_KEEP | REQUANTIZE_TABLE))
    yield requantizes & ~known, "imm", f"{what}, or 0"
    for name in ("use_imm", "reset"):
        yield requantizes & (instructions[name] != 0), name, "REQUANTIZE takes 0"
    yield (instructions["opcode"] == Opcode.DEPTHWISE) & (instructions["reset"] != 0), "reset", "DEPTHWISE takes 0"
    products = np.isin(instructions["opcode"], (Opcode.GEMM, Opcode.DEPTHWISE)) & (flags == GEMM_REQUANTIZES)
    yield products & (instructions["reset"] != 0), "reset", "a GEMM that requantizes takes 0"
    yield products & ~_has_parameters(instructions), "imm", "the last REQUANTIZE before it must be there, and not be wide"


def _has_parameters(instructions: NDArray[np.void]) -> NDArray[np.bool_]:
    """Whether the parameters that were read last before each instruction are those of results of 8 bits."""
    reads = (instructions["opcode"] == Opcode.ALU) & (instructions["alu_opcode"] == AluOp.REQUANTIZE)
    reads &= (instructions["iter_out"] != 0) & (instructions["iter_in"] != 0)
    reads &= instructions["uop_bgn"] < instructions["uop_end"]
    last = np.maximum.accumulate(np.where(reads, np.arange(len(instructions)), -1))
    return np.asarray((last >= 0) & ((instructions["imm"][last] & REQUANTIZE_WIDE) == 0))


def header_findings(instructions: NDArray[np.void]) -> list[Finding]:
    """Return dependency flags of stages that are not there: before load, after store."""
    return [
        _at(FindingKind.HEADER, instructions, index, f"{flag} names a stage that this unit does not have")
        for index, flag in missing_stage_flags(instructions)
    ]


def finish_findings(instructions: NDArray[np.void]) -> list[Finding]:
    """Check that FINISH is there once, at the end, without dependency flags."""
    where = np.flatnonzero(instructions["opcode"] == Opcode.FINISH)
    findings = [
        _at(FindingKind.FINISH, instructions, index, "FINISH is not the last instruction")
        for index in where
        if index != len(instructions) - 1
    ]
    if len(where) == 0:
        findings.append(Finding(FindingKind.FINISH, "the program does not end with FINISH"))
    for index in where:
        flags = [name for name in FLAGS if instructions[name][index]]
        if flags:
            findings.append(_at(FindingKind.FINISH, instructions, index, f"FINISH carries {', '.join(flags)}; allowed: none"))
    return findings


def capability_findings(instructions: NDArray[np.void], hw: HardwareConfig) -> list[Finding]:
    """Return instructions that need what the target of `hw` does not implement."""
    return [
        _at(FindingKind.CAPABILITY, instructions, index, f"target {hw.target} {reason}")
        for mask, reason in _capability_masks(instructions, hw)
        for index in np.flatnonzero(mask)
    ]


def _capability_masks(instructions: NDArray[np.void], hw: HardwareConfig) -> Iterator[tuple[NDArray[np.bool_], str]]:
    can = hw.capabilities
    opcode, memory, immediate = instructions["opcode"], instructions["memory_type"], instructions["imm"]
    load = (opcode == Opcode.LOAD) & (instructions["x_size"] != 0)
    alu = opcode == Opcode.ALU
    shift = alu & (instructions["alu_opcode"] == AluOp.SHR)
    use_imm = instructions["use_imm"] != 0
    if not can.multiply:
        yield alu & (instructions["alu_opcode"] == AluOp.MUL), "has no MUL"
    if not can.acc8_load:
        yield load & (memory == MemoryType.ACC_8BIT), "has no ACC_8BIT load"
    honoured = sorted(can.padded_types)
    names = ", ".join(m.name for m in honoured)
    yield load & _padded(instructions) & ~np.isin(memory, honoured), f"honours pads only of {names}"
    if not can.uop_load_2d:
        yield load & (memory == MemoryType.UOP) & (instructions["y_size"] != 1), "loads micro-ops flat: y_size must be 1"
    out_of_range = (immediate < can.shift_min) | (immediate > can.shift_max)
    yield shift & use_imm & out_of_range, f"shifts by {can.shift_min} to {can.shift_max} only"
    if not can.register_shift_left:
        yield shift & ~use_imm & (immediate < 0), "takes the direction of a shift from imm, which is negative in a tensor shift"
    if can.empty_loop_runs:
        loops = (opcode == Opcode.GEMM) | alu
        empty = (instructions["iter_out"] == 0) | (instructions["iter_in"] == 0)
        empty |= instructions["uop_bgn"] >= instructions["uop_end"]
        yield loops & empty, "runs an empty loop 2^14 times"


def _unencodable(instructions: NDArray[np.void], hw: HardwareConfig) -> Iterator[Finding]:
    if all_fit(instructions, hw):
        return
    layouts = instruction_fields(hw)
    for index in np.flatnonzero(~np.isin(instructions["opcode"], list(layouts))):
        value = int(instructions["opcode"][index])
        allowed = ", ".join(f"{op.name} ({op.value})" for op in layouts)
        yield Finding(FindingKind.FIELD, f"instruction {index}: opcode = {value}; allowed: {allowed}", int(index))
    for opcode, layout in layouts.items():
        chosen = instructions["opcode"] == opcode
        for field in layout:
            values = instructions[field.name]
            for index in np.flatnonzero(chosen & ((values < field.minimum) | (values > field.maximum))):
                text = f"{field.name} = {int(values[index])} does not fit; allowed: {field.minimum} to {field.maximum}"
                yield _at(FindingKind.FIELD, instructions, index, text)


def _padded(instructions: NDArray[np.void]) -> NDArray[np.bool_]:
    padded = np.zeros(len(instructions), dtype=bool)
    for name in _PADS:
        padded |= instructions[name] != 0
    return padded


def _at(kind: FindingKind, instructions: NDArray[np.void], index: np.intp | int, text: str) -> Finding:
    unit = Unit(int(units_of(instructions[index : index + 1])[0]))
    opcode = Opcode(int(instructions["opcode"][index])).name
    return Finding(kind, f"instruction {index} ({opcode}, {unit.name.lower()} unit): {text}", int(index), unit)
