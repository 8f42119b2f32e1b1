"""Explains the cycles of a compiled network: its regions run on the cycle engine, and every cycle gets a layer and a cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vta.codegen.region_program import RegionProgram
from vta.config.timing import TimingParameters, timing_of
from vta.devices.device import RunOptions
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.explanation.attribution import PRODUCTS, attribute
from vta.explanation.bounds import split_products
from vta.explanation.causes import Cause
from vta.explanation.explanation import Explanation, LayerLosses
from vta.explanation.regions import operators_by_name, regions_of
from vta.explanation.suggest import suggestions
from vta.explanation.what_if import WhatIf
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.roofline import least_cycles_in_order, roofline_of
from vta.tile.operator import TileOperator

__all__ = ["explain_module"]


def explain_module(
    module: CompiledModule,
    timing: TimingParameters | None = None,
    preset: Preset = Preset.RTL,
    *,
    limit_seconds: float | None = None,
    suggest: bool = True,
) -> Explanation:
    """Say where the cycles of `module` on the accelerator go; `timing` is by default that of the config's platform.

    Cycles are those of one run of each region, as a run of the network on the cycle device counts them. Without `suggest` nothing
    is looked for that would help. Raises `DeviceError` if timing a region takes longer than `limit_seconds`.
    """
    timing = timing or timing_of(module.hw)
    engine = CycleEngine(module.hw, timing, preset)
    regions = regions_of(module)
    known = operators_by_name(regions)
    layers: list[LayerLosses] = []
    for program in module.regions:
        layers += _layers(program, engine, known, limit_seconds)
    roofline = sum(least_cycles_in_order(region, module.hw, timing.bus_bytes) for region in regions)
    told = Explanation(tuple(layers), roofline, preset.value, float(module.hw.platform.fabric_mhz))
    if not suggest or not layers:
        return told
    found = suggestions(told, WhatIf(module, regions, timing, preset, told.total))
    return Explanation(told.layers, told.roofline, told.preset, told.clock_mhz, tuple(found))


def _layers(
    region: RegionProgram, engine: CycleEngine, known: Mapping[str, TileOperator], limit_seconds: float | None
) -> Iterator[LayerLosses]:
    result = engine.run(region.program.encoded(), RunOptions(timeline=True, limit_seconds=limit_seconds))
    found = attribute(region.program, result)
    hw = region.program.hw
    peak = hw.batch * hw.block * hw.block
    records = {record.name: record for record in region.operators}
    for name in found.operators:
        cycles = found.of(name)
        record, operator = records.get(name), known.get(name)
        split = split_products(cycles[PRODUCTS], 0 if record is None else record.macs, operator, peak)
        lost = {cause: cycles[cause] + split.lost.get(cause, 0) for cause in Cause}
        scheduled = None if operator is None else operator.scheduled
        if operator is not None and scheduled is None:
            lost[Cause.POOLING] = lost[Cause.REQUANTIZATION] + lost[Cause.CLIPS]
            lost[Cause.REQUANTIZATION] = lost[Cause.CLIPS] = 0
        roofline = None if scheduled is None else roofline_of(scheduled, hw, engine.timing.bus_bytes).cycles
        total = sum(cycles.values())
        kind = "" if record is None else record.kind
        yield LayerLosses(name or region.name, region.name, kind, total, split.bound, roofline, lost)
