"""One integer graph compiled for many configs: what the sizes of buffers do not change is made once.

The graph, its operators on tiles with their packed weights, and the regions are the same for all configs of a geometry, as long
as the same fused operators fit their buffers. Schedules and programs are made for each config.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import fields, replace

from vta.codegen.region_program import RegionProgram
from vta.compiler.options import CompileOptions
from vta.compiler.pipeline import passes_between, run_passes
from vta.compiler.schedules import Schedules
from vta.compiler.state import State
from vta.compiler.veto import Vetoes, outside
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph
from vta.partition.fused.copies import is_copy
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.reason import Reason
from vta.partition.fused.runnable import runnable_operators
from vta.schedule.source import DEFAULT_SCHEDULES, ScheduleSource
from vta.tile.operator import TileOperator
from vta.tile.region_lowering import RegionLowering

__all__ = ["SharedCompilation", "geometry_of"]

_OPTIONS = CompileOptions(least_gain=0, schedules=DEFAULT_SCHEDULES)
_BUFFERS = ("log_uop_buff_size", "log_inp_buff_size", "log_wgt_buff_size", "log_acc_buff_size")
_MOST_PARTITIONS = 8
"""That are kept: configs with small buffers differ in what fits."""


def geometry_of(hw: HardwareConfig) -> tuple[str | int, ...]:
    """All of a config but the sizes of its buffers: configs that agree in it can share a compilation."""
    return tuple(getattr(hw, field.name) for field in fields(hw) if field.name not in _BUFFERS)


class SharedCompilation:
    """Compiles an integer graph for configs of the geometry of `hw`; only fused operators within `layers` may run on VTA.

    Regions that do not pay are kept, as by `compile_graph`, and the programs are those that it makes.
    """

    def __init__(self, graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None) -> None:
        self._geometry = geometry_of(hw)
        self._layers = layers
        steps = [step for step in passes_between("inline", "wide_weights") if step.name != "check_bounds"]
        self._arranged = run_passes(State(hw=hw, imported=graph, layers=layers), _OPTIONS, steps)
        self._lowering = RegionLowering(self._arranged.graph, hw)
        self._candidates = self._all_candidates(hw)
        self._partitioned: OrderedDict[tuple[bool, ...], State] = OrderedDict()
        """As far as operators on tiles, by which of the candidates fit."""

    def tiles(self, hw: HardwareConfig, schedules: ScheduleSource = DEFAULT_SCHEDULES) -> State:
        """The compilation for `hw` as far as its regions of operators on tiles; `schedules` are to be asked.

        Reasons why something runs on the host may name another config of the geometry.
        """
        assert geometry_of(hw) == self._geometry, "a compilation is shared by configs of one geometry"
        chosen = Schedules(schedules, hw)
        veto = Vetoes(hw, self._lowering, chosen, self._layers, {}, None)
        fitting = tuple(veto(fused) is None for fused in self._candidates)
        if fitting not in self._partitioned:
            given = replace(self._arranged, hw=hw, lowering=self._lowering, chosen=chosen)
            self._partitioned[fitting] = run_passes(given, _OPTIONS, passes_between("partition", "lower_to_tiles"))
            if len(self._partitioned) > _MOST_PARTITIONS:
                self._partitioned.popitem(last=False)
        self._partitioned.move_to_end(fitting)
        return replace(self._partitioned[fitting], hw=hw, chosen=chosen)

    def programs(self, tiles: State) -> tuple[RegionProgram, ...]:
        """The verified programs of the regions that `tiles` gave."""
        # What the last pass leaves to the host after all is partitioned again, for this config alone.
        state = run_passes(tiles, _OPTIONS, passes_between("partition", "check_programs"), first="schedule")
        return tuple(program for program in state.programs if isinstance(program, RegionProgram))

    @property
    def operators(self) -> tuple[TileOperator, ...]:
        """All that a config whose buffers are large enough runs, without what only moves values."""
        inside = (fused for fused in self._candidates if not is_copy(fused.anchor))
        return tuple(operator for fused in inside for operator in self._lowering.operators(fused))

    def _all_candidates(self, hw: HardwareConfig) -> tuple[FusedOperator, ...]:
        """What the buffers have a say in: all that a config without limits could run."""
        found: list[FusedOperator] = []

        def asked(fused: FusedOperator) -> Reason | None:
            if (reason := outside(fused, self._layers)) is None:
                found.append(fused)
            return reason

        runnable_operators(self._arranged.graph, hw, asked)
        return tuple(found)
