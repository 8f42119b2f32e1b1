"""The timing contract (native/TIMING.md) cycle by cycle in plain Python: slow, and meant to be read beside it.

Every unit is stepped once a cycle. What a step reads is what the registers hold in that cycle; what it writes shows in
the next, after `commit`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.device import UnitCycles
from vta.errors import DeviceError
from vta.isa.instruction import (
    GEMM_REQUANTIZES,
    INSTRUCTION_BYTES,
    REQUANTIZE_KEEP,
    REQUANTIZE_PARAMETERS,
    REQUANTIZE_WIDE,
    AluOp,
    Opcode,
    Unit,
    units_of,
)
from vta.support.dataclass import dataclass

__all__ = ["ReferenceTiming", "reference_timing"]

_LAST_STAGE, _LAST_STAGE_THAT_REQUANTIZES = 6, 12
"""Cycles from the issue of a micro-op to its result, and from acceptance to the last cycle of an empty pipeline."""
_WIDE_DRAIN, _NARROW_DRAIN = 6, 1
"""Slots at the end of a REQUANTIZE that do nothing."""

_POPS = {
    Unit.LOAD: {"pop_next": "compute_to_load"},
    Unit.COMPUTE: {"pop_prev": "load_to_compute", "pop_next": "store_to_compute"},
    Unit.STORE: {"pop_prev": "compute_to_store"},
}
_PUSHES = {
    Unit.LOAD: {"push_next": "load_to_compute"},
    Unit.COMPUTE: {"push_prev": "compute_to_load", "push_next": "compute_to_store"},
    Unit.STORE: {"push_prev": "store_to_compute"},
}
_ALL_QUEUES = tuple(queue for pushes in _PUSHES.values() for queue in pushes.values())


@dataclass(frozen=True)
class ReferenceTiming:
    """What the contract gives for one run."""

    cycles: int
    units: dict[str, UnitCycles]
    read_beats: int
    write_beats: int
    accepted: dict[int, int]
    """Cycle in which each instruction was accepted."""
    completed: dict[int, int]


def reference_timing(
    instructions: NDArray[np.void],
    hw: HardwareConfig,
    timing: TimingParameters,
    stream_address: int = 0,
    limit_cycles: int = 1_000_000,
) -> ReferenceTiming:
    """Step the machine until FINISH completes. `instructions` hold absolute DRAM addresses.

    Raises `DeviceError` if a token queue overflows, or if FINISH is not reached in `limit_cycles`.
    """
    machine = _Machine(instructions, hw, timing, stream_address)
    for cycle in range(limit_cycles):
        machine.step(cycle)
        if machine.compute.finished:
            return machine.result(cycle)
    raise DeviceError(f"FINISH was not reached in {limit_cycles} cycles")


def cut(address: int, nbytes: int, timing: TimingParameters) -> Iterator[int]:
    """The beats of each burst of one transfer row."""
    word, end = address // timing.bus_bytes, (address + nbytes - 1) // timing.bus_bytes + 1
    while word < end:
        boundary = (word // timing.burst_beats + 1) * timing.burst_beats
        yield min(boundary, end) - word
        word = boundary


@dataclass
class _Instruction:
    index: int
    unit: Unit
    opcode: Opcode
    pops: tuple[str, ...]
    pushes: tuple[str, ...]
    bursts: tuple[int, ...] = ()
    ratio: int = 1
    """Beats that complete an element; 1 if an element is no longer than a beat."""
    zeros: int = 0
    slots: int = 1


def _decode(index: int, row: np.void, unit: Unit, hw: HardwareConfig, timing: TimingParameters) -> _Instruction:
    opcode = Opcode(int(row["opcode"]))
    pops = tuple(queue for flag, queue in _POPS[unit].items() if row[flag])
    pushes = tuple(queue for flag, queue in _PUSHES[unit].items() if row[flag])
    decoded = _Instruction(index, unit, opcode, pops, pushes)
    if opcode in (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE):
        count = int(row["iter_out"] * row["iter_in"] * max(0, row["uop_end"] - row["uop_bgn"]))
        if count and opcode is Opcode.ALU and row["alu_opcode"] == AluOp.REQUANTIZE:
            drain = _WIDE_DRAIN if row["imm"] & REQUANTIZE_WIDE else _NARROW_DRAIN
            count += int(row["iter_out"]) * REQUANTIZE_PARAMETERS + drain
            count = REQUANTIZE_PARAMETERS if row["imm"] & REQUANTIZE_KEEP else count
        elif count and opcode is not Opcode.ALU and row["imm"] & GEMM_REQUANTIZES:
            count += _NARROW_DRAIN
        decoded.slots = max(1, count)
    elif opcode in (Opcode.LOAD, Opcode.STORE) and row["x_size"] * row["y_size"] > 0:
        memory = MemoryType.OUT if opcode is Opcode.STORE else MemoryType(int(row["memory_type"]))
        size = hw.elem_bytes(memory)
        rows = [(int(row["dram_base"]) + y * int(row["x_stride"])) * size for y in range(row["y_size"])]
        decoded.bursts = tuple(beats for start in rows for beats in cut(start, int(row["x_size"]) * size, timing))
        decoded.ratio = max(1, size // timing.bus_bytes)
        width = row["x_pad_0"] + row["x_size"] + row["x_pad_1"]
        decoded.zeros = int(width * (row["y_pad_0"] + row["y_size"] + row["y_pad_1"]) - row["x_size"] * row["y_size"])
    return decoded


@dataclass
class _Counter:
    """One cycle is counted at a time, as one of four kinds."""

    busy: int = 0
    token: int = 0
    memory: int = 0
    idle: int = 0

    def count(self, kind: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)

    def result(self) -> UnitCycles:
        return UnitCycles(self.busy, self.token, self.memory, self.idle)


@dataclass
class _Tokens:
    limit: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_ALL_QUEUES, 0))
    changes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_ALL_QUEUES, 0))

    def ready(self, instruction: _Instruction) -> bool:
        return all(self.counts[queue] > 0 for queue in instruction.pops)

    def pop(self, instruction: _Instruction) -> None:
        for queue in instruction.pops:
            self.changes[queue] -= 1

    def push(self, instruction: _Instruction) -> None:
        for queue in instruction.pushes:
            self.changes[queue] += 1

    def commit(self) -> None:
        for queue, change in self.changes.items():
            self.counts[queue] += change
            self.changes[queue] = 0
            if self.counts[queue] > self.limit:
                raise DeviceError(f"more than {self.limit} tokens in queue {queue}")


class _Client:
    """One client of the read port: the bursts that it still wants, and the beats that it holds."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bursts: deque[int] = deque()
        self.arrived = self.reserved = 0
        self._delivered = self._consumed = self._granted = 0

    def request(self) -> int:
        """Beats of the burst that is presented in this cycle, or 0."""
        return self.bursts[0] if self.bursts and self.capacity - self.reserved >= self.bursts[0] else 0

    def grant(self) -> None:
        self._granted += self.bursts[0]

    def deliver(self) -> None:
        self._delivered += 1

    def consume(self, beats: int = 1) -> None:
        self._consumed += beats

    def commit(self) -> None:
        if self._granted:
            self.bursts.popleft()
        self.arrived += self._delivered - self._consumed
        self.reserved += self._granted - self._consumed
        self._delivered = self._consumed = self._granted = 0


class _Memory:
    """The read port, and the memory behind it."""

    def __init__(self, timing: TimingParameters, clients: tuple[_Client, ...]) -> None:
        self._timing = timing
        self._clients = clients
        self._flight: deque[tuple[int, _Client]] = deque()
        self._free = 0
        self.beats = 0

    def step(self, cycle: int) -> None:
        while self._flight and self._flight[0][0] == cycle:
            self._flight.popleft()[1].deliver()
            self.beats += 1
        for client in self._clients:
            beats = client.request()
            if beats:
                client.grant()
                start = max(cycle + self._timing.read_latency, self._free)
                interval = self._timing.beat_interval
                self._flight.extend((start + beat * interval, client) for beat in range(beats))
                self._free = start + beats * interval
                return


class _Queue:
    """The instructions that wait for a unit."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._items: deque[_Instruction] = deque()
        self._pushed: _Instruction | None = None
        self._popped = False

    @property
    def full(self) -> bool:
        return len(self._items) >= self._depth

    @property
    def head(self) -> _Instruction | None:
        return self._items[0] if self._items else None

    def push(self, instruction: _Instruction) -> None:
        self._pushed = instruction

    def pop(self) -> None:
        self._popped = True

    def commit(self) -> None:
        if self._popped:
            self._items.popleft()
        if self._pushed:
            self._items.append(self._pushed)
        self._pushed, self._popped = None, False


class _Fetch:
    def __init__(self, machine: _Machine, stream_address: int, timing: TimingParameters) -> None:
        self._machine = machine
        self._timing = timing
        self._address = stream_address
        self._delivered = self._consumed = self._next = 0
        self.client = _Client(timing.fetch_fifo)
        self.counter = _Counter()

    def step(self, cycle: int) -> None:
        count = len(self._machine.program)
        if cycle == 0:
            self.client.bursts.extend(cut(self._address, count * INSTRUCTION_BYTES, self._timing))
        if self._next == count:
            self.counter.count("idle")
            return
        end = self._address + (self._next + 1) * INSTRUCTION_BYTES
        beats = (end - 1) // self._timing.bus_bytes + 1 - self._address // self._timing.bus_bytes
        instruction = self._machine.program[self._next]
        if self.client.arrived + self._consumed < beats:
            self.counter.count("memory")
        elif self._machine.queues[instruction.unit].full:
            self.counter.count("token")
        else:
            self.counter.count("busy")
            self._machine.queues[instruction.unit].push(instruction)
            self._next += 1
            whole = end // self._timing.bus_bytes - self._address // self._timing.bus_bytes
            used = beats if self._next == count else whole
            self.client.consume(used - self._consumed)
            self._consumed = used


class _Receiver:
    """Takes the data of one load after the other: stage B of the load unit, and the loads of the compute unit."""

    def __init__(self, client: _Client) -> None:
        self._client = client
        self._beats = self._taken = self._zeros = 0
        self._ratio = 1

    def start(self, instruction: _Instruction) -> None:
        self._beats, self._taken = sum(instruction.bursts), 0
        self._zeros, self._ratio = instruction.zeros, instruction.ratio

    def step(self) -> tuple[bool, bool]:
        """Do one cycle's work; return whether there was any, and whether the load is complete."""
        consumes = self._taken < self._beats and self._client.arrived > 0
        if consumes:
            self._client.consume()
            self._taken += 1
        port_taken = consumes and self._taken % self._ratio == 0
        writes_zero = self._zeros > 0 and not port_taken
        if writes_zero:
            self._zeros -= 1
        complete = self._taken == self._beats and self._zeros == 0
        return consumes or writes_zero or complete, complete


class _Load:
    def __init__(self, machine: _Machine, timing: TimingParameters) -> None:
        self._machine = machine
        self._ahead = timing.load_ahead
        self.client = _Client(timing.load_fifo)
        self._receiver = _Receiver(self.client)
        self._accepted: deque[_Instruction] = deque()
        self._current: _Instruction | None = None
        self.counter = _Counter()

    def step(self, cycle: int) -> None:
        if self._current is None and self._accepted:
            self._current = self._accepted.popleft()
            self._receiver.start(self._current)
        incomplete = len(self._accepted) + (self._current is not None)
        kind = "idle"
        complete = False
        if self._current is not None:
            works, complete = self._receiver.step()
            kind = "busy" if works else "memory"
        head = self._machine.queues[Unit.LOAD].head
        if head is not None and not self.client.bursts:
            if self._machine.tokens.ready(head) and incomplete < self._ahead:
                self._machine.accept(head, cycle)
                self._accepted.append(head)
                self.client.bursts.extend(head.bursts)
            elif self._current is None:
                kind = "token"
        if complete and self._current is not None:
            self._machine.complete(self._current, cycle)
            self._current = None
        self.counter.count(kind)


class _Compute:
    def __init__(self, machine: _Machine, timing: TimingParameters) -> None:
        self._machine = machine
        self.client = _Client(timing.acc_fifo)
        self._receiver = _Receiver(self.client)
        self._issue_left = 0
        self._issuing: _Instruction | None = None
        self._loading: _Instruction | None = None
        self._data_from = 0
        self._pipeline: deque[tuple[int, _Instruction]] = deque()
        self._last_stage = _LAST_STAGE_THAT_REQUANTIZES if machine.hw.requantize_unit else _LAST_STAGE
        self.finished = False
        self.counter = _Counter()

    def step(self, cycle: int) -> None:
        kind, is_open = self._work(cycle)
        head = self._machine.queues[Unit.COMPUTE].head
        if is_open and head is not None:
            if self._machine.tokens.ready(head):
                self._machine.accept(head, cycle)
                self._begin(head, cycle)
            elif kind == "idle":
                kind = "token"
        if self._pipeline and self._pipeline[0][0] == cycle:
            done = self._pipeline.popleft()[1]
            self._machine.complete(done, cycle)
            self.finished = done.opcode is Opcode.FINISH
        self.counter.count(kind)

    def _work(self, cycle: int) -> tuple[str, bool]:
        """Do this cycle's work; return how it counts, and whether the unit is open."""
        if self._loading is not None:
            if cycle < self._data_from:
                return "memory", False
            works, complete = self._receiver.step()
            if complete:
                self._machine.complete(self._loading, cycle)
                self._loading = None
            return "busy" if works else "memory", complete
        if self._issuing is not None:
            self._issue_left -= 1
            if self._issue_left == 0:
                self._pipeline.append((cycle + self._last_stage, self._issuing))
                self._issuing = None
            return "busy", self._issuing is None
        return "idle", True

    def _begin(self, instruction: _Instruction, cycle: int) -> None:
        if instruction.bursts:
            self._loading = instruction
            self._data_from = cycle + 1 + self._last_stage
            self._receiver.start(instruction)
            self.client.bursts.extend(instruction.bursts)
        else:
            self._issuing, self._issue_left = instruction, instruction.slots


class _Store:
    def __init__(self, machine: _Machine, timing: TimingParameters) -> None:
        self._machine = machine
        self._timing = timing
        self._started = -1
        """Cycle c + 1 of the last instruction."""
        self._beats_left = 0
        self._flight: deque[tuple[int, _Instruction]] = deque()
        self._last_completion = -1
        self.beats = 0
        self.counter = _Counter()

    def step(self, cycle: int) -> None:
        incomplete = len(self._flight)
        sends = self._beats_left > 0 and cycle > self._started
        if sends:
            self._beats_left -= 1
            self.beats += 1
        kind = "busy" if sends or cycle == self._started else "idle"
        head = self._machine.queues[Unit.STORE].head
        if self._beats_left == 0 and head is not None:
            if not self._machine.tokens.ready(head):
                kind = "token" if kind == "idle" else kind
            elif incomplete >= self._timing.store_ahead:
                kind = "memory" if kind == "idle" else kind
            else:
                self._machine.accept(head, cycle)
                self._begin(head, cycle)
        if self._flight and self._flight[0][0] == cycle:
            self._machine.complete(self._flight.popleft()[1], cycle)
        self.counter.count(kind)

    def _begin(self, instruction: _Instruction, cycle: int) -> None:
        beats = sum(instruction.bursts)
        response = cycle + 1 + beats + (self._timing.write_latency if beats else 0)
        self._last_completion = max(response, self._last_completion + 1)
        self._flight.append((self._last_completion, instruction))
        self._started, self._beats_left = cycle + 1, beats


class _Machine:
    def __init__(self, instructions: NDArray[np.void], hw: HardwareConfig, timing: TimingParameters, stream_address: int) -> None:
        self.hw = hw
        units = units_of(instructions)
        self.program = [_decode(i, row, Unit(units[i]), hw, timing) for i, row in enumerate(instructions)]
        self.queues = {unit: _Queue(timing.queue_depth) for unit in Unit}
        self.tokens = _Tokens(timing.token_limit)
        self.fetch = _Fetch(self, stream_address, timing)
        self.load = _Load(self, timing)
        self.compute = _Compute(self, timing)
        self.store = _Store(self, timing)
        self._clients = (self.fetch.client, self.compute.client, self.load.client)
        self.memory = _Memory(timing, self._clients)
        self.accepted: dict[int, int] = {}
        self.completed: dict[int, int] = {}

    def step(self, cycle: int) -> None:
        self.memory.step(cycle)
        self.fetch.step(cycle)
        self.load.step(cycle)
        self.compute.step(cycle)
        self.store.step(cycle)
        self.tokens.commit()
        for queue in self.queues.values():
            queue.commit()
        for client in self._clients:
            client.commit()

    def accept(self, instruction: _Instruction, cycle: int) -> None:
        self.tokens.pop(instruction)
        self.queues[instruction.unit].pop()
        self.accepted[instruction.index] = cycle

    def complete(self, instruction: _Instruction, cycle: int) -> None:
        self.tokens.push(instruction)
        self.completed[instruction.index] = cycle

    def result(self, last: int) -> ReferenceTiming:
        units = {name: getattr(self, name).counter.result() for name in ("load", "compute", "store", "fetch")}
        return ReferenceTiming(last + 1, units, self.memory.beats, self.store.beats, self.accepted, self.completed)
