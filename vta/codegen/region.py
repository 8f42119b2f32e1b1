"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vta.codegen.arena import Lifetime, place
from vta.codegen.assemble import assemble
from vta.codegen.region_program import MOVE_SUFFIX
from vta.codegen.stream import Stream, UopsOverflow
from vta.codegen.templates import emit_operator
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.program import Program, Symbol, SymbolKind
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.operator import Tensor, TileOperator

__all__ = ["CompiledOperators", "compile_operators", "plan_memory"]


@dataclass(frozen=True)
class CompiledOperators:
    """A program and, for each operator, the number of instructions that complete it and all before it."""

    program: Program
    ends: tuple[int, ...]


def compile_operators(
    operators: Sequence[TileOperator],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    hw: HardwareConfig,
    schedules: Sequence[Schedule | None] | None = None,
    serial: bool = False,
    results: Sequence[Tensor] = (),
) -> CompiledOperators:
    """Compile `operators`, in an order in which each follows those it reads from, into one program.

    `schedules` are those of the operators, None for those that have none; by default the best by estimate.
    Every tensor that an operator reads or stores has a symbol, and so have `results`, which lie in the memory of those.
    With `serial` the tokens let one unit run at a time.
    Raises `CompileError` naming the operator and limit if one fits no schedule.
    """
    if schedules is None:
        scheduled = (operator.scheduled for operator in operators)
        schedules = [None if operator is None else choose_schedule(operator, hw) for operator in scheduled]
    addresses, arena = plan_memory(operators, inputs, outputs, hw)
    stream = Stream(hw, gathers_uops=True)
    try:
        names, stops = _emit(stream, operators, addresses, schedules)
        done = stream.gather_uop_loads()
        stops = [int(done[stop - 1]) for stop in stops]
    except UopsOverflow:
        stream = Stream(hw, groups_uops=True)
        names, stops = _emit(stream, operators, addresses, schedules)
    symbols = _arena_symbols(operators, inputs, outputs, results, addresses, hw)
    assembled = assemble(stream, symbols, arena, names, serial)
    ends = tuple(int(np.flatnonzero(assembled.source == stop - 1)[0]) + 1 for stop in stops)
    return CompiledOperators(assembled.program, ends)


def _emit(
    stream: Stream, operators: Sequence[TileOperator], addresses: Mapping[str, int], schedules: Sequence[Schedule | None]
) -> tuple[list[str], list[int]]:
    """Emit operators; returns the names that their instructions are attributed to, and where each operator ends."""
    names: list[str] = []
    stops: list[int] = []
    for operator, schedule in zip(operators, schedules, strict=True):
        # Operators of one name that follow each other are one layer.
        if names[-2:-1] != [operator.name]:
            names += [operator.name, operator.name + MOVE_SUFFIX]
        with stream.origin(len(names) - 2, len(names) - 1):
            emit_operator(operator, stream, addresses, schedule)
        stops.append(len(stream))
    return names, stops


def plan_memory(
    operators: Sequence[TileOperator], inputs: Sequence[Tensor], outputs: Sequence[Tensor], hw: HardwareConfig
) -> tuple[dict[str, int], int]:
    """Arena element at which the memory of each tensor starts, and the size of the arena in elements.

    Inputs and outputs keep their memory throughout, so that a program can be run again on what is there. Tensors that are
    parts of one have its memory, for as long as any of them lives. Where some are weights, all start at whole blocks of these.
    """
    grain = hw.block if any(operator.computes_weights for operator in operators) else 1
    lifetimes: dict[str, Lifetime] = {}
    for tensor in (*inputs, *outputs):
        lifetimes[tensor.memory.name] = Lifetime(_size(tensor, grain), 0, len(operators))
    for index, operator in enumerate(operators):
        for tensor in operator.tensors:
            known = lifetimes.get(tensor.memory.name)
            size = _size(tensor, grain)
            first, last = (index, index) if known is None else (known.first, max(known.last, index))
            lifetimes[tensor.memory.name] = Lifetime(size if known is None else known.size, first, last)
    offsets, arena = place(list(lifetimes.values()))
    return dict(zip(lifetimes, offsets, strict=True)), arena


def _size(tensor: Tensor, grain: int) -> int:
    """Elements of the memory that holds a tensor, and whole multiples of `grain`."""
    return -(-tensor.memory.elements * tensor.planes // grain) * grain


def _arena_symbols(
    operators: Sequence[TileOperator],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    results: Sequence[Tensor],
    addresses: Mapping[str, int],
    hw: HardwareConfig,
) -> list[Symbol]:
    """Symbols of the arena, at offsets from its start."""
    replaced = {tensor.memory.name for tensor in outputs}
    kinds = {tensor.name: SymbolKind.STATE if tensor.name in replaced else SymbolKind.INPUT for tensor in inputs}
    kinds |= {tensor.name: SymbolKind.OUTPUT for tensor in outputs}
    tensors = {tensor.name: tensor for tensor in (*inputs, *outputs, *results)}
    for operator in operators:
        tensors.update({tensor.name: tensor for tensor in operator.tensors})
    elem = hw.elem_bytes(MemoryType.OUT)
    symbols = []
    for name, tensor in tensors.items():
        first = tensor.index(0, 0, 0, 0)
        last = tensor.index(tensor.batch - 1, tensor.blocks - 1, tensor.height - 1, tensor.width - 1)
        count = tensor.elements * tensor.planes if tensor.container is None else last + 1 - first
        kind = kinds.get(name, SymbolKind.SCRATCH)
        symbols.append(Symbol(name, kind, (addresses[tensor.memory.name] + first) * elem, count * elem))
    return symbols
