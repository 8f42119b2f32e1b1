"""Where the cycles of a run went: per unit, and everything about time for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from vta.codegen.region_program import RegionProgram
from vta.devices.device import TIMELINE_UNITS, RunResult, UnitCycles
from vta.devices.engine.cycle_engine import Preset
from vta.runtime.operator_cycles import operator_cycles
from vta.support.table import Table, make_table

__all__ = ["cycles_json", "preset_text", "unit_cycles", "unit_table"]

Results = Sequence[tuple[RegionProgram, RunResult]]

_PRESET_TEXTS = {
    Preset.RTL: "the timing contract, to the cycle",
    Preset.CHISEL: "an approximation of the published Chisel design",
    Preset.HLS: "an approximation of the published HLS design",
}


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
