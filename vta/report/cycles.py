"""Where the cycles of a run went: per unit, per operator and per tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from vta.codegen.region_program import MOVE_SUFFIX, RegionProgram
from vta.devices.device import TIMELINE_UNITS, InstructionTimes, RunResult, UnitCycles
from vta.devices.engine.cycle_engine import Preset
from vta.isa.instruction import Unit, units_of
from vta.isa.program import Program
from vta.report.table import make_table

__all__ = ["OperatorCycles", "TileCycles", "cycles_json", "operator_cycles", "preset_text", "unit_cycles", "unit_table"]

Results = Sequence[tuple[RegionProgram, RunResult]]

_PRESET_TEXTS = {
    Preset.RTL: "the timing contract, to the cycle",
    Preset.CHISEL: "an approximation of the published Chisel design",
    Preset.HLS: "an approximation of the published HLS design",
}


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


def preset_text(preset: str) -> str:
    """What the name of a preset stands for."""
    return f"{preset}: {_PRESET_TEXTS[Preset(preset)]}"


def unit_cycles(results: Results) -> dict[str, UnitCycles]:
    """Cycles of each unit, summed over device runs; empty if the device does not count them."""
    names = [name for name in TIMELINE_UNITS if all(name in result.units for _, result in results)]
    return {name: sum((result.units[name] for _, result in results), UnitCycles()) for name in names} if results else {}


def unit_table(results: Results) -> Table:
    """Show what each unit did, in cycles and in percent of the run."""
    rows = []
    for name, unit in unit_cycles(results).items():
        shares = asdict(unit)
        rows.append([name, *(f"{cycles:,} ({cycles / max(1, unit.total):.1%})" for cycles in shares.values())])
    return make_table(("unit", "busy", "waits for token", "waits for memory", "idle"), rows)


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


def cycles_json(results: Results) -> dict[str, Any]:
    """Everything about time as JSON values; all of it null or empty if the device does not count cycles.

    Bus utilisation is beats per cycle.
    """
    timed = [result for _, result in results if result.cycles is not None]
    cycles = sum(result.cycles or 0 for result in timed)
    presets = {result.preset for result in timed if result.preset}
    reads, writes = sum(result.read_beats for result in timed), sum(result.write_beats for result in timed)
    return {
        "cycles": cycles if timed else None,
        "preset": next(iter(presets), None),
        "exact": all(Preset(preset).exact for preset in presets) if presets else None,
        "units": {name: asdict(unit) for name, unit in unit_cycles(results).items()},
        "read_beats": reads,
        "write_beats": writes,
        "bus_utilisation": {"read": reads / cycles, "write": writes / cycles} if cycles else None,
        "operators": [asdict(row) for region, result in results for row in operator_cycles(region, result)],
    }
