"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vta.codegen.assemble import assemble
from vta.codegen.choose import choose_schedule
from vta.codegen.max_pool import choose_pool_tile, emit_max_pool
from vta.codegen.memory_plan import Lifetime, place
from vta.codegen.preload import preloaded
from vta.codegen.region_program import MOVE_SUFFIX
from vta.codegen.schedule import Schedule, terms_of
from vta.codegen.stream import Stream
from vta.codegen.tile_template import emit_tiles
from vta.codegen.workload import Level, MaxPool, Operator, Step, Tensor, TileOperator
from vta.config import HardwareConfig
from vta.isa.program import Program, Symbol, SymbolKind
from vta.targets import MemoryType

__all__ = ["CompiledOperators", "ScheduleChooser", "compile_operators", "flattened", "prepared", "sources_of"]

ScheduleChooser = Callable[[TileOperator, HardwareConfig], Schedule]


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
    addresses, arena = _plan_memory(operators, inputs, outputs)
    stream = Stream(hw)
    names: list[str] = []
    stops: list[int] = []
    for operator in operators:
        names += [operator.name, operator.name + MOVE_SUFFIX]
        with stream.origin(len(names) - 2, len(names) - 1):
            if isinstance(operator, MaxPool):
                emit_max_pool(stream, operator, addresses, choose_pool_tile(operator, hw))
            else:
                flat = prepared(operator, hw)
                emit_tiles(stream, flat, chooser(flat, hw), addresses)
        stops.append(len(stream.rows))
    done = stream.gather_uop_loads()
    symbols = _arena_symbols(operators, inputs, outputs, addresses, hw)
    assembled = assemble(stream, symbols, arena, names, serial)
    ends = tuple(int(np.flatnonzero(assembled.source == done[stop - 1] - 1)[0]) + 1 for stop in stops)
    return CompiledOperators(assembled.program, ends)


def prepared(operator: TileOperator, hw: HardwareConfig) -> TileOperator:
    """The operator as the template runs it: what a chooser gets, and what a schedule is for."""
    return preloaded(flattened(operator), hw)


def flattened(operator: TileOperator) -> TileOperator:
    """View rows and columns as one axis where no term looks beyond its own position and there is no border."""
    if operator.border is not None or not all(term.pointwise for term in terms_of(operator)):
        return operator

    def flat(tensor: Tensor) -> Tensor:
        return replace(tensor, height=1, width=tensor.height * tensor.width)

    def flat_levels(levels: tuple[Level, ...]) -> tuple[Level, ...]:
        return tuple(
            replace(level, terms=tuple(replace(term, source=flat(term.source)) for term in level.terms)) for level in levels
        )

    steps = tuple(
        Step(step.op, flat_levels(step.operand)) if isinstance(step.operand, tuple) else step for step in operator.steps
    )
    return replace(operator, output=flat(operator.output), levels=flat_levels(operator.levels), steps=steps)


def _plan_memory(
    operators: Sequence[Operator], inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[dict[str, int], int]:
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
