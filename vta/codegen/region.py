"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vta.codegen.assemble import assemble, located
from vta.codegen.choose import ScheduleChooser, choose_schedule
from vta.codegen.max_pool import choose_pool_tile, emit_max_pool
from vta.codegen.memory_plan import Lifetime, place
from vta.codegen.region_program import MOVE_SUFFIX
from vta.codegen.schedule import laid_out, terms_of
from vta.codegen.stream import Stream, UopsOverflow
from vta.codegen.tile_template import emit_tiles
from vta.codegen.workload import MaxPool, Operator, Tensor
from vta.config import HardwareConfig
from vta.isa.encoding import encode
from vta.isa.program import PAGE_BYTES, Program, Symbol, SymbolKind
from vta.targets import MemoryType

__all__ = ["CompiledOperators", "compile_operators", "plan_memory", "sources_of", "timing_stream"]


@dataclass(frozen=True)
class CompiledOperators:
    """A program and, for each operator, the number of instructions that complete it and all before it."""

    program: Program
    ends: tuple[int, ...]


def sources_of(operator: Operator) -> list[Tensor]:
    """The tensors that an operator reads, each once."""
    if isinstance(operator, MaxPool):
        return [operator.source]
    return list({term.source.name: term.source for term in terms_of(operator)}.values())


def compile_operators(
    operators: Sequence[Operator],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    hw: HardwareConfig,
    chooser: ScheduleChooser = choose_schedule,
    serial: bool = False,
) -> CompiledOperators:
    """Compile `operators`, in an order in which each follows those it reads from, into one program.

    With `serial` the tokens let one unit run at a time.
    Raises `CompileError` naming the operator and limit if one fits no schedule.
    """
    addresses, arena = plan_memory(operators, inputs, outputs)
    stream = Stream(hw, gathers_uops=True)
    try:
        names, stops = _emit(stream, operators, addresses, chooser)
        done = stream.gather_uop_loads()
        stops = [done[stop - 1] for stop in stops]
    except UopsOverflow:
        stream = Stream(hw, groups_uops=True)
        names, stops = _emit(stream, operators, addresses, chooser)
    symbols = _arena_symbols(operators, inputs, outputs, addresses, hw)
    assembled = assemble(stream, symbols, arena, names, serial)
    ends = tuple(int(np.flatnonzero(assembled.source == stop - 1)[0]) + 1 for stop in stops)
    return CompiledOperators(assembled.program, ends)


def timing_stream(operators: Sequence[Operator], hw: HardwareConfig, chooser: ScheduleChooser) -> NDArray[np.uint8]:
    """The binary stream of `operators`, shape (n, 16), without micro-ops and constants: enough to time it.

    It is that of `compile_operators` with the image at the first page, and every tensor in memory of its own.
    """
    tensors = {tensor.name: tensor for operator in operators for tensor in (*sources_of(operator), operator.stored)}
    addresses, arena = plan_memory(operators, list(tensors.values()), [])
    stream = Stream(hw, keeps_data=False)
    _emit(stream, operators, addresses, chooser)
    stream.gather_uop_loads()
    return encode(located(stream, arena, base=PAGE_BYTES).instructions, hw)


def _emit(
    stream: Stream, operators: Sequence[Operator], addresses: Mapping[str, int], chooser: ScheduleChooser
) -> tuple[list[str], list[int]]:
    """Emit operators; returns the names that their instructions are attributed to, and where each operator ends."""
    hw = stream.hw
    names: list[str] = []
    stops: list[int] = []
    for operator in operators:
        names += [operator.name, operator.name + MOVE_SUFFIX]
        with stream.origin(len(names) - 2, len(names) - 1):
            if isinstance(operator, MaxPool):
                emit_max_pool(stream, operator, addresses, choose_pool_tile(operator, hw))
            else:
                schedule = chooser(operator, hw)
                emit_tiles(stream, laid_out(operator, schedule), schedule, addresses)
        stops.append(len(stream.rows))
    return names, stops


def plan_memory(operators: Sequence[Operator], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[dict[str, int], int]:
    """Arena element at which each tensor starts, and the size of the arena in elements.

    Inputs and outputs keep their memory throughout, so that a program can be run again on what is there.
    """
    lifetimes: dict[str, Lifetime] = {}
    for tensor in (*inputs, *outputs):
        lifetimes[tensor.name] = Lifetime(tensor.elements * tensor.planes, 0, len(operators))
    for index, operator in enumerate(operators):
        for tensor in (*sources_of(operator), operator.stored):
            known = lifetimes.get(tensor.name)
            size = tensor.elements * tensor.planes
            first, last = (index, index) if known is None else (known.first, max(known.last, index))
            lifetimes[tensor.name] = Lifetime(size if known is None else known.size, first, last)
    offsets, arena = place(list(lifetimes.values()))
    return dict(zip(lifetimes, offsets, strict=True)), arena


def _arena_symbols(
    operators: Sequence[Operator],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    addresses: Mapping[str, int],
    hw: HardwareConfig,
) -> list[Symbol]:
    """Symbols of the arena, at offsets from its start."""
    kinds = {tensor.name: SymbolKind.INPUT for tensor in inputs} | {tensor.name: SymbolKind.OUTPUT for tensor in outputs}
    tensors = {tensor.name: tensor for tensor in inputs}
    for operator in operators:
        tensors.update({tensor.name: tensor for tensor in (*sources_of(operator), operator.stored)})
    elem = hw.elem_bytes(MemoryType.OUT)
    return [
        Symbol(
            name,
            kinds.get(name, SymbolKind.SCRATCH),
            addresses[name] * elem,
            tensor.elements * tensor.planes * elem,
        )
        for name, tensor in tensors.items()
    ]
