"""How many cycles a network would take if something about it were different, by the cycle engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from vta.codegen.region_timing import RegionTimer
from vta.compiler.schedules import Schedules
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.errors import CompileError, ConfigError, EncodingError
from vta.explanation.regions import regions_of
from vta.explanation.requantize_unit import requantized_by_unit
from vta.records.shipped import SHIPPED
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.schedule import Schedule
from vta.schedule.source import ScheduleSource
from vta.tile.operator import RegionOperators

__all__ = ["WhatIf"]


class WhatIf:
    """Predicts the cycles of variants of one network."""

    def __init__(
        self,
        module: CompiledModule,
        regions: tuple[RegionOperators, ...],
        timing: TimingParameters,
        preset: Preset,
        total: int,
    ) -> None:
        self.hw = module.hw
        self.regions = regions
        self.timing = timing
        self.total = total
        """Cycles of the network as it is."""
        self._module = module
        self._preset = preset

    def same_program(self, timing: TimingParameters) -> int:
        """The cycles of the programs at hand with another memory."""
        engine = CycleEngine(self.hw, timing, self._preset)
        return sum(engine.run(region.program.encoded()).cycles or 0 for region in self._module.regions)

    def with_schedules(self, source: ScheduleSource) -> int:
        """The cycles with the schedules of another source."""
        return self.relative(self._compiled(self.hw, self.regions, source))

    def with_config(self, changes: Mapping[str, int]) -> int | None:
        """The cycles on a config of which some keys are changed, compiled by default; None if there is no such config.

        A network that only fits in part on the changed config counts with what is left of it: that is None, too.
        """
        try:
            hw = HardwareConfig.from_json({**self.hw.to_json(), **changes})
            blocks_differ = (hw.batch, hw.block) != (self.hw.batch, self.hw.block)
            regions = regions_of(self._module, hw) if blocks_differ else self.regions
            if _layers_of(regions) != _layers_of(self.regions):
                return None
            return self.relative(self._compiled(hw, regions, SHIPPED))
        except (ConfigError, CompileError, EncodingError):
            return None

    def with_requantize_unit(self) -> int | None:
        """The cycles on a core that has REQUANTIZE besides; None if it cannot, nothing would use it, or something not fit.

        What additions become depends on values, which are not looked at: they are taken to be one rescaling of a sum.
        """
        try:
            hw = replace(self.hw, requantize_unit=1)
            regions = requantized_by_unit(self.regions, hw)
            return None if regions is None else self.relative(self._compiled(hw, regions, SHIPPED))
        except (ConfigError, CompileError, EncodingError):
            return None

    def default_choice(self, region: RegionOperators) -> tuple[Schedule | None, ...]:
        """The schedules that compiling takes by default."""
        return Schedules(SHIPPED, self.hw).of_region(region)

    @cached_property
    def default_total(self) -> int:
        """The cycles of the network compiled by default: `total`, unless it was tuned."""
        return self._compiled(self.hw, self.regions, SHIPPED)

    @property
    def instructions(self) -> int:
        """Of all programs at hand."""
        return sum(len(region.program.instructions) for region in self._module.regions)

    def relative(self, cycles: int) -> int:
        """The cycles of the network at hand if it gains what one compiled by default does, which would take `cycles`."""
        return self.total - (self.default_total - cycles)

    def _compiled(self, hw: HardwareConfig, regions: Sequence[RegionOperators], source: ScheduleSource) -> int:
        chosen = Schedules(source, hw)
        engine = CycleEngine(hw, self.timing, self._preset)
        streams = (RegionTimer(region, hw, self.timing).stream(chosen.of_region(region)) for region in regions)
        return sum(engine.run(stream).cycles or 0 for stream in streams)


def _layers_of(regions: Sequence[RegionOperators]) -> set[str]:
    return {operator.name for region in regions for operator in region.operators}
