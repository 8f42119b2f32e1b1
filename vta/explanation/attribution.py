"""Gives every cycle of a region's run one cause and one operator, from the timeline of the cycle engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import MOVE_SUFFIX
from vta.config.targets import MemoryType
from vta.devices.device import InstructionTimes, RunResult
from vta.explanation.causes import Cause
from vta.explanation.segments import BUSY, IDLE, MEMORY, TOKEN, Segments, activity_of, segments_of
from vta.isa.instruction import AluOp, Opcode, Unit, units_of
from vta.isa.program import Program
from vta.support.dataclass import dataclass

__all__ = ["PRODUCTS", "Attribution", "attribute"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PRODUCTS = "products"
"""Stands in place of a cause for products that the network asks for, padding and all."""

_CAUSES: tuple[Cause | str, ...] = (*Cause, PRODUCTS)
_NUMBERS = {cause: number for number, cause in enumerate(_CAUSES)}
_MICRO_OPS = (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE)
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Attribution:
    """The cycles of a region: they add up to those of its run."""

    operators: tuple[str, ...]
    cycles: Ints
    """Shape (operators, causes)."""

    def of(self, operator: str) -> dict[Cause | str, int]:
        """The cycles of an operator by their cause, or `PRODUCTS`."""
        return dict(zip(_CAUSES, self.cycles[self.operators.index(operator)].tolist(), strict=True))


def attribute(program: Program, result: RunResult) -> Attribution:
    """Attribute the cycles of a run that kept its timeline."""
    assert result.times is not None, "the cycle engine times every instruction"
    segments = segments_of(result)
    names, owners = _owners(program)
    cycles = np.zeros((len(names), len(_CAUSES)), np.int64)
    for rows, number, spent in _spent(program, result, result.times, segments):
        np.add.at(cycles, (owners[segments.instruction[rows]], number), spent)
    return Attribution(names, cycles)


_Spent = tuple[NDArray[np.intp], Ints, Ints]
"""Positions of segments, and for each a cause by its number and cycles that it takes of the segment."""


def _spent(program: Program, result: RunResult, times: InstructionTimes, segments: Segments) -> Iterator[_Spent]:
    work = np.isin(program.instructions["opcode"], _MICRO_OPS)
    length = segments.end - segments.start
    of_instruction = _instruction_causes(program)[segments.instruction]
    loads = (program.instructions["opcode"] == Opcode.LOAD)[segments.instruction]
    busy = segments.kind == BUSY
    first, last = _first_and_last(segments, busy & work[segments.instruction])
    position = np.arange(len(length))
    own = (busy | ((segments.kind == MEMORY) & loads)) & (position <= last)
    needed = np.where(of_instruction == _NUMBERS[PRODUCTS], np.minimum(length, _slots(program)[segments.instruction]), length)
    yield np.flatnonzero(own), of_instruction[own], needed[own]
    yield from _whole(own, Cause.ISSUE, length - needed)
    waits = ~own & (position <= last)
    filling = waits & (position < first)
    yield from _whole(filling, Cause.FILL, length)
    yield from _whole(position > last, Cause.DRAIN, length)
    yield from _whole(waits & ~filling & (segments.kind == MEMORY), Cause.MEMORY_LATENCY, length)
    yield from _idle(waits & ~filling & (segments.kind == IDLE), segments, times)
    yield from _token_waits(waits & ~filling & (segments.kind == TOKEN), program, result, times, segments)


def _whole(rows: Bools, cause: Cause, length: Ints) -> Iterator[_Spent]:
    chosen = np.flatnonzero(rows)
    yield chosen, np.full(len(chosen), _NUMBERS[cause]), length[chosen]


def _first_and_last(segments: Segments, work: Bools) -> tuple[int, int]:
    """The positions of the first and the last segment in which micro-ops are issued; of a run without any, its end."""
    found = np.flatnonzero(work)
    return (int(found[0]), int(found[-1])) if len(found) else (len(segments.start), len(segments.start))


def _idle(rows: Bools, segments: Segments, times: InstructionTimes) -> Iterator[_Spent]:
    """Idle cycles: the next instruction is not there yet, or it is only taken."""
    chosen = np.flatnonzero(rows)
    start, end = segments.start[chosen], segments.end[chosen]
    there = times.dispatched[segments.instruction[chosen]] + 1
    missing = np.clip(there - start, 0, end - start)
    yield chosen, np.full(len(chosen), _NUMBERS[Cause.INSTRUCTION_FETCH]), missing
    yield chosen, np.full(len(chosen), _NUMBERS[Cause.ISSUE]), end - start - missing


def _token_waits(
    rows: Bools, program: Program, result: RunResult, times: InstructionTimes, segments: Segments
) -> Iterator[_Spent]:
    """Waits for tokens, by what the unit that gives the last one does meanwhile."""
    chosen = np.flatnonzero(rows)
    waiting = segments.instruction[chosen]
    from_load = _arrivals(program, times, "pop_prev", Unit.LOAD, "push_next")
    from_store = _arrivals(program, times, "pop_next", Unit.STORE, "push_prev")
    by_load = from_load.cycle[waiting] >= from_store.cycle[waiting]
    for unit, given, arrivals in (("load", by_load, from_load), ("store", ~by_load, from_store)):
        part = chosen[given]
        start, end = segments.start[part], segments.end[part]
        moving = activity_of(result, unit, BUSY).within(start, end)
        late = activity_of(result, unit, MEMORY).within(start, end)
        waits = activity_of(result, unit, TOKEN).within(start, end)
        idle = end - start - moving - late - waits
        giver = arrivals.giver[waiting[given]]
        fetched = np.where(giver >= 0, times.dispatched[giver] + 1, start)
        unfetched = np.minimum(idle, np.clip(fetched - start, 0, end - start))
        amounts = {
            Cause.BUS_WIDTH: moving,
            Cause.MEMORY_LATENCY: late,
            Cause.INSTRUCTION_FETCH: unfetched,
            Cause.TOKENS: waits + idle - unfetched,
        }
        for cause, cycles in amounts.items():
            yield part, np.full(len(part), _NUMBERS[cause]), cycles


@dataclass(frozen=True)
class _Arrivals:
    """By instruction: when the token that it pops is there, -1 if it pops none, and who gives it."""

    cycle: Ints
    giver: Ints


def _arrivals(program: Program, times: InstructionTimes, pop: str, unit: Unit, push: str) -> _Arrivals:
    """Tokens of one queue are popped in the order in which they are pushed."""
    instructions = program.instructions
    units = units_of(instructions)
    givers = np.flatnonzero((units == unit) & (instructions[push] != 0))
    takers = np.flatnonzero((units == Unit.COMPUTE) & (instructions[pop] != 0))
    count = min(len(givers), len(takers))
    cycle, giver = np.full(len(instructions), -1, np.int64), np.full(len(instructions), -1, np.int64)
    cycle[takers] = _NEVER
    cycle[takers[:count]], giver[takers[:count]] = times.completed[givers[:count]] + 1, givers[:count]
    return _Arrivals(cycle, giver)


def _instruction_causes(program: Program) -> Ints:
    """By instruction: what its own cycles are spent on."""
    rows = program.instructions
    opcode, memory = rows["opcode"], rows["memory_type"]
    alu = opcode == Opcode.ALU
    clips = alu & np.isin(rows["alu_opcode"], (AluOp.MIN, AluOp.MAX))
    products = np.isin(opcode, (Opcode.GEMM, Opcode.DEPTHWISE)) & (rows["reset"] == 0)
    moved = _of_moves(program)
    load = (opcode == Opcode.LOAD) & (rows["x_size"] > 0) & (rows["y_size"] > 0)
    choices: list[tuple[Bools, Cause | str]] = [
        ((opcode == Opcode.GEMM) & (rows["reset"] != 0), Cause.STARTS),
        (products & moved, Cause.MOVES),
        (products & ~moved, PRODUCTS),
        (clips, Cause.CLIPS),
        (alu & ~clips, Cause.REQUANTIZATION),
        (load & (memory == MemoryType.UOP), Cause.UOP_LOADS),
        (load & (memory != MemoryType.UOP), Cause.CONSTANT_LOADS),
    ]
    causes = np.full(len(rows), _NUMBERS[Cause.ISSUE])
    for chosen, cause in choices:
        causes[chosen] = _NUMBERS[cause]
    causes[np.isin(opcode, _MICRO_OPS) & (_slots(program) <= 0)] = _NUMBERS[Cause.ISSUE]
    return causes


def _slots(program: Program) -> Ints:
    """The micro-ops of each instruction."""
    rows = program.instructions
    return np.asarray(rows["iter_out"] * rows["iter_in"] * (rows["uop_end"] - rows["uop_bgn"]))


def _of_moves(program: Program) -> Bools:
    if not len(program.operator_index):
        return np.zeros(len(program.instructions), np.bool_)
    moves = np.array([name.endswith(MOVE_SUFFIX) for name in (*program.operators, "")])
    return np.asarray(moves[program.operator_index])


def _owners(program: Program) -> tuple[tuple[str, ...], Ints]:
    """The operators, and the number of that of each instruction; what belongs to none goes with the one before it.

    Of a program that does not know where its instructions come from, all is one operator without a name.
    """
    if not len(program.operator_index):
        return ("",), np.zeros(len(program.instructions), np.int64)
    plain = [name.removesuffix(MOVE_SUFFIX) for name in program.operators]
    names = tuple(dict.fromkeys(plain))
    numbers = np.array([*(names.index(name) for name in plain), -1])[program.operator_index]
    known = np.where(numbers >= 0, np.arange(len(numbers)), -1)
    before = np.maximum.accumulate(known)
    return names, np.where(before >= 0, numbers[before], 0)
