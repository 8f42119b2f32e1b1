"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vta.codegen.assemble import assemble
from vta.codegen.gemm_description import FROM_BOTTOM, Placement
from vta.codegen.interleave import Pair, interleaved_order
from vta.codegen.memory import plan_memory
from vta.codegen.prefetch import has_one_place, prefetched_order
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

__all__ = ["CompiledOperators", "compile_operators"]


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
    pairs: Sequence[Pair] = (),
) -> CompiledOperators:
    """Compile `operators`, in an order in which each follows those it reads from, into one program.

    `schedules` are those of the operators, None for those that have none; by default the best by estimate.
    Every tensor that an operator reads or stores has a symbol, and so have `results`, which lie in the memory of those.
    With `serial` the tokens let one unit run at a time. Of `pairs` tiles take turns, if all micro-ops fit on chip together.
    Raises `CompileError` naming the operator and limit if one fits no schedule.
    """
    if schedules is None:
        scheduled = (operator.scheduled for operator in operators)
        schedules = [None if operator is None else choose_schedule(operator, hw) for operator in scheduled]
    addresses, arena = plan_memory(operators, inputs, outputs, hw, frozenset(pair.first for pair in pairs))
    stream = Stream(hw, gathers_uops=True)
    try:
        names, stops = _emit(stream, operators, addresses, schedules, _placements(len(operators), pairs, hw))
        if hw.capabilities.requantize:
            stops = _interleaved(stream, stops, pairs)
            stops = _prefetched(stream, stops, [i for i, each in enumerate(operators) if has_one_place(each)])
            stops = _after(stream.trim_resets(), stops)
        stops = _after(stream.gather_uop_loads(), stops)
    except UopsOverflow:
        stream = Stream(hw, groups_uops=True)
        names, stops = _emit(stream, operators, addresses, schedules, [FROM_BOTTOM] * len(operators))
    symbols = _arena_symbols(operators, inputs, outputs, results, addresses, hw)
    assembled = assemble(stream, symbols, arena, names, serial)
    ends = tuple(int(np.flatnonzero(assembled.source == stop - 1)[0]) + 1 for stop in stops)
    return CompiledOperators(assembled.program, ends)


def _placements(count: int, pairs: Sequence[Pair], hw: HardwareConfig) -> list[Placement]:
    """Where operators lie in the buffers: with the unit by turns at either end, so that one loads while the one before computes."""
    if not hw.capabilities.requantize:
        return [FROM_BOTTOM] * count
    taking_turns = {index for pair in pairs for index in (pair.first, pair.first + 1)}
    return [Placement(from_top=index % 2 == 1, interleaved=index in taking_turns) for index in range(count)]


def _interleaved(stream: Stream, stops: Sequence[int], pairs: Sequence[Pair]) -> list[int]:
    """Let tiles of pairs take turns; returns where each operator and all before it are done then, of those that end at `stops`."""
    if not pairs:
        return list(stops)
    order, edges = np.arange(len(stream)), [0, *stops]
    for pair in pairs:
        begin, middle, end = edges[pair.first : pair.first + 3]
        order[begin:end] = interleaved_order(stream, begin, middle, end, pair.lag)
    return _reordered(stream, stops, order)


def _prefetched(stream: Stream, stops: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Load the weights of operators earlier; returns where operators are done then."""
    return _reordered(stream, stops, prefetched_order(stream, stops, wanted, stream.hw)) if wanted else list(stops)


def _reordered(stream: Stream, stops: Sequence[int], order: NDArray[np.int64]) -> list[int]:
    """Bring the instructions into another order; returns where each operator and all before it are done then."""
    stream.select(order)
    reached = np.maximum.accumulate(np.argsort(order))
    return [int(reached[stop - 1]) + 1 for stop in stops]


def _after(done: NDArray[np.int64], stops: Sequence[int]) -> list[int]:
    return [int(done[stop - 1]) for stop in stops]


def _emit(
    stream: Stream,
    operators: Sequence[TileOperator],
    addresses: Mapping[str, int],
    schedules: Sequence[Schedule | None],
    placements: Sequence[Placement],
) -> tuple[list[str], list[int]]:
    """Emit operators; returns the names that their instructions are attributed to, and where each operator ends."""
    names: list[str] = []
    stops: list[int] = []
    for operator, schedule, placement in zip(operators, schedules, placements, strict=True):
        # Operators of one name that follow each other are one layer.
        if names[-2:-1] != [operator.name]:
            names += [operator.name, operator.name + MOVE_SUFFIX]
        with stream.origin(len(names) - 2, len(names) - 1):
            emit_operator(operator, stream, addresses, schedule, placement)
        stops.append(len(stream))
    return names, stops


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
