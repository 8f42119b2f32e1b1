"""Random hardware configs, instructions and programs for property tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from vta.config.hardware import HardwareConfig, load_config
from vta.config.targets import TARGETS
from vta.errors import ConfigError
from vta.isa import INSTRUCTION_DTYPE, UOP_DTYPE, Program, Symbol, SymbolKind, encode_uops
from vta.isa.encoding import instruction_fields, uop_fields
from vta.isa.instruction import missing_stage_flags

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "hw_config").glob("*.json"))


def shipped_configs() -> st.SearchStrategy[HardwareConfig]:
    return st.sampled_from(SHIPPED).map(load_config)


@st.composite
def random_configs(draw: st.DrawFn) -> HardwareConfig:
    """Any legal config: sizes are drawn until they encode."""
    sizes = {name: st.integers(4, 19) for name in ("uop", "inp", "wgt", "acc")}
    for _ in range(200):
        values = {f"log_{name}_buff_size": draw(size) for name, size in sizes.items()}
        geometry = {"log_acc_width": draw(st.sampled_from((4, 5))), "log_batch": draw(st.integers(0, 3))}
        target = draw(st.sampled_from(sorted(TARGETS)))
        try:
            return HardwareConfig(target, "0.0.2", 3, 3, log_block=draw(st.integers(2, 6)), **geometry, **values)
        except ConfigError:
            continue
    return load_config(SHIPPED[0])


configs = st.one_of(shipped_configs(), random_configs())


@st.composite
def instruction_arrays(draw: st.DrawFn, hw: HardwareConfig, legal: bool = False) -> np.ndarray:
    """Instructions with random fields that fit; with only flags of stages that exist if `legal`."""
    count = draw(st.integers(0, 12))
    instructions = np.zeros(count, dtype=INSTRUCTION_DTYPE)
    for index in range(count):
        opcode = draw(st.sampled_from(tuple(instruction_fields(hw))))
        for field in instruction_fields(hw)[opcode]:
            extremes = st.sampled_from((field.minimum, field.maximum))
            instructions[field.name][index] = draw(extremes | st.integers(field.minimum, field.maximum))
        instructions["opcode"][index] = opcode
    if legal:
        for index, flag in missing_stage_flags(instructions):
            instructions[flag][index] = 0
    return instructions


@st.composite
def uop_arrays(draw: st.DrawFn, hw: HardwareConfig) -> np.ndarray:
    fields = uop_fields(hw)
    row = st.tuples(*(st.integers(0, field.maximum) for field in fields))
    return np.array(draw(st.lists(row, max_size=20)), dtype=UOP_DTYPE)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs that round-trip but need not make sense."""
    hw = draw(configs)
    instructions = draw(instruction_arrays(hw, legal=True))
    uops = encode_uops(draw(uop_arrays(hw)), hw).astype("<u4").view(np.uint8)
    constants = np.frombuffer(draw(st.binary(max_size=100)), dtype=np.uint8)
    image = np.concatenate([uops, constants])
    arena = draw(st.integers(0, 5000))
    names = st.text(max_size=8)
    symbols = (
        Symbol(draw(names), SymbolKind.UOP, 0, len(uops)),
        Symbol(draw(names), SymbolKind.CONSTANT, len(uops), len(constants)),
        Symbol(draw(names), draw(st.sampled_from(SymbolKind)), len(image), arena),
    )
    operators = tuple(draw(st.lists(names, max_size=3)))
    origins = np.zeros((2, 0), dtype=np.int32)
    if draw(st.booleans()):
        count = len(instructions)
        pairs = st.tuples(st.integers(-1, len(operators) - 1), st.integers(-1, 3))
        pairs_drawn = draw(st.lists(pairs, min_size=count, max_size=count))
        origins = np.array(pairs_drawn, dtype=np.int32).reshape(-1, 2).T
    return Program(hw, instructions, image, len(image) + arena, symbols, operators, origins[0], origins[1])
