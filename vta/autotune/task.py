"""Tasks: the distinct workloads of a network, each with the integer graph that measuring compiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.autotune.features import features_of
from vta.autotune.space import Space
from vta.autotune.tunable import layers_text
from vta.compiler.compile import region_operators
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.errors import TuningError
from vta.ir.graph import Graph, Node, graph_input
from vta.ir.operator import lookup
from vta.partition.fused.fused_operator import FusedOperator
from vta.records.knobs import entity_of, fitting_schedule
from vta.records.log import record_of
from vta.records.measurement import Measurement
from vta.records.record import Record
from vta.records.workload import Workload, workload_of
from vta.schedule.bound import bound_of
from vta.schedule.choose import choose_schedule
from vta.schedule.columns import Floats
from vta.schedule.energy import energy_of
from vta.schedule.roofline import Roofline, roofline_of
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import TileOperator

__all__ = ["Task", "alu_workloads", "extract_tasks", "merged_tasks", "task_of_graph", "tasks_of"]


@dataclass(frozen=True, eq=False)
class Task:
    """A workload on a config."""

    workload: Workload
    hw: HardwareConfig
    graph: Graph
    """One VTA operator on int8 inputs, the most demanding of those with this workload: measuring runs it."""
    operator: GemmOperator
    """The same, as the templates take it."""
    variants: tuple[GemmOperator, ...]
    """The operators of this workload that differ in what follows the products; a schedule must fit all."""
    weight: int = 1
    """How often the network has it."""
    layers: tuple[str, ...] = field(default=())
    """The layers that it is for."""
    skip_padding: bool = True
    """Whether schedules may leave out products with zero padding."""

    @cached_property
    def space(self) -> Space:
        """The schedules to choose from."""
        return Space(self.variants, self.hw, self.skip_padding)

    @cached_property
    def roofline(self) -> Roofline:
        """The least cycles that it can take."""
        return roofline_of(self.operator, self.hw)

    @property
    def name(self) -> str:
        """A short name of the workload."""
        return self.workload.identity

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run."""
        return self.operator.macs

    @property
    def least_seconds(self) -> float:
        """The roofline, at the clock of the config's platform."""
        return self.roofline.cycles / self.hw.platform.clock_hz

    def least_energy_pj(self, technology: Technology) -> float:
        """Of the products and bytes that it cannot do without."""
        least = bound_of([self.operator], self.hw, self.hw.platform.bus_bytes)
        return energy_of(least.counters, self.hw, technology)["total"]

    def default(self) -> Schedule:
        """The schedule that the compiler takes without records."""
        return choose_schedule(self.operator, self.hw)

    def features(self, kind: str, numbers: NDArray[np.int64]) -> Floats:
        """See `vta.autotune.tuners.features`."""
        return features_of(kind, self.space, numbers)

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this workload and config."""
        return (record.model, record.workload) == (self.hw.model, self.workload)

    def schedule_of(self, record: Record) -> Schedule:
        """The schedule of a record. Raises `TuningError` naming the knob or limit that is broken."""
        return fitting_schedule(record.entity, self.operator, self.hw)

    def record(self, schedule: Schedule, number: int, result: Measurement, device: str) -> Record:
        """The record of a trial."""
        return record_of(self.workload, self.hw, entity_of(schedule, self.operator), number, result, device)

    @property
    def label(self) -> str:
        """The layers that it is for, to be shown: the first one, and how many more; the workload where none is known."""
        return layers_text(self.layers, self.name)


def extract_tasks(
    graph: Graph, hw: HardwareConfig, layers: frozenset[str] | None = None, skip_padding: bool = True
) -> tuple[Task, ...]:
    """Return the distinct tasks of an integer graph in the order of their first use, with the number of uses as weight.

    Only fused operators within `layers`, where given, count. Pooling by maximum has no schedule to tune. Without
    `skip_padding`, schedules that leave out products with zero padding are no candidates.
    """
    return tasks_of(region_operators(graph, hw, layers), hw, skip_padding)


def tasks_of(
    operators: Iterable[tuple[FusedOperator, TileOperator]], hw: HardwareConfig, skip_padding: bool = True
) -> tuple[Task, ...]:
    """The tasks of fused operators, each with its operator on tiles, as `extract_tasks` gives those of a graph."""
    found: dict[Workload, list[tuple[FusedOperator, GemmOperator]]] = {}
    for fused, operator in operators:
        if (scheduled := operator.scheduled) is not None:
            found.setdefault(workload_of(scheduled, hw), []).append((fused, scheduled))
    return tuple(_merged(workload, uses, hw, skip_padding) for workload, uses in found.items())


def merged_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Join tasks of equal workloads, e.g. of several networks on one config: schedules must fit the variants of all."""
    found: dict[Workload, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.workload, []).append(task)
    return tuple(_joined(same) for same in found.values())


def task_of_graph(graph: Graph, hw: HardwareConfig) -> Task:
    """The task of a graph that is one VTA operator. Raises `TuningError` if it is not."""
    tasks = extract_tasks(graph, hw)
    if len(tasks) != 1:
        raise TuningError(f"{graph.name}: expected one operator that {hw.model} can run, found {len(tasks)}")
    return tasks[0]


def alu_workloads(workloads: Iterable[Workload]) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
    """Prepare ``add.vta`` and ``multiply.vta`` for tuning; returns the distinct ones and what was done to get them.

    Operators that are not packed, or compute in float, are dropped. A scalar second operand is taken as one of the first
    operand's shape.
    """
    kept: dict[Workload, Workload] = {}
    said: list[str] = []
    for workload in workloads:
        if workload.name not in ("add.vta", "multiply.vta"):
            continue
        first, second = workload.args[:2]
        if len(first[1]) <= 4:
            said.append(f"{workload.identity}: dropped, its operands are not packed")
        elif "float" in first[2] or "float" in second[2]:
            said.append(f"{workload.identity}: dropped, it computes in float")
        else:
            same = replace(workload, args=(first, (*first[:2], second[2]), *workload.args[2:]))
            if same in kept:
                said.append(f"{workload.identity}: tuned together with {kept[same].identity}")
            kept.setdefault(same, workload)
    return tuple(kept), tuple(said)


def _merged(
    workload: Workload, uses: Sequence[tuple[FusedOperator, GemmOperator]], hw: HardwareConfig, skip_padding: bool
) -> Task:
    variants = {operator.variant_key: operator for _, operator in uses}
    fused, operator = max(uses, key=lambda use: roofline_of(use[1], hw).compute)
    others = tuple(variant for key, variant in variants.items() if key != operator.variant_key)
    layers = tuple(use.label for use, _ in uses)
    return Task(workload, hw, _standalone(fused), operator, (operator, *others), len(uses), layers, skip_padding)


def _joined(tasks: Sequence[Task]) -> Task:
    hardest = max(tasks, key=lambda task: task.roofline.compute)
    variants = {operator.variant_key: operator for task in tasks for operator in task.variants}
    first = hardest.operator.variant_key
    others = tuple(variant for key, variant in variants.items() if key != first)
    layers = tuple(layer for task in tasks for layer in task.layers)
    return replace(hardest, variants=(hardest.operator, *others), weight=sum(task.weight for task in tasks), layers=layers)


def _standalone(fused: FusedOperator) -> Graph:
    """The fused operator as a graph of its own, its sources as inputs."""
    done: dict[Node, Node] = {}
    inputs = []
    for index, source in enumerate(fused.sources):
        done[source] = graph_input(f"input{index}", source.shape, source.dtype)
        inputs.append(done[source])

    def copy(node: Node) -> Node:
        if node in done:
            return done[node]
        if node.is_call:
            sources = tuple(copy(source) for source in node.inputs)
            kind = lookup(node.op).check(node.attrs, sources, node.name)
            done[node] = Node(node.op, sources, node.attrs, kind, node.name)
        else:
            done[node] = node
        return done[node]

    return Graph(tuple(inputs), (copy(fused.result),), fused.label)
