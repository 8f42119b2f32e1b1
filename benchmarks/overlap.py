"""Draws which tile each unit works on: the text timeline of docs/isa-extensions.md.

    python -m benchmarks.overlap MODEL --layer NAME [--config CONFIG] [--cycles N] [--step N] [--skip N]

A column is `--step` cycles; its digit is the last one of the number of the tile that the unit works on in most of them. Products
that requantize have a line of their own. The window begins `--skip` cycles after the layer's first instruction that computes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

import vta
from vta.codegen.region_program import RegionProgram
from vta.devices.cycle import CycleDevice
from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS, RunOptions
from vta.isa.encoding import encode
from vta.isa.instruction import GEMM_REQUANTIZES, AluOp, Opcode

_LINES = ("load", "products", "last products and requantize", "store")
_NOTHING = "."
_WIDTH = len(max(_LINES, key=len)) + 1


def lines_of(region: RegionProgram, layer: str, skip: int, cycles: int, step: int) -> Iterator[str]:
    """The lines of a timeline of a layer; see above. Raises `ValueError` if the region has no such layer."""
    program = region.program
    names = [program.operators[number] if number >= 0 else "" for number in program.operator_index.tolist()]
    own = np.array([name.startswith(layer) for name in names])
    computes = own & np.isin(program.instructions["opcode"], (Opcode.GEMM, Opcode.DEPTHWISE))
    if not computes.any():
        raise ValueError(f"no layer {layer!r}; there are {', '.join(dict.fromkeys(filter(None, names)))}")
    device = CycleDevice(program.hw, timing_only=True)
    timeline = device.run(encode(program.instructions, program.hw), RunOptions(timeline=True)).timeline
    assert timeline is not None, "the run was made with it"
    fetched = timeline["unit"] == TIMELINE_UNITS.index("fetch")
    busy = timeline[(timeline["kind"] == TIMELINE_KINDS.index("busy")) & ~fetched]
    begin = int(busy["start"][computes[busy["instruction"]]].min()) + skip
    line_of = _line_numbers(program.instructions)
    cells = np.zeros((len(_LINES), cycles // step, 10), np.int64)
    for start, end, instruction, _, _ in busy.tolist():
        tile = int(program.tile_index[instruction])
        first, last = max(0, start - begin), min(end - begin, cycles)
        if not own[instruction] or tile < 0 or last <= first:
            continue
        at = np.arange(first, last) // step
        np.add.at(cells, (line_of[instruction], at[at < cells.shape[1]], tile % 10), 1)
    yield f"{'cycle':{_WIDTH}}" + "".join(f"{begin + at:<{10}}" for at in range(0, cycles, 10 * step))
    for name, line in zip(_LINES, cells, strict=True):
        yield f"{name:{_WIDTH}}" + "".join(str(each.argmax()) if each.any() else _NOTHING for each in line)


def _line_numbers(instructions: NDArray[np.void]) -> NDArray[np.int64]:
    opcode = instructions["opcode"]
    requantizes = np.isin(opcode, (Opcode.GEMM, Opcode.DEPTHWISE)) & (instructions["imm"] == GEMM_REQUANTIZES)
    requantizes |= (opcode == Opcode.ALU) & (instructions["alu_opcode"] == AluOp.REQUANTIZE)
    return np.select([opcode == Opcode.LOAD, opcode == Opcode.STORE, requantizes], [0, 3, 2], 1)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--layer", required=True)
    parser.add_argument("--config", default="sim_rq")
    parser.add_argument("--cycles", type=int, default=3000)
    parser.add_argument("--step", type=int, default=30)
    parser.add_argument("--skip", type=int, default=0)
    options = parser.parse_args(argv)
    module = vta.compile(options.model, options.config)
    for line in lines_of(module.regions[0], options.layer, options.skip, options.cycles, options.step):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
