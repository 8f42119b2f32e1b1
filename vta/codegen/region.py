"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vta.codegen.arrangement import fastest_arrangement
from vta.codegen.assemble import assemble
from vta.codegen.emit_operators import emit_operators
from vta.codegen.interleave import pairs_of
from vta.codegen.memory import plan_memory
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.program import Program, Symbol, SymbolKind
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.operator import Tensor, TileOperator

if TYPE_CHECKING:
    from vta.codegen.packed_constant import Place

__all__ = ["CompiledOperators", "compile_operators"]


@dataclass(frozen=True)
class CompiledOperators:
    """A program and what it was made of."""

    program: Program
    ends: tuple[int, ...]
    """For each operator, the number of instructions that complete it and all before it."""
    places: list[Place]
    """Of constants in the image."""


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
    pairs = pairs_of(operators, schedules, hw)
    addresses, arena = plan_memory(operators, inputs, outputs, hw, frozenset(pair.first for pair in pairs))
    arrangement = fastest_arrangement(operators, schedules, pairs, addresses, arena, hw)
    emitted = emit_operators(operators, schedules, pairs, addresses, hw, arrangement=arrangement)
    symbols = _arena_symbols(operators, inputs, outputs, results, addresses, hw)
    assembled = assemble(emitted.stream, symbols, arena, emitted.names, serial)
    ends = tuple(int(np.flatnonzero(assembled.source == stop - 1)[0]) + 1 for stop in emitted.stops)
    return CompiledOperators(assembled.program, ends, assembled.places)


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
