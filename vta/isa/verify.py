"""The verifier: proves that a program keeps every rule however the three units interleave, or says where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import VerificationError
from vta.isa.explain import NativeFinding, explain
from vta.isa.findings import Finding, FindingKind, Queue
from vta.isa.instruction import INSTRUCTION_DTYPE
from vta.isa.program import Program, Symbol, SymbolKind
from vta.isa.rules import capability_findings, field_findings, finish_findings, header_findings
from vta.native import ffi, lib

__all__ = ["FETCH_QUEUE_DEPTH", "TOKEN_LIMIT", "require_verified", "verify", "verify_stream"]

TOKEN_LIMIT = 255
"""Tokens that a queue of the published hardware counts; one more is lost."""
FETCH_QUEUE_DEPTH = 512
"""Instructions that wait at a unit before fetch stops for all units."""

_FINDING_LIMIT = 1000
_RULES = (
    "shift_min",
    "shift_max",
    "register_shift_left",
    "immediate_reads_src",
    "store_reads_acc",
    "uop_dst_distance",
    "alu_forwarding",
    "loops_flattened",
)


def verify(program: Program, tokens_before: Mapping[Queue, int] | None = None) -> list[Finding]:
    """Return what is wrong with `program`, the empty list if nothing is.

    `tokens_before` gives the tokens that each queue holds at the start (default none). Where fields or symbols are
    malformed, only these are reported. At most 1,000 findings of the order and memory checks are returned.
    """
    malformed = field_findings(program.instructions, program.hw) + _symbol_findings(program)
    if malformed:
        return _with_origins(malformed, program)
    ranges = [_symbol_range(symbol) for symbol in program.symbols]
    contents = {0: program.image} if len(program.image) else {}
    native = _native_findings(program.instructions, program.hw, ranges, contents, tokens_before)
    findings = _instruction_findings(program.instructions, program.hw)
    findings += [explain(record, program.instructions, program.hw, program.symbols) for record in native]
    return _with_origins(findings, program)


def verify_stream(
    instructions: NDArray[np.void],
    hw: HardwareConfig,
    memory: Mapping[int, NDArray[np.uint8]],
    tokens_before: Mapping[Queue, int] | None = None,
) -> list[Finding]:
    """Return what is wrong with a bare stream over absolute DRAM addresses, as `verify` does.

    `instructions` has shape (n,) and `INSTRUCTION_DTYPE`. `memory` maps byte addresses to the bytes there, pieces that
    do not overlap; all of it counts as initialised and as writable.
    """
    malformed = field_findings(instructions, hw)
    if malformed:
        return malformed
    ranges = [_range(address, len(data), initialized=True, writable=True) for address, data in memory.items()]
    native = _native_findings(instructions, hw, ranges, memory, tokens_before)
    return _instruction_findings(instructions, hw) + [explain(record, instructions, hw, ()) for record in native]


def require_verified(program: Program, tokens_before: Mapping[Queue, int] | None = None) -> None:
    """Raise `VerificationError` with the first findings, if `program` has any."""
    findings = verify(program, tokens_before)
    if findings:
        shown = [f"  {finding}" for finding in findings[:5]]
        more = [f"  and {len(findings) - 5} more"] if len(findings) > 5 else []
        raise VerificationError("\n".join([f"the program breaks {len(findings)} rules:", *shown, *more]))


def _instruction_findings(instructions: NDArray[np.void], hw: HardwareConfig) -> list[Finding]:
    return header_findings(instructions) + finish_findings(instructions) + capability_findings(instructions, hw)


def _symbol_findings(program: Program) -> list[Finding]:
    findings = []
    if len(program.image) > program.image_bytes:
        text = f"the initial contents have {len(program.image)} bytes, the image {program.image_bytes}"
        findings.append(Finding(FindingKind.SYMBOL, text))
    names: set[str] = set()
    for symbol in program.symbols:
        filled = symbol.kind in (SymbolKind.UOP, SymbolKind.CONSTANT)
        limit = len(program.image) if filled else program.image_bytes
        what = "initial contents" if filled else "image"
        if symbol.offset < 0 or symbol.nbytes < 0 or symbol.offset + symbol.nbytes > limit:
            span = f"bytes {symbol.offset} to {symbol.offset + symbol.nbytes}"
            text = f"symbol {symbol.name} ({symbol.kind.value}): {span} outside the {what} of {limit} bytes"
            findings.append(Finding(FindingKind.SYMBOL, text))
        if symbol.name in names:
            findings.append(Finding(FindingKind.SYMBOL, f"symbol {symbol.name} is defined twice"))
        names.add(symbol.name)
    return findings


def _with_origins(findings: Sequence[Finding], program: Program) -> list[Finding]:
    placed = []
    for finding in findings:
        origin = None if finding.instruction is None else program.origin(finding.instruction)
        where = "" if origin is None else f" [operator {origin.operator}, tile {origin.tile}]"
        placed.append(replace(finding, message=finding.message + where))
    return placed


def _range(start: int, nbytes: int, **flags: bool) -> dict[str, int]:
    return {"start": start, "nbytes": nbytes, **{name: int(value) for name, value in flags.items()}}


def _symbol_range(symbol: Symbol) -> dict[str, int]:
    return _range(
        symbol.offset,
        symbol.nbytes,
        initialized=symbol.kind in (SymbolKind.UOP, SymbolKind.CONSTANT, SymbolKind.INPUT, SymbolKind.STATE),
        writable=symbol.kind in (SymbolKind.OUTPUT, SymbolKind.SCRATCH, SymbolKind.STATE),
        constant=symbol.kind in (SymbolKind.UOP, SymbolKind.CONSTANT),
        output=symbol.kind is SymbolKind.OUTPUT,
    )


def _native_findings(
    instructions: NDArray[np.void],
    hw: HardwareConfig,
    ranges: list[dict[str, int]],
    contents: Mapping[int, NDArray[np.uint8]],
    tokens_before: Mapping[Queue, int] | None,
) -> list[NativeFinding]:
    records = np.ascontiguousarray(instructions, dtype=INSTRUCTION_DTYPE)
    buffers = {address: ffi.from_buffer("uint8_t[]", np.ascontiguousarray(data)) for address, data in contents.items()}
    pieces = [{"start": address, "nbytes": len(data), "data": data} for address, data in buffers.items()]
    native_ranges = ffi.new("vta_verify_range[]", ranges)
    native_contents = ffi.new("vta_verify_contents[]", pieces)
    tokens = [(tokens_before or {}).get(queue, 0) for queue in Queue]
    program = {
        "instructions": ffi.from_buffer("vta_verify_instruction[]", records.view(np.uint8)),
        "instruction_count": len(records),
        "ranges": native_ranges,
        "range_count": len(ranges),
        "contents": native_contents,
        "contents_count": len(pieces),
        "tokens_before": tokens,
    }
    found = ffi.new("vta_verify_finding[]", _FINDING_LIMIT)
    geometry = ffi.new("vta_geometry *", {name: getattr(hw, name) for name, _ in ffi.typeof("vta_geometry").fields})
    count = lib.vta_verify(geometry, _native_rules(hw), ffi.new("vta_verify_program *", program), found, _FINDING_LIMIT)
    return [
        NativeFinding(**{member.name: getattr(found[index], member.name) for member in fields(NativeFinding)})
        for index in range(count)
    ]


def _native_rules(hw: HardwareConfig) -> Any:
    rules = {name: int(getattr(hw.capabilities, name)) for name in _RULES}
    limits = {"uop_depth": hw.uop_depth, "token_limit": TOKEN_LIMIT, "fetch_queue_depth": FETCH_QUEUE_DEPTH}
    return ffi.new("vta_verify_rules *", {**rules, **limits})
