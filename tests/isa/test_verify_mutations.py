"""Correct programs with one thing broken: the verifier must notice every one."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.isa.builders import double_buffered_gemm, kinds, shipped, vector_add
from vta.isa import Opcode, Program, Unit, units_of
from vta.isa.instruction import FLAGS, missing_stage_flags
from vta.isa.verify import verify

HW = shipped("sim")
PROGRAMS = {"vector_add": vector_add(HW), "gemm": double_buffered_gemm(HW)}
QUEUES = (
    (Unit.LOAD, "push_next", Unit.COMPUTE, "pop_prev"),
    (Unit.COMPUTE, "push_prev", Unit.LOAD, "pop_next"),
    (Unit.COMPUTE, "push_next", Unit.STORE, "pop_prev"),
    (Unit.STORE, "push_prev", Unit.COMPUTE, "pop_next"),
)


def changed(program: Program, *changes: tuple[int, str, int]) -> Program:
    instructions = program.instructions.copy()
    for index, field, value in changes:
        instructions[field][index] = value
    return replace(program, instructions=instructions)


def flag_cases():
    for name, program in PROGRAMS.items():
        for index in range(len(program.instructions)):
            for flag in FLAGS:
                flipped = program.instructions.copy()
                flipped[flag][index] ^= 1
                if not missing_stage_flags(flipped):
                    yield pytest.param(name, index, flag, id=f"{name}-{index}-{flag}")


@pytest.mark.parametrize(("name", "index", "flag"), list(flag_cases()))
def test_one_flag_flipped(name, index, flag):
    program = PROGRAMS[name]
    old = int(program.instructions[flag][index])
    found = kinds(verify(changed(program, (index, flag, 1 - old))))
    assert found & {"deadlock", "leftover-token", "finish"}


def pair_cases():
    for name, program in PROGRAMS.items():
        units = units_of(program.instructions)
        for producer, push, consumer, pop in QUEUES:
            pushes = [i for i in range(len(units)) if units[i] == producer and program.instructions[push][i]]
            pops = [i for i in range(len(units)) if units[i] == consumer and program.instructions[pop][i]]
            for pair in zip(pushes, pops, strict=True):
                yield pytest.param(name, push, pop, *pair, id=f"{name}-{pair[0]}-{pair[1]}")


@pytest.mark.parametrize(("name", "push", "pop", "producer", "consumer"), list(pair_cases()))
def test_one_token_removed_at_both_ends(name, push, pop, producer, consumer):
    program = PROGRAMS[name]
    idle = program.instructions["x_size"][producer] == 0 and program.instructions["opcode"][producer] == Opcode.LOAD
    findings = verify(changed(program, (producer, push, 0), (consumer, pop, 0)))
    if idle:
        assert findings == []
    else:
        assert kinds(findings) & {"sram-race", "unfinished"}


def neighbor_cases():
    """Flags of the gemm program moved one instruction away: pushed too early, or popped too late."""
    instructions = PROGRAMS["gemm"].instructions
    units = units_of(instructions)
    acts = (instructions["x_size"] != 0) | (instructions["iter_in"] != 0)
    for unit in Unit:
        places = np.flatnonzero((units == unit) & acts)
        for earlier, later in pairwise(places.tolist()):
            for flag in FLAGS:
                source, target = (later, earlier) if flag.startswith("push") else (earlier, later)
                if instructions[flag][source] and not instructions[flag][target]:
                    yield pytest.param(flag, source, target, id=f"{flag}-{source}-{target}")


@pytest.mark.parametrize(("flag", "source", "target"), list(neighbor_cases()))
def test_token_moved_to_a_neighbor(flag, source, target):
    assert verify(changed(PROGRAMS["gemm"], (source, flag, 0), (target, flag, 1)))


def range_cases():
    for name, program in PROGRAMS.items():
        for index, instruction in enumerate(program.instructions):
            opcode = Opcode(int(instruction["opcode"]))
            moves = opcode in (Opcode.LOAD, Opcode.STORE) and instruction["x_size"]
            if moves:
                yield name, index, "dram_base", int(instruction["dram_base"]) + (1 << 20)
                yield name, index, "sram_base", 8192
                # Later loads fill rows that hold older data, which only a race would tell from the right ones.
                if name == "vector_add" or index < 8 or opcode is Opcode.STORE:
                    yield name, index, "x_size", int(instruction["x_size"]) - 1
            if opcode is Opcode.STORE and moves:
                yield name, index, "sram_base", int(instruction["sram_base"]) + 1
                yield name, index, "dram_base", int(instruction["dram_base"]) + 1
                yield name, index, "x_size", int(instruction["x_size"]) + 1
            if opcode in (Opcode.GEMM, Opcode.ALU):
                yield name, index, "uop_end", 8192
                yield name, index, "dst_factor_in", 2047 if instruction["iter_in"] > 1 else None
                yield name, index, "iter_in", 16383 if instruction["dst_factor_in"] else None


@pytest.mark.parametrize(("name", "index", "field", "value"), [case for case in range_cases() if case[3] is not None])
def test_one_range_moved(name, index, field, value):
    assert verify(changed(PROGRAMS[name], (index, field, value)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_instruction_removed(name):
    program = PROGRAMS[name]
    for index in range(len(program.instructions)):
        instruction = program.instructions[index]
        kept = [place for place in range(len(program.instructions)) if place != index]
        found = verify(replace(program, instructions=program.instructions[kept]))
        assert found, (index, instruction)
