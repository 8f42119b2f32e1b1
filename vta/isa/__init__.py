"""The instruction set: instructions, micro-ops, programs, assembly text and the verifier."""

from vta.isa.encoding import decode, decode_uops, encode, encode_uops
from vta.isa.instruction import INSTRUCTION_BYTES, INSTRUCTION_DTYPE, UOP_DTYPE, AluOp, Opcode, Unit, blank_instructions, units_of
from vta.isa.program import Origin, Program, Symbol, SymbolKind

__all__ = [
    "INSTRUCTION_BYTES",
    "INSTRUCTION_DTYPE",
    "UOP_DTYPE",
    "AluOp",
    "Opcode",
    "Origin",
    "Program",
    "Symbol",
    "SymbolKind",
    "Unit",
    "blank_instructions",
    "decode",
    "decode_uops",
    "encode",
    "encode_uops",
    "units_of",
]
