"""Where the cycles of a run went: per operator and per tile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import MOVE_SUFFIX, RegionProgram
from vta.devices.device import InstructionTimes, RunResult
from vta.isa.instruction import Unit, units_of
from vta.isa.program import Program
from vta.support.dataclass import dataclass

__all__ = ["OperatorCycles", "TileCycles", "operator_cycles"]


@dataclass(frozen=True)
class TileCycles:
    """Cycles of the instructions of one tile, or of a whole operator."""

    tile: int
    first: int
    """Cycle in which its first instruction was accepted."""
    last: int
    """Cycle in which its last instruction completed."""
    busy: dict[str, int]
    """Of each unit that executes instructions."""
    memory: dict[str, int]
    token: dict[str, int]


@dataclass(frozen=True)
class OperatorCycles:
    """Cycles of one operator. Operators overlap, so that their spans do not add up to the run."""

    region: str
    operator: str
    total: TileCycles
    """Its tile is -1."""
    tiles: tuple[TileCycles, ...]


def operator_cycles(region: RegionProgram, result: RunResult) -> list[OperatorCycles]:
    """Cycles of each operator of a region, and of its tiles; empty if instructions were not timed one by one."""
    program, times = region.program, result.times
    if times is None or not len(program.operator_index):
        return []
    owners = [program.operators.index(name.removesuffix(MOVE_SUFFIX)) for name in program.operators]
    index = np.where(program.operator_index < 0, -1, np.array([*owners, -1])[program.operator_index])
    rows = []
    for operator in dict.fromkeys(owners):
        chosen = np.flatnonzero((index == operator) & (times.completed >= 0))
        if len(chosen):
            tiles = tuple(
                _sum(program, times, chosen[program.tile_index[chosen] == tile], int(tile))
                for tile in np.unique(program.tile_index[chosen])
                if tile >= 0
            )
            total = _sum(program, times, chosen, -1)
            rows.append(OperatorCycles(region.name, program.operators[operator], total, tiles))
    return rows


def _sum(program: Program, times: InstructionTimes, chosen: NDArray[np.intp], tile: int) -> TileCycles:
    units = units_of(program.instructions[chosen])

    def per_unit(cycles: NDArray[np.int64]) -> dict[str, int]:
        return {unit.name.lower(): int(cycles[chosen][units == unit].sum()) for unit in Unit}

    first, last = int(times.accepted[chosen].min()), int(times.completed[chosen].max())
    return TileCycles(tile, first, last, per_unit(times.busy), per_unit(times.memory), per_unit(times.token))
