"""Small correct programs, written by hand, that tests verify and break."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vta.config.hardware import HardwareConfig, load_config
from vta.isa import UOP_DTYPE, Program, Symbol, SymbolKind, encode_uops
from vta.isa.assembly import assemble_instructions
from vta.isa.findings import Finding

PAGE = 4096


def shipped(name: str) -> HardwareConfig:
    return load_config(Path(__file__).resolve().parents[2] / "hw_config" / f"{name}.json")


def build(hw: HardwareConfig, text: str, uops: list[tuple[int, int, int]], **pages: SymbolKind) -> Program:
    """A program whose image has the micro-ops in page 0 and then one page for each name given."""
    words = encode_uops(np.array(uops, dtype=UOP_DTYPE), hw).astype("<u4").view(np.uint8)
    symbols = [Symbol("uops", SymbolKind.UOP, 0, len(words))]
    symbols += [Symbol(name, kind, PAGE * place, PAGE) for place, (name, kind) in enumerate(pages.items(), 1)]
    filled = [place for place, kind in enumerate(pages.values(), 1) if kind is SymbolKind.CONSTANT]
    image = np.zeros(PAGE * (max(filled, default=0) + 1), dtype=np.uint8)
    image[: len(words)] = words
    return Program(hw, assemble_instructions(text, hw), image, PAGE * (len(pages) + 1), tuple(symbols))


def kinds(findings: list[Finding]) -> set[str]:
    return {finding.kind.value for finding in findings}


def messages(findings: list[Finding]) -> str:
    return "\n".join(str(finding) for finding in findings)


VECTOR_ADD = """
    load acc sram=0 dram=64 y=1 x=64 stride=64
    load acc sram=64 dram=128 y=1 x=64 stride=64
    load uop sram=0 dram=0 y=1 x=1 stride=1
    alu add uop=0:1 loop=1,64 dst=0,1 src=0,1 push=next
    store out sram=0 dram=768 y=1 x=64 stride=64 pop=prev push=prev
    load inp x=0 push=next
    load uop x=0 pop=prev,next
    finish
"""


def vector_add(hw: HardwareConfig) -> Program:
    """64 rows a + b, narrowed to int8. The output fills the first 1 KiB of its page."""
    program = build(hw, VECTOR_ADD, [(0, 64, 0)], a=SymbolKind.INPUT, b=SymbolKind.INPUT, c=SymbolKind.OUTPUT)
    output = Symbol("c", SymbolKind.OUTPUT, 3 * PAGE, 1024)
    return Program(program.hw, program.instructions, program.image, program.image_bytes, (*program.symbols[:3], output))


STEPS = 3
TILES = 2


def gemm_text() -> str:
    """Two output tiles of 4 rows, three steps each, with input and weights in two halves that alternate."""
    lines = ["load uop sram=0 dram=0 y=1 x=13 stride=13"]
    total = TILES * STEPS
    for tile in range(TILES):
        reset = ["gemm reset uop=8:12 loop=1,1" + (" pop=next" if tile else "")]
        lines += reset
        for step in range(STEPS):
            count = tile * STEPS + step
            half = count % 2
            free = " pop=next" if count >= 2 else ""
            used = " push=prev" if count < total - 2 else ""
            done = ""
            lines.append(f"load inp sram={half} dram={256 + count} y=1 x=1 stride=1{free}")
            lines.append(f"load wgt sram={4 * half} dram={32 + 2 * count} y=1 x=4 stride=4 push=next")
            lines.append(f"gemm uop={4 * half}:{4 * half + 4} loop=1,1 pop=prev{used}{done}")
        lines.append("alu shr uop=12:13 loop=1,4 dst=0,1 src=0,1 imm=8 push=next")
        lines.append(f"store out sram=0 dram={1024 + 4 * tile} y=1 x=4 stride=4 pop=prev push=prev")
    return "\n".join([*lines, "load uop x=0 pop=next", "finish"])


def double_buffered_gemm(hw: HardwareConfig) -> Program:
    sequences = [(row, half, 4 * half + row) for half in (0, 1) for row in range(4)]
    uops = sequences + [(row, 0, 0) for row in range(4)] + [(0, 0, 0)]
    kinds_of_pages = {"x": SymbolKind.INPUT, "w": SymbolKind.CONSTANT, "w2": SymbolKind.CONSTANT, "y": SymbolKind.OUTPUT}
    program = build(hw, gemm_text(), uops, **kinds_of_pages)
    symbols = list(program.symbols)
    symbols[2] = Symbol("w", SymbolKind.CONSTANT, 2 * PAGE, 2 * PAGE)
    symbols[3:] = [Symbol("y", SymbolKind.OUTPUT, 4 * PAGE, 16 * 4 * TILES)]
    image = np.zeros(4 * PAGE, dtype=np.uint8)
    image[: len(program.image)] = program.image
    return Program(hw, program.instructions, image, 5 * PAGE, tuple(symbols))
