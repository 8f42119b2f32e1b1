"""Tokens: programs that the verifier proves, with no token more than they need."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip
from vta.codegen.assemble import assemble
from vta.codegen.stream import Loop, Segment, Stream, single_uop
from vta.codegen.tokens import place_tokens
from vta.compiler.compile import compile_graph
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.ir.graph import Graph, graph_input
from vta.isa.instruction import FLAGS, AluOp, Opcode, units_of
from vta.isa.program import Symbol, SymbolKind
from vta.isa.verify import verify

BYTES = BASELINE.elem_bytes(MemoryType.OUT)
TILES, ROWS = 6, 8
IN, OUT = 0, TILES * ROWS
ARENA = 2 * TILES * ROWS


def double_buffered(slots=2):
    """Six tiles that are loaded, passed through the accumulator and stored, in `slots` slots of every buffer."""
    stream = Stream(BASELINE)
    identity = stream.add_constant(np.eye(BASELINE.block, dtype=np.int8), MemoryType.WGT)
    stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, identity, 1)
    for tile in range(TILES):
        row = tile % slots * ROWS
        stream.load(MemoryType.INP, row, Segment.ARENA, IN + tile * ROWS, ROWS)
        stream.gemm(single_uop(row), inner=Loop(ROWS, 1, 0), reset=True)
        stream.gemm(single_uop(row, row), inner=Loop(ROWS, 1, 1))
        stream.alu(AluOp.MAX, single_uop(row, row), inner=Loop(ROWS, 1, 1), imm=0)
        stream.store(row, OUT + tile * ROWS, ROWS, 1, ROWS)
    return stream


def program_of(stream, serial=False):
    symbols = [
        Symbol("x", SymbolKind.INPUT, IN * BYTES, TILES * ROWS * BYTES),
        Symbol("y", SymbolKind.OUTPUT, OUT * BYTES, TILES * ROWS * BYTES),
    ]
    return assemble(stream, symbols, ARENA, serial=serial).program


def count(program, flag):
    return int(program.instructions[flag].sum())


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("serial", [False, True])
def test_the_verifier_finds_nothing(slots, serial):
    assert verify(program_of(double_buffered(slots), serial)) == []


def test_every_token_is_popped():
    program = program_of(double_buffered())
    assert count(program, "push_prev") + count(program, "push_next") == count(program, "pop_prev") + count(program, "pop_next")


def test_a_double_buffered_program_needs_two_tokens_per_tile_and_direction():
    program = program_of(double_buffered())
    units = units_of(program.instructions)
    pops = {
        (unit, flag): int(program.instructions[flag][units == unit].sum())
        for unit in (0, 1, 2)
        for flag in ("pop_prev", "pop_next")
    }
    # Load to compute and compute to store: one a tile. Back: one for each tile that takes over a slot, and for FINISH.
    assert pops == {
        (0, "pop_prev"): 0,
        (0, "pop_next"): 4,
        (1, "pop_prev"): 6,
        (1, "pop_next"): 5,
        (2, "pop_prev"): 6,
        (2, "pop_next"): 0,
    }


def test_dropping_any_one_token_is_found():
    program = program_of(double_buffered())
    pairs = token_pairs(program.instructions)
    assert len(pairs) == count(program, "pop_prev") + count(program, "pop_next")
    for pusher, push, popper, pop in pairs:
        instructions = program.instructions.copy()
        instructions[push][pusher] = 0
        instructions[pop][popper] = 0
        assert verify(replace(program, instructions=instructions)), f"{push} of {pusher}, {pop} of {popper}"


def token_pairs(instructions):
    """Each token as (pusher, flag, popper, flag): every queue is first in, first out."""
    units = units_of(instructions)
    pairs = []
    for producer, push, consumer, pop in (
        (0, "push_next", 1, "pop_prev"),
        (1, "push_prev", 0, "pop_next"),
        (1, "push_next", 2, "pop_prev"),
        (2, "push_prev", 1, "pop_next"),
    ):
        pushers = np.flatnonzero((units == producer) & (instructions[push] != 0))
        poppers = np.flatnonzero((units == consumer) & (instructions[pop] != 0))
        pairs += [(int(a), push, int(b), pop) for a, b in zip(pushers, poppers, strict=True)]
    return pairs


def test_a_load_that_follows_a_store_waits_through_compute():
    """What is stored is loaded again: load and store are no neighbours."""
    stream = double_buffered(1)
    stream.load(MemoryType.INP, 0, Segment.ARENA, OUT, ROWS)
    stream.gemm(single_uop(0), inner=Loop(ROWS, 1, 0), reset=True)
    stream.gemm(single_uop(0, 0), inner=Loop(ROWS, 1, 1))
    stream.store(0, IN, ROWS, 1, ROWS)
    symbols = [
        Symbol("x", SymbolKind.SCRATCH, IN * BYTES, TILES * ROWS * BYTES),
        Symbol("y", SymbolKind.OUTPUT, OUT * BYTES, TILES * ROWS * BYTES),
    ]
    program = assemble(stream, symbols, ARENA).program
    kinds = {finding.kind.value for finding in verify(program)}
    assert kinds == {"uninitialised-dram"}, "the input counts as scratch here, so that it may be stored to"


def test_carriers_are_loads_of_nothing_without_a_source():
    plan = place_tokens(double_buffered(), ARENA)
    assert plan.instructions["opcode"][plan.source < 0].tolist() == [Opcode.LOAD, Opcode.FINISH]
    assert plan.source[plan.source >= 0].tolist() == list(range(len(double_buffered())))


def test_the_stream_itself_gets_no_tokens():
    stream = double_buffered()
    place_tokens(stream, ARENA)
    assert not any(stream.instructions[flag].any() for flag in FLAGS)


def test_units_that_share_nothing_do_not_wait_for_each_other():
    stream = Stream(BASELINE)
    stream.load(MemoryType.INP, 0, Segment.ARENA, 0, 8)
    stream.gemm(single_uop(0), inner=Loop(8, 1, 0), reset=True)
    plan = place_tokens(stream, 8)
    # Only FINISH waits, through a carrier.
    assert plan.instructions["pop_prev"].sum() + plan.instructions["pop_next"].sum() == 1


def test_strided_accesses_that_interleave_do_not_meet():
    stream = Stream(BASELINE)
    stream.store(0, 0, 2, 3, 4)
    stream.load(MemoryType.INP, 0, Segment.ARENA, 2, 2, 3, 4)
    stream.load(MemoryType.INP, 0, Segment.ARENA, 1, 2, 3, 4)
    plan = place_tokens(stream, 14)
    load, meeting = (plan.instructions[plan.source == index] for index in (1, 2))
    assert (load["pop_prev"].tolist(), load["pop_next"].tolist()) == ([0], [0])
    assert (meeting["pop_prev"].tolist(), meeting["pop_next"].tolist()) == ([0], [1])


def test_an_access_outside_of_the_arena_is_refused():
    stream = Stream(BASELINE)
    stream.store(0, 10, 4, 1, 4)
    with pytest.raises(CompileError, match="an access to rows 10 and on leaves a memory of 12 rows"):
        place_tokens(stream, 12)


def test_a_compiled_network_needs_few_tokens():
    data = graph_input("x", (1, 32, 28, 28), "int8")
    rng = np.random.default_rng(0)
    value = data
    for _ in range(3):
        value = int8_clip(conv(value, rng.integers(-9, 9, (32, 32, 3, 3)), padding=(1, 1, 1, 1)), "q")
    (region,) = compile_graph(Graph((data,), (value,)), BASELINE).regions
    pops = count(region.program, "pop_prev") + count(region.program, "pop_next")
    assert pops < len(region.program.instructions)
