"""From a model to a compiled module: the pipeline, or parts of it, as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vta.compiler.options import CompileOptions, OptionChanges
from vta.compiler.pipeline import PASSES, Pass, passes_between, run_passes
from vta.compiler.state import State
from vta.config.hardware import HardwareConfig
from vta.ir.diagnostics import Diagnostics
from vta.ir.graph import Graph
from vta.partition.fused.copies import is_copy
from vta.partition.fused.fused_operator import FusedOperator
from vta.quantization.config import QuantizeConfig
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.source import DEFAULT_SCHEDULES
from vta.tile.operator import RegionOperators, TileOperator

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["compile_graph", "compile_model", "graph_regions", "lower_model", "operators_of", "quantize_model", "region_operators"]

_DEFAULT = CompileOptions()
_KEEPING_ALL = CompileOptions(least_gain=0)
_ESTIMATED = CompileOptions(schedules=DEFAULT_SCHEDULES)


def compile_model(
    model: Graph | str | Path,
    hw: HardwareConfig,
    *,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    shapes: dict[str, tuple[int, ...]] | None = None,
    progress: Callable[[str], None] | None = None,
    watch: Callable[[Pass, State], None] | None = None,
    options: CompileOptions = _DEFAULT,
    **changes: Unpack[OptionChanges],
) -> CompiledModule:
    """Compile a network for `hw`.

    `model` is a graph, a file or a built-in name, `shapes` those of its inputs that it leaves open. `calibration` maps input
    names to samples along the first axis; without it every activation gets the same range (``QuantizeConfig.global_scale``). What
    else there is to say is in `options`, or in keywords called as its fields. `progress` is told each stage, `watch` each pass
    and what it gave. Raises a `VTAError` that names what cannot be imported, quantised or compiled.
    """
    options = options.changed(**changes)
    options.targets.check(hw)
    given = [State(hw=hw, model=model, shapes=shapes, calibration=calibration)]
    del model  # Weights in float take several times the memory of all that is made of them.
    return _compiled(run_passes(given.pop(), options, PASSES, progress=progress, watch=watch))


def lower_model(
    model: Graph | str | Path,
    hw: HardwareConfig,
    *,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    progress: Callable[[str], None] | None = None,
    options: CompileOptions = _DEFAULT,
    **changes: Unpack[OptionChanges],
) -> tuple[Graph, frozenset[str] | None]:
    """The integer graph for `compile_graph` that `compile_model` makes of a network, and the layers that may run on VTA."""
    given = [State(hw=hw, model=model, calibration=calibration)]
    del model
    state = run_passes(given.pop(), options.changed(**changes), passes_between("import", "lower"), progress=progress)
    return state.graph, state.layers


def quantize_model(
    graph: Graph,
    hw: HardwareConfig,
    *,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    quantize: QuantizeConfig | None = None,
    diagnostics: Diagnostics | None = None,
) -> Graph:
    """Quantise a canonical graph, unless it has quantised operators already, and lower it to the integer operators that `hw` has.

    `diagnostics` are told of layers that do not give the exact result of the framework that quantised them.
    """
    options = CompileOptions(quantize=quantize or QuantizeConfig())
    said = Diagnostics() if diagnostics is None else diagnostics
    given = [State(hw=hw, imported=graph, calibration=calibration, diagnostics=said)]
    del graph
    return run_passes(given.pop(), options, passes_between("quantize", "lower")).graph


def compile_graph(
    graph: Graph,
    hw: HardwareConfig,
    *,
    layers: frozenset[str] | None = None,
    diagnostics: Diagnostics | None = None,
    watch: Callable[[Pass, State], None] | None = None,
    options: CompileOptions = _KEEPING_ALL,
    **changes: Unpack[OptionChanges],
) -> CompiledModule:
    """Compile an integer graph for `hw`; only fused operators within `layers`, where given, may run on VTA.

    Inner graphs without a target, or for VTA, count as what they hold; those for other targets run on the host. `options`, or
    keywords that are called as its fields, are those of `compile_model`, but that regions that do not pay are kept.
    `diagnostics` of the lowering join the reasons of placements. Every program is verified before it is returned. One that breaks
    a rule is a fault of the compiler: a `CompilerFaultWarning` says so, and what it concerns runs on the host; with ``strict`` it
    is an error. Raises `CompileError` if something must run on a host that is not among the ``targets``.
    """
    said = Diagnostics() if diagnostics is None else diagnostics
    state = State(hw=hw, imported=graph, layers=layers, diagnostics=said)
    return _compiled(run_passes(state, options.changed(**changes), passes_between("inline", "place"), watch=watch))


def region_operators(
    graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None
) -> tuple[tuple[FusedOperator, TileOperator], ...]:
    """What `hw` can run of an integer graph, within `layers` where given, in program order: each fused operator as an operator.

    Those that only move values are left out.
    """
    return operators_of(_run_to(graph, hw, layers, "partition"))


def operators_of(state: State) -> tuple[tuple[FusedOperator, TileOperator], ...]:
    """Those of a compilation that has been partitioned, as `region_operators` gives them."""
    lowering = state.lowering
    assert lowering is not None
    found = [fused for region in state.partitioned.regions for fused in region.operators if not is_copy(fused.anchor)]
    return tuple((fused, operator) for fused in found for operator in lowering.operators(fused))


def graph_regions(graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None) -> tuple[RegionOperators, ...]:
    """The regions that `compile_graph` makes of an integer graph, those too that do not pay."""
    return tuple(tile.region for tile in _run_to(graph, hw, layers, "lower_to_tiles").tiles)


def _run_to(graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None, last: str) -> State:
    """An integer graph as far as `last`, without the warnings of a compilation."""
    steps = [step for step in passes_between("inline", last) if step.name != "check_bounds"]
    return run_passes(State(hw=hw, imported=graph, layers=layers), _ESTIMATED, steps)


def _compiled(state: State) -> CompiledModule:
    assert state.module is not None, "the last pass gives the module"
    return state.module
