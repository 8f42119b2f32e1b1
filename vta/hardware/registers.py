"""The register map of the core, as data: drivers, the simulator and the hardware use this one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

__all__ = [
    "IDENTITY",
    "QUEUES",
    "REGISTERS",
    "Access",
    "ControlBit",
    "ErrorBit",
    "InterruptBit",
    "Register",
    "UNITS",
    "UNIT_STATES",
    "register_table",
]

IDENTITY = 0x56544101
"""Value of the register `identity`: the letters V, T, A, and the version of this map."""

UNITS = ("fetch", "load", "compute", "store")
UNIT_STATES = ("busy", "memory", "token", "idle")
_STATE_TEXT = {
    "busy": "was busy",
    "memory": "waited for memory",
    "token": "waited for tokens (fetch: for a queue)",
    "idle": "was idle",
}
GEOMETRY = ("input bits", "weight bits", "accumulator bits", "BATCH", "BLOCK", "bus bits")
"""What the register `geometry` holds, from the lowest 4 bits on."""
_OPTIONS = "; bit 24: requantize unit, bit 25: tables, bit 26: DEPTHWISE"
QUEUES = ("load_to_compute", "compute_to_load", "compute_to_store", "store_to_compute")
"""The token queues between the units, in the order of their registers."""


class Access(Enum):
    """What the host may do with a register."""

    READ = "read"
    WRITE = "read and write"
    CLEAR = "read, and write 1 to clear bits"


class ControlBit(IntEnum):
    """Bits of the control register."""

    LAUNCH = 0
    """Write 1 to start a run; reads as 1 while it lasts."""
    DONE = 1
    """All instructions are executed and all units have come to rest."""


class ErrorBit(IntEnum):
    """Bits of the error register. The first four: a token was lost in a full queue."""

    LOAD_TO_COMPUTE_OVERFLOW = 0
    COMPUTE_TO_LOAD_OVERFLOW = 1
    COMPUTE_TO_STORE_OVERFLOW = 2
    STORE_TO_COMPUTE_OVERFLOW = 3
    UNKNOWN_OPCODE = 4
    """An opcode or ALU opcode that the instruction set does not have; it did nothing."""
    UNKNOWN_MEMORY_TYPE = 5
    """A LOAD of a memory type that cannot be loaded did nothing; a STORE of one stored OUT."""
    READ_FAILED = 6
    """The memory answered a read with an error."""
    WRITE_FAILED = 7
    """The memory answered a write with an error."""
    MISSING_FINISH = 8
    """All instructions were executed and none was FINISH."""


class InterruptBit(IntEnum):
    """Bits of the interrupt enable and status registers."""

    DONE = 0
    ERROR = 1


@dataclass(frozen=True)
class Register:
    """A 32-bit register at byte `offset`."""

    name: str
    offset: int
    access: Access
    description: str


def _bits(names: type[IntEnum]) -> str:
    return ", ".join(bit.name.lower() for bit in names)


def _registers() -> list[Register]:
    plain = [
        Register("control", 0x00, Access.WRITE, "bit 0: launch; bit 1: done"),
        Register("cycles", 0x04, Access.READ, "cycles of the run, from the first of fetch up to the completion of FINISH"),
        Register("instruction_count", 0x08, Access.WRITE, "instructions of the stream"),
        Register("instruction_base", 0x0C, Access.WRITE, "byte address of the stream, a multiple of 16"),
        *(
            Register(f"{name}_base", 0x10 + 4 * index, Access.WRITE, f"byte address of {name} element 0, a multiple of 4096")
            for index, name in enumerate(("uop", "inp", "wgt", "acc", "out"))
        ),
        Register("acc_writes", 0x24, Access.READ, "cycles of the run that wrote accumulator rows"),
        Register("errors", 0x28, Access.CLEAR, f"bits from 0: {_bits(ErrorBit)}"),
        Register("interrupt_enable", 0x2C, Access.WRITE, f"bits from 0: {_bits(InterruptBit)}"),
        Register("interrupt_status", 0x30, Access.CLEAR, f"bits from 0: {_bits(InterruptBit)}"),
    ]
    described = [
        Register("identity", 0x34, Access.READ, f"0x{IDENTITY:08x}: this core, and the version of this map"),
        Register(
            "geometry", 0x38, Access.READ, "what was built, 4 bits each from bit 0, as log2: " + ", ".join(GEOMETRY) + _OPTIONS
        ),
        Register("buffers", 0x3C, Access.READ, "log2 of the bytes of each memory, 8 bits each from bit 0: uop, inp, wgt, acc"),
    ]
    tokens = [
        Register(f"tokens_{queue}", 0x40 + 4 * index, Access.WRITE, "tokens in the queue; written only between runs")
        for index, queue in enumerate(QUEUES)
    ]
    states = [
        Register(f"{unit}_{state}", 0x80 + 16 * u + 4 * s, Access.READ, f"cycles of the run in which {unit} {_STATE_TEXT[state]}")
        for u, unit in enumerate(UNITS)
        for s, state in enumerate(UNIT_STATES)
    ]
    counts = (
        ("load_instructions", "instructions that the load unit completed"),
        ("compute_instructions", "instructions that the compute unit completed"),
        ("store_instructions", "instructions that the store unit completed"),
        ("gemm_uops", "micro-ops of GEMM without reset"),
        ("reset_uops", "micro-ops of GEMM with reset"),
        ("alu_uops", "micro-ops of ALU"),
        ("read_beats", "beats read during the run"),
        ("write_beats", "beats written during the run"),
    )
    totals = [Register(name, 0xC0 + 4 * index, Access.READ, text) for index, (name, text) in enumerate(counts)]
    moved = [
        Register(f"{name}_bytes{part}", 0xE0 + 8 * index + 4 * half, Access.READ, f"bytes of {name} moved, {text}")
        for index, name in enumerate(("uop", "inp", "wgt", "acc", "out"))
        for half, (part, text) in enumerate((("", "low word"), ("_high", "high word")))
    ]
    return [*plain, *described, *tokens, *states, *totals, *moved]


REGISTERS: dict[str, Register] = {register.name: register for register in _registers()}
"""Every register by name. Counters start at 0 with each launch; bytes, micro-ops and instructions count until all units rest."""


def register_table() -> str:
    """Return the register map as a table in Markdown."""
    rows = [f"| 0x{r.offset:02x} | `{r.name}` | {r.access.value} | {r.description} |" for r in REGISTERS.values()]
    return "\n".join(["| offset | register | access | meaning |", "|---|---|---|---|", *rows])
