"""What every device offers: memory, and running an instruction stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, fields
from enum import Enum
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.support.dataclass import dataclass

__all__ = [
    "DEFAULT_OPTIONS",
    "INTERVAL_DTYPE",
    "TIMELINE_KINDS",
    "TIMELINE_UNITS",
    "BoardState",
    "Counters",
    "Device",
    "DeviceState",
    "DeviceStatus",
    "InstructionTimes",
    "ProgrammableDevice",
    "RunOptions",
    "RunResult",
    "SampleDevice",
    "Tokens",
    "UnitCycles",
]


@dataclass(frozen=True)
class Counters:
    """What a run did. Loads do not count padding; an ACC_8BIT load counts the accumulator bytes that it fills."""

    inp_bytes: int = 0
    wgt_bytes: int = 0
    acc_bytes: int = 0
    uop_bytes: int = 0
    out_bytes: int = 0
    """Bytes stored; the other four are bytes loaded."""
    gemm_uops: int = 0
    """Micro-ops that GEMM executed, without resets."""
    reset_uops: int = 0
    alu_uops: int = 0
    macs: int = 0
    """gemm_uops * BATCH * BLOCK * BLOCK."""
    load_instructions: int = 0
    compute_instructions: int = 0
    store_instructions: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def instructions(self) -> int:
        """Instructions executed by all units."""
        return self.load_instructions + self.compute_instructions + self.store_instructions

    @property
    def dram_bytes(self) -> dict[str, int]:
        """Bytes moved per memory: inp, wgt, acc, uop (loaded) and out (stored)."""
        return {name: getattr(self, f"{name}_bytes") for name in ("inp", "wgt", "acc", "uop", "out")}


@dataclass(frozen=True)
class Tokens:
    """Dependency tokens in each queue between the units."""

    load_to_compute: int = 0
    compute_to_load: int = 0
    compute_to_store: int = 0
    store_to_compute: int = 0

    @property
    def total(self) -> int:
        """Tokens in all four queues."""
        return self.load_to_compute + self.compute_to_load + self.compute_to_store + self.store_to_compute


@dataclass(frozen=True)
class UnitCycles:
    """What a unit did in the cycles of a run; native/TIMING.md says which cycle counts as what."""

    busy: int = 0
    token: int = 0
    """Waiting for a dependency token; fetch: for room in a unit's queue."""
    memory: int = 0
    """Waiting for memory."""
    idle: int = 0

    def __add__(self, other: UnitCycles) -> UnitCycles:
        return UnitCycles(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def total(self) -> int:
        """All cycles of the run."""
        return self.busy + self.token + self.memory + self.idle


TIMELINE_UNITS = ("load", "compute", "store", "fetch")
TIMELINE_KINDS = ("busy", "token", "memory")

INTERVAL_DTYPE = np.dtype(
    [("start", np.uint64), ("end", np.uint64), ("instruction", np.uint64), ("unit", np.uint32), ("kind", np.uint32)]
)
"""Cycles [start, end) that a unit (index in `TIMELINE_UNITS`) spent on an instruction in one way (`TIMELINE_KINDS`)."""


@dataclass(frozen=True)
class InstructionTimes:
    """When each instruction of a run did what, all of shape (n,), int64; -1 where it did not come to that."""

    dispatched: NDArray[np.int64]
    accepted: NDArray[np.int64]
    completed: NDArray[np.int64]
    busy: NDArray[np.int64]
    """Cycles that its unit worked on it, and that it waited for memory or for a token at the head of the queue."""
    memory: NDArray[np.int64]
    token: NDArray[np.int64]


@dataclass(frozen=True)
class RunOptions:
    """How to run a stream. A device ignores what it cannot do, except `limit_seconds`."""

    seed: int | None = None
    """None: program order as far as the tokens allow it. Otherwise a random ready unit goes on each time."""
    checks: bool = True
    """Reading SRAM that nothing wrote is an error. Bounds are checked always."""
    dram_checks: bool = False
    """Loading device memory that neither `Device.write` nor a STORE has written since its allocation is an error."""
    first: int = 0
    last: int | None = None
    """Run instructions [first, last) of the stream; None is its end."""
    operator_index: NDArray[np.int32] | None = None
    """Shape (n,): operator of each instruction of the whole stream, -1 for none; counters are kept for each operator."""
    operator_count: int = 0
    keep_state: bool = False
    """Go on with the SRAM contents and tokens that the last run left. Otherwise the run starts from a reset."""
    tokens: Tokens | None = None
    """Tokens at the start; None: none, or with `keep_state` those that the last run left."""
    timeline: bool = False
    """Keep what each unit did when, on devices that know it."""
    limit_seconds: float | None = 600.0
    """A run that takes longer is an error; None: no limit."""


DEFAULT_OPTIONS = RunOptions()


@dataclass(frozen=True)
class RunResult:
    """What a run did, as far as the device can tell."""

    counters: Counters
    """Of the whole run."""
    operators: tuple[Counters, ...]
    """Of each operator, if `RunOptions.operator_index` was given."""
    tokens: Tokens
    """Tokens left over at the end. A complete program leaves none."""
    seconds: float
    """Wall-clock time of the run."""
    cycles: int | None = None
    """Clock cycles, on devices that count them. The fields below are theirs, too."""
    units: Mapping[str, UnitCycles] = field(default_factory=dict)
    """Of the units load, compute, store and fetch."""
    read_beats: int = 0
    """Bus words that the memory delivered."""
    write_beats: int = 0
    preset: str | None = None
    """Timing that the cycles follow: ``rtl`` is the contract in native/TIMING.md, others are approximations."""
    times: InstructionTimes | None = None
    """Where the device knows the instructions one by one."""
    timeline: NDArray[np.void] | None = None
    """Shape (n,) of `INTERVAL_DTYPE`, if `RunOptions.timeline` was set, in no particular order."""


class DeviceState(Enum):
    """What a device can be asked to do."""

    READY = "ready"
    FAILED = "failed"
    """The last run failed; the next one starts clean."""
    CLOSED = "closed"


@dataclass(frozen=True)
class DeviceStatus:
    """How a device is doing."""

    state: DeviceState
    error: str = ""
    """Why the last run failed."""
    runs: int = 0
    """Runs since the device was opened."""


@runtime_checkable
class Device(Protocol):
    """An accelerator with its memory.

    Addresses are byte addresses as instructions use them. `write` returns when the accelerator would read the new bytes
    and `read` returns what it wrote: flushing and invalidating caches is the device's own matter. All methods raise
    `DeviceError` on failure; after one, the next run without `keep_state` starts clean. Once closed, a device only tells what it
    is, and its status.

    Threads may share a device: each operation waits until those of other threads have ended. What belongs together, such as
    writing inputs, running and reading outputs, goes into a block of `exclusive`.
    """

    @property
    def name(self) -> str:
        """Kind of device, e.g. ``sim``."""

    @property
    def hw(self) -> HardwareConfig:
        """The config that the device implements; programs must be compiled for it."""

    @property
    def timing(self) -> TimingParameters | None:
        """The memory system and the queues, on devices that count cycles."""

    @property
    def memory_bytes(self) -> int:
        """Size of the device memory."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other threads from using the device until the block ends."""

    def allocate(self, nbytes: int) -> int:
        """Reserve device memory and return its address, a multiple of 4096 and never 0."""

    def free(self, address: int) -> None:
        """Give back an allocation by the address that `allocate` returned."""

    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """Copy bytes to device memory, anywhere inside an allocation."""

    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """Copy `nbytes` from device memory, shape (nbytes,), from anywhere inside an allocation."""

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """Execute a binary instruction stream, shape (n, 16), to its end or to `options.last`."""

    def reset(self) -> None:
        """Clear on-chip memory and tokens. Device memory keeps its contents."""

    def status(self) -> DeviceStatus:
        """Tell how the device is doing."""

    def close(self) -> None:
        """Give up the device and its memory, after what another thread does with it; closing again does nothing."""


@runtime_checkable
class SampleDevice(Device, Protocol):
    """A device that goes on from sample to sample by itself, and of which there may be more."""

    @property
    def runs_samples(self) -> bool:
        """Whether `run_samples` does all that `run` does: what is made of such a device may do more in a run."""

    def twin(self) -> SampleDevice:
        """Another device like this one, with memory of its own."""

    def run_samples(
        self,
        stream: NDArray[np.uint8],
        samples: int,
        inputs: Sequence[tuple[int, NDArray[np.uint8]]],
        outputs: Sequence[tuple[int, int]],
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> list[NDArray[np.uint8]]:
        """Run a stream for so many samples, each as by `write`, `run` and `read`; little is done between them.

        `inputs` are an address and the bytes of all samples, (samples, bytes), `outputs` addresses and bytes of a sample; returns
        each output of all samples, (samples, bytes). Each run starts from a reset, and a time limit is that of each. Raises as
        `run`; outputs of samples that ran before are lost then.
        """


@dataclass(frozen=True)
class BoardState:
    """The board that a device is, and what its fabric was programmed with."""

    board: str
    design: str
    clock_mhz: float
    bitstream: str
    """Path of the file on the board, and to other machines its name alone; empty if it was programmed by somebody else."""
    sha256: str
    """Of that file; empty if there is none."""


@runtime_checkable
class ProgrammableDevice(Device, Protocol):
    """A device whose hardware is a bitstream."""

    @property
    def board_state(self) -> BoardState:
        """What it is at present."""

    def program(self, bitstream: Path) -> None:
        """Put another bitstream of the same config into the fabric.

        Raises `DeviceError` if it is none for this board and config, as far as the file, a manifest beside it and the
        fabric can tell.
        """
