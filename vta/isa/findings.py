"""What the verifier finds in a program, as data."""

from __future__ import annotations

from enum import Enum, IntEnum

from vta.config.targets import MemoryType
from vta.isa.instruction import Unit
from vta.support.dataclass import dataclass

__all__ = ["Finding", "FindingKind", "Queue"]


class Queue(IntEnum):
    """The four token queues between the units."""

    LOAD_TO_COMPUTE = 0
    COMPUTE_TO_LOAD = 1
    COMPUTE_TO_STORE = 2
    STORE_TO_COMPUTE = 3

    def __str__(self) -> str:
        producer, consumer = self.name.lower().split("_to_")
        return f"{producer}->{consumer}"


class FindingKind(Enum):
    """What is wrong. The value is the name that tools print."""

    FIELD = "field"
    """A field holds a value that it or its instruction cannot have."""
    HEADER = "header"
    """A dependency flag names a stage that the unit does not have."""
    FINISH = "finish"
    """FINISH is missing, not last, or carries dependency flags."""
    SYMBOL = "symbol"
    """A symbol does not fit the DRAM image."""
    CAPABILITY = "capability"
    """The target does not implement what the instruction needs."""
    HAZARD = "hazard"
    """A micro-op reads a row before the pipeline has written it back."""
    SRAM_BOUNDS = "sram-bounds"
    """Rows outside an SRAM."""
    DRAM_BOUNDS = "dram-bounds"
    """Bytes outside every symbol, or outside the memory given."""
    READ_ONLY_STORE = "read-only-store"
    """A STORE into micro-ops, constants or an input."""
    UNINITIALIZED_SRAM = "uninitialised-sram"
    """Rows read that hold nothing defined."""
    UNINITIALIZED_DRAM = "uninitialised-dram"
    """Bytes of scratch or output read that nothing has stored."""
    UNKNOWN_UOPS = "unknown-uops"
    """Micro-ops whose contents are not known before the program runs."""
    UNWRITTEN_OUTPUT = "unwritten-output"
    """Bytes of an output that nothing stores."""
    SRAM_RACE = "sram-race"
    """Two units use a row, one of them writing, and no token orders them."""
    DRAM_RACE = "dram-race"
    """As an SRAM race, in DRAM."""
    DEADLOCK = "deadlock"
    """A unit waits for ever."""
    TOKEN_OVERFLOW = "token-overflow"
    """More tokens may be outstanding than a queue counts: the surplus is lost."""
    LEFTOVER_TOKEN = "leftover-token"
    """Tokens that nothing consumes: they would leak into the next program."""
    UNFINISHED = "unfinished"
    """FINISH may run before a transfer has completed."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a program."""

    kind: FindingKind
    message: str
    """The whole finding in words, with the numbers below."""
    instruction: int | None = None
    unit: Unit | None = None
    memory: MemoryType | None = None
    """The SRAM concerned; None for DRAM or where there is none."""
    queue: Queue | None = None
    first: int | None = None
    """First row of the SRAM, or first byte address of DRAM."""
    count: int | None = None
    """How many rows, bytes or tokens."""
    other: int | None = None
    """The other instruction: of a race, or the one that pushes the token waited for."""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"
