"""From a model to a compiled module: import, quantise, lower, partition, pack, generate code, verify."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vta.codegen.region import compile_operators
from vta.codegen.region_program import MOVE_SUFFIX, CompiledModule, OperatorRecord, Placement, RegionProgram, TensorBinding
from vta.compiler.profit import HostModel, reason_against_region
from vta.config.hardware import HardwareConfig
from vta.config.target_list import DEFAULT_TARGETS, TargetList
from vta.errors import CompileError, CompilerFaultWarning, EncodingError
from vta.frontend import load_model
from vta.ir.functions import inline_functions
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.isa.verify import require_verified, verify
from vta.partition.copies import is_copy
from vta.partition.fused_operator import FusedOperator, is_view, view_source
from vta.partition.im2col import gather_windows
from vta.partition.partition import Partition, RegionNodes, partition
from vta.partition.selection import layers_between
from vta.partition.space_to_depth import fold_columns
from vta.partition.vta_patterns import TARGET
from vta.partition.wrap_accumulators import wrap_accumulators
from vta.passes.canonicalize import canonicalize
from vta.passes.fold_lookups import fold_lookups
from vta.quantization.config import QuantizeConfig
from vta.quantization.dialect import is_quantized
from vta.quantization.lowering.bounds import overflow_warnings
from vta.quantization.lowering.lower import lower
from vta.quantization.lowering.tflite import Notes
from vta.quantization.requantize.channel_pruning import drop_channels
from vta.records.shipped import SHIPPED
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.schedule.source import DEFAULT_SCHEDULES, ScheduleSource
from vta.support.dataclass import dataclass
from vta.tile.copies import copy_operators
from vta.tile.gemm_operator import GemmOperator
from vta.tile.lowering import operator_of, packed_tensor
from vta.tile.operator import RegionOperators, Tensor, TileOperator
from vta.tile.placement import placed_tensors

__all__ = ["compile_graph", "compile_model", "graph_regions", "quantize_model", "region_operators"]

_LOG = logging.getLogger(__name__)

Progress = Callable[[str], None]

_NAMED = 6
"""Operators that an error names."""


def compile_model(
    model: Graph | str | Path,
    hw: HardwareConfig,
    *,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    quantize: QuantizeConfig | None = None,
    start: str | None = None,
    stop: str | None = None,
    shapes: dict[str, tuple[int, ...]] | None = None,
    serial: bool = False,
    progress: Progress | None = None,
    least_gain: float | None = None,
    host: HostModel | None = None,
    targets: TargetList = DEFAULT_TARGETS,
    schedules: ScheduleSource = SHIPPED,
) -> CompiledModule:
    """Compile a float network for `hw`.

    `model` is a graph, a file or a built-in name. `calibration` maps input names to samples along the first axis; without it
    every activation gets the same range (``QuantizeConfig.global_scale``). `start` and `stop` limit the region that may run on
    VTA (see `vta.partition.selection.layers_between`; numbers are those of the canonical graph). With `serial` one unit runs at a
    time. `progress` is told each stage. A region whose gain over `host` is below `least_gain` stays on the host; without one that
    is so for regions without products whose gain is below 1 (see `vta.compiler.profit`), and 0 keeps all. The first of `targets`
    takes what it can; without a host among them, VTA has to run everything. `schedules` says where those of operators come from,
    see `vta.records.schedules`.
    Raises a `VTAError` that names what cannot be imported, quantised or compiled.
    """
    targets.check(hw)
    tell = progress or (lambda stage: None)
    tell("importing")
    graph = canonicalize(model if isinstance(model, Graph) else load_model(model, shapes))
    del model  # Weights in float take several times the memory of all that is made of them.
    layers = layers_between(graph, start, stop) if start or stop else None
    tell("quantising")
    notes = Notes()
    integer = quantize_model(graph, hw, calibration=calibration, quantize=quantize, notes=notes)
    del graph
    tell("compiling")
    return compile_graph(
        integer,
        hw,
        layers=layers,
        serial=serial,
        notes=notes,
        against=lambda region: reason_against_region(region, hw, host, least_gain),
        targets=targets,
        schedules=schedules,
    )


def quantize_model(
    graph: Graph,
    hw: HardwareConfig,
    *,
    calibration: Mapping[str, NDArray[Any]] | None = None,
    quantize: QuantizeConfig | None = None,
    notes: Notes | None = None,
) -> Graph:
    """Quantise a canonical graph, unless it has quantised operators already, and lower it to the integer operators that `hw` has.

    `notes` is told of layers that do not give the exact result of the framework that quantised them.
    """
    quantize = quantize or QuantizeConfig()
    if is_quantized(graph):
        graph = drop_channels(graph, hw.block)
        if quantize.requantize == "shift":
            from vta.quantization.requantize.by_shift import by_shifts

            graph, said = by_shifts(graph, calibration, multiplies=hw.capabilities.multiply)
            notes = notes or Notes()
            notes.inexact.update(said)
    else:
        graph = _quantized(graph, calibration, quantize, hw)
    # Where the host requantises there is nothing to be won by a difference.
    return lower(graph, hw, notes, close=quantize.requantize == "close" and hw.capabilities.multiply)


def compile_graph(
    graph: Graph,
    hw: HardwareConfig,
    *,
    layers: frozenset[str] | None = None,
    serial: bool = False,
    schedules: ScheduleSource = SHIPPED,
    notes: Notes | None = None,
    against: Callable[[RegionProgram], str | None] | None = None,
    targets: TargetList = DEFAULT_TARGETS,
    strict: bool = False,
) -> CompiledModule:
    """Compile an integer graph for `hw`; only fused operators within `layers`, where given, may run on VTA.

    Inner graphs without a target, or for VTA, count as what they hold; those for other targets run on the host.
    With `serial` one unit runs at a time. `schedules` gives the schedule of each operator; equal workloads are asked for once.
    By default these are the records that come with the package where one fits, and the best by estimate where none does.
    `notes` of the lowering join the reasons of placements.
    `against` may give a reason to leave a region to the host. Every program is verified before it is returned. One that breaks a
    rule is a fault of the compiler: a `CompilerFaultWarning` says so, and what it concerns runs on the host; with `strict` it is
    an error. Raises `CompileError` if something must run on a host that is not among the `targets`.
    """
    notes = notes or Notes()
    graph = inline_functions(graph, lambda attrs: attrs.target in ("", TARGET))
    for warning in overflow_warnings(graph, hw, notes.wrapping):
        _LOG.warning("%s", warning)
    graph = _arranged(graph, hw)
    planner = _Planner(graph, hw, layers, serial, schedules)
    if targets.host_first:
        planner.refuse_all(f"taken by {targets.host}, which comes first among the targets")
    parts, regions = _regions(graph, hw, planner, against, strict)
    placements = _placements(graph, parts, notes.inexact, planner.unmoved)
    if targets.host is None:
        _require_no_host(placements, targets)
    return CompiledModule(graph, hw, regions, placements, sum(macs_of(node) for node in graph.calls()))


def _regions(
    graph: Graph,
    hw: HardwareConfig,
    planner: _Planner,
    against: Callable[[RegionProgram], str | None] | None,
    strict: bool,
) -> tuple[Partition, tuple[RegionProgram, ...]]:
    """Partition and compile; again without what is left to the host, until all regions may stay."""
    while True:
        parts = partition(graph, hw, planner.refuse)
        regions: list[RegionProgram] = []
        refused: dict[Node, str] = {}
        for index, nodes in enumerate(parts.regions):
            made = _verified(planner, f"region{index}", nodes, strict)
            reason = against(made) if against and isinstance(made, RegionProgram) else None
            if reason is not None:
                refused.update((fused.result, reason) for fused in nodes.fused_operators)
            elif isinstance(made, RegionProgram):
                regions.append(made)
            else:
                refused.update(made)
        if not refused:
            return parts, tuple(regions)
        planner.refused.update(refused)


def _verified(planner: _Planner, name: str, nodes: RegionNodes, strict: bool) -> RegionProgram | dict[Node, str]:
    """The program of a region; or, where the compiler fails at it, why the results concerned are left to the host."""
    labeled = dict(zip(_labels(nodes), nodes.fused_operators, strict=True))
    try:
        region = planner.region(name, nodes)
    except (CompileError, EncodingError) as error:
        if strict:
            raise
        return _faulty(name, list(nodes.fused_operators), str(error))
    findings = verify(region.program)
    if not findings:
        return region
    if strict:
        require_verified(region.program)
    places = (region.program.origin(finding.instruction) for finding in findings if finding.instruction is not None)
    operators = {place.operator.removesuffix(MOVE_SUFFIX) for place in places if place is not None}
    fused_operators = [labeled[operator] for operator in operators] or list(nodes.fused_operators)
    return _faulty(name, fused_operators, f"{findings[0]}" + (f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""))


def _faulty(region: str, fused_operators: list[FusedOperator], found: str) -> dict[Node, str]:
    """Warn of a program that the compiler made wrong; returns the reason for the host, by the end of each fused operator."""
    named = ", ".join(fused.label for fused in fused_operators[:_NAMED]) + (
        f" and {len(fused_operators) - _NAMED} more" * (len(fused_operators) > _NAMED)
    )
    text = f"fault of the compiler, please report it: in the program of {region}: {found}"
    warnings.warn(f"{text}; on the host instead: {named}", CompilerFaultWarning, stacklevel=2)
    return dict.fromkeys((fused.result for fused in fused_operators), text)


def region_operators(
    graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None
) -> tuple[tuple[FusedOperator, TileOperator], ...]:
    """What `hw` can run of an integer graph, within `layers` where given, in program order: each fused operator as an operator.

    Those that only move values are left out.
    """
    graph = _arranged(graph, hw)
    planner = _Planner(graph, hw, layers, False, DEFAULT_SCHEDULES)
    parts = partition(graph, hw, planner.refuse)
    fused_operators = [fused for nodes in parts.regions for fused in nodes.fused_operators if not is_copy(fused.anchor)]
    return tuple((fused, operator) for fused in fused_operators for operator in planner.operators(fused))


def graph_regions(graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None) -> tuple[RegionOperators, ...]:
    """The regions that `compile_graph` makes of an integer graph, those too that do not pay."""
    graph = _arranged(inline_functions(graph, lambda attrs: attrs.target in ("", TARGET)), hw)
    planner = _Planner(graph, hw, layers, False, DEFAULT_SCHEDULES)
    regions = partition(graph, hw, planner.refuse).regions
    return tuple(planner.planned(f"region{index}", nodes).region for index, nodes in enumerate(regions))


def _arranged(graph: Graph, hw: HardwareConfig) -> Graph:
    """The integer graph with what the hardware's accumulators and blocks make of it."""
    return gather_windows(fold_columns(wrap_accumulators(graph, hw), hw), hw)


def _quantized(graph: Graph, calibration: Mapping[str, NDArray[Any]] | None, config: QuantizeConfig, hw: HardwareConfig) -> Graph:
    # Most of the quantisation serves float networks alone.
    from vta.quantization.float.quantizer import quantize

    return fold_lookups(quantize(graph, calibration, config, hw))


@dataclass(frozen=True, eq=False)
class _PlannedRegion:
    region: RegionOperators
    ends: tuple[tuple[FusedOperator, int], ...]
    """Fused operators that take operators, and the index of the last of each."""
    results: tuple[Tensor, ...]


class _Planner:
    """Names tensors, and finds a schedule for each operator before the partition is settled."""

    def __init__(
        self,
        graph: Graph,
        hw: HardwareConfig,
        layers: frozenset[str] | None,
        serial: bool,
        source: ScheduleSource,
    ) -> None:
        self._hw = hw
        self._layers = layers
        self._serial = serial
        self._source = source
        self._number = {node: index for index, node in enumerate(graph.nodes())}
        self._schedules: dict[Hashable, Schedule] = {}
        self._operators: dict[FusedOperator, tuple[TileOperator, ...]] = {}
        self.unmoved: set[FusedOperator] = set()
        """Fused operators of the regions compiled that take no operator: their values lie where they are wanted."""
        self._reason_against_all: str | None = None
        self.refused: dict[Node, str] = {}
        """Ends of fused operators that are left to the host after all, and why."""

    def refuse_all(self, reason: str) -> None:
        """Leave everything to the host."""
        self._reason_against_all = reason

    def refuse(self, fused: FusedOperator) -> str | None:
        """Why a fused operator may not or cannot run on VTA."""
        if self._reason_against_all is not None:
            return self._reason_against_all
        if self._layers is not None and not {fused.anchor.name, fused.result.name} <= self._layers:
            return "outside the region between start and stop"
        if fused.result in self.refused:
            return self.refused[fused.result]
        try:
            for operator in self.operators(fused):
                operator.check(self._hw)
                if (scheduled := operator.scheduled) is not None:
                    self.schedule(scheduled)
        except CompileError as error:
            return str(error)
        return None

    def operators(self, fused: FusedOperator) -> tuple[TileOperator, ...]:
        """The operators that compute a fused operator, every tensor in memory of its own; packing its weights once."""
        if fused not in self._operators:
            if is_copy(fused.anchor):
                self._operators[fused] = tuple(copy_operators(fused.anchor, self._tensor, self._hw, fused.label))
            else:
                self._operators[fused] = (operator_of(fused, self._tensor, self._hw, fused.label),)
        return self._operators[fused]

    def schedule(self, operator: GemmOperator) -> Schedule:
        """The schedule of an operator; equal workloads share one. Copies are not tuned."""
        key = operator.workload_key
        if key not in self._schedules:
            choose = choose_schedule if operator.tuned is None else self._source.choose
            self._schedules[key] = choose(operator, self._hw)
        return self._schedules[key]

    def planned(self, name: str, nodes: RegionNodes) -> _PlannedRegion:
        """The fused operators of a region as operators, their tensors where they lie in it."""
        placed = placed_tensors(nodes.fused_operators, nodes.outputs, self._tensor, self._hw.block)
        by_name = {self._tensor(node).name: tensor for node, tensor in placed.items()}

        def tensor_of(node: Node) -> Tensor:
            return placed.get(view_source(node)) or self._tensor(node)

        operators: list[TileOperator] = []
        ends: list[tuple[FusedOperator, int]] = []
        for fused, label in zip(nodes.fused_operators, _labels(nodes), strict=True):
            before = len(operators)
            if is_copy(fused.anchor):
                operators += copy_operators(fused.anchor, tensor_of, self._hw, label)
            else:
                operators += [replace(operator.relocated(by_name), name=label) for operator in self.operators(fused)]
            if len(operators) > before:
                ends.append((fused, len(operators) - 1))
            else:
                self.unmoved.add(fused)
        inputs, outputs = [tensor_of(node) for node in nodes.inputs], [tensor_of(node) for node in nodes.outputs]
        results = [tensor_of(fused.result) for fused, _ in ends]
        region = RegionOperators(name, tuple(operators), tuple(inputs), tuple(outputs))
        return _PlannedRegion(region, tuple(ends), tuple(results))

    def region(self, name: str, nodes: RegionNodes) -> RegionProgram:
        """Compile the fused operators of a region to one program."""
        planned = self.planned(name, nodes)
        region = planned.region
        operators = region.operators
        schedules, results = self._schedules_of(region), planned.results
        compiled = compile_operators(operators, region.inputs, region.outputs, self._hw, schedules, self._serial, results)
        records = []
        for fused, last in planned.ends:
            operator, binding = operators[last], self._binding(fused.result)
            records.append(OperatorRecord(operator.name, operator.kind, operator.macs, binding, compiled.ends[last]))
        return RegionProgram(
            name,
            compiled.program,
            tuple(self._binding(node) for node in nodes.inputs),
            tuple(self._binding(node) for node in nodes.outputs),
            tuple(records),
        )

    def _schedules_of(self, region: RegionOperators) -> list[Schedule | None]:
        """The schedules of a region's operators, None for those that have none."""
        together = self._source.choose_region(region, self._hw) or [None] * len(region.operators)
        scheduled = (operator.scheduled for operator in region.operators)
        return [
            schedule or (None if operator is None else self.schedule(operator))
            for operator, schedule in zip(scheduled, together, strict=True)
        ]

    def _tensor(self, node: Node) -> Tensor:
        source = view_source(node)
        return packed_tensor(source, self._hw, f"{source.name}.{self._number[source]}")

    def _binding(self, node: Node) -> TensorBinding:
        tensor = self._tensor(node)
        return TensorBinding(view_source(node), tensor.name, tensor.planes)


def _labels(nodes: RegionNodes) -> list[str]:
    """What the operators of each fused operator of a region are called."""
    return _unique([fused.label for fused in nodes.fused_operators])


def _unique(names: list[str]) -> list[str]:
    """Make names distinct by numbering those that repeat."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result


def _require_no_host(placements: tuple[Placement, ...], targets: TargetList) -> None:
    left = [placement for placement in placements if placement.where == "host"]
    if left:
        named = "; ".join(f"{placement.layer} ({placement.op}): {placement.reason}" for placement in left[:_NAMED])
        more = f"; and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        raise CompileError(f"target {targets}: a host, such as llvm, is needed for {named}{more}")


def _placements(graph: Graph, parts: Partition, inexact: dict[str, str], unmoved: set[FusedOperator]) -> tuple[Placement, ...]:
    part_of = {node: fused for nodes in parts.regions for fused in nodes.fused_operators for node in fused.nodes}
    placements = []
    for node in graph.calls():
        if node in parts.reasons:
            placements.append(Placement(node.name, node.op, "host", parts.reasons[node]))
        elif node in part_of and part_of[node] in unmoved:
            placements.append(Placement(node.name, node.op, "vta", "by where its tensors lie, nothing is copied"))
        elif node in part_of or is_view(node):
            owner = part_of[node].label if node in part_of else view_source(node).name
            note = f"; {inexact[node.name]}" if node.name in inexact else ""
            placements.append(Placement(node.name, node.op, "vta", f"part of {owner}{note}"))
    return tuple(placements)
