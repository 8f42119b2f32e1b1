"""Compiles the operators of a region, in order, into one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.choose import choose_schedule
from vta.codegen.max_pool import choose_pool_tile, emit_max_pool
from vta.codegen.memory_plan import Lifetime, place
from vta.codegen.region_program import MOVE_SUFFIX
from vta.codegen.schedule import Schedule, terms_of
from vta.codegen.stream import Segment, Stream
from vta.codegen.tile_template import emit_tiles
from vta.codegen.tokens import place_tokens
from vta.codegen.workload import Level, MaxPool, Operator, Step, Tensor, TileOperator
from vta.config import HardwareConfig
from vta.isa.encoding import encode_uops
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE
from vta.isa.program import PAGE_BYTES, Program, Symbol, SymbolKind
from vta.targets import MemoryType

__all__ = ["CompiledOperators", "ScheduleChooser", "compile_operators", "flattened", "sources_of"]

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
                flat = flattened(operator)
                emit_tiles(stream, flat, chooser(flat, hw), addresses)
        stops.append(len(stream.rows))
    return _assemble(stream, names, stops, _arena_symbols(operators, inputs, outputs, addresses, hw), arena, serial)


def flattened(operator: TileOperator) -> TileOperator:
    """View rows and columns as one axis where no term looks beyond its own position."""
    if not all(term.pointwise for term in terms_of(operator)):
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
        for tensor in (*sources_of(operator), operator.output):
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
        tensors.update({tensor.name: tensor for tensor in (*sources_of(operator), operator.output)})
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


def _assemble(
    stream: Stream, names: list[str], stops: list[int], arena_symbols: list[Symbol], arena: int, serial: bool
) -> CompiledOperators:
    """Lay out the image: micro-ops, constants, arena; resolve addresses; place tokens."""
    hw = stream.hw
    uops = np.concatenate(stream.uops.sequences) if stream.uops.sequences else np.zeros(0, UOP_DTYPE)
    uop_bytes = encode_uops(uops, hw).astype("<u4").view(np.uint8)
    constants_at = _page(len(uop_bytes))
    arena_at = constants_at + _page(stream.constants_bytes)
    plan = place_tokens(stream, arena, serial)
    source = np.array(plan.source, dtype=np.int64)
    instructions = np.array([tuple(row) for row in plan.rows], dtype=INSTRUCTION_DTYPE)
    _relocate(instructions, source, stream, {Segment.UOPS: 0, Segment.CONSTANTS: constants_at, Segment.ARENA: arena_at})
    image = np.zeros(arena_at, dtype=np.uint8)
    image[: len(uop_bytes)] = uop_bytes
    image[constants_at : constants_at + stream.constants_bytes] = np.frombuffer(b"".join(stream.constants), np.uint8)
    symbols = [
        Symbol("uops", SymbolKind.UOP, 0, len(uop_bytes)),
        Symbol("constants", SymbolKind.CONSTANT, constants_at, stream.constants_bytes),
        *(replace(symbol, offset=symbol.offset + arena_at) for symbol in arena_symbols),
    ]
    found = source >= 0
    operator_index = np.full(len(source), -1, dtype=np.int32)
    operator_index[found] = np.array(stream.operators, dtype=np.int32)[source[found]]
    tile_index = np.full(len(source), -1, dtype=np.int32)
    tile_index[found] = np.array(stream.tiles, dtype=np.int32)[source[found]]
    program = Program(
        hw,
        instructions,
        image,
        arena_at + _page(arena * hw.elem_bytes(MemoryType.OUT)),
        tuple(symbols),
        tuple(names),
        operator_index,
        tile_index,
    )
    ends = tuple(int(np.flatnonzero(source == stop - 1)[0]) + 1 for stop in stops)
    return CompiledOperators(program, ends)


def _relocate(instructions: NDArray[np.void], source: NDArray[np.int64], stream: Stream, bases: dict[Segment, int]) -> None:
    """Turn addresses within a segment into addresses within the image."""
    segments = np.zeros(len(source), dtype=np.int64)
    found = source >= 0
    segments[found] = np.array(stream.segments, dtype=np.int64)[source[found]]
    shifts = np.array([stream.hw.log_elem_bytes[memory] for memory in MemoryType])
    for segment, base in bases.items():
        rows = segments == segment
        instructions["dram_base"][rows] += base >> shifts[instructions["memory_type"][rows]]


def _page(nbytes: int) -> int:
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES
