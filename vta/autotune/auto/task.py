"""Search tasks: the distinct kernels of a network, each with how often the network has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from vta.autotune.auto.machine import Machine
from vta.autotune.auto.sketch import Choice
from vta.autotune.auto.space import Made, ScheduleSpace
from vta.autotune.auto.structure import operations
from vta.autotune.tunable import layers_text
from vta.errors import TuningError
from vta.host.kernels.group import Group, GroupKernel
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_text
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.ir.graph import Graph
from vta.ir.macs import macs_of
from vta.records.host.schedules import compute_workload
from vta.records.host.steps import DEFAULT_SKETCH, entity_of_steps, sketch_of
from vta.records.measurement import Measurement
from vta.records.record import Record, kernel_record
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["AutoTask", "distinct_tasks", "task_of_group"]

_DIGITS = 6
"""Of the digest in a task's name."""


@dataclass(frozen=True, eq=False)
class AutoTask:
    """A kernel on a machine, whose schedule is searched for."""

    workload: Workload
    kernel: Kernel
    default: Program
    """As the rules of kernels make it."""
    constants: tuple[NDArray[Any], ...]
    """The last inputs."""
    machine: Machine
    operations: int
    """Arithmetic ones of a run."""
    operators: tuple[str, ...]
    weight: int = 1
    """How often the network has it."""
    layers: tuple[str, ...] = ()
    hints: tuple[Mapping[str, Choice], ...] = ()
    """Choices that are known to be good, the best first."""
    graph: Graph | None = None
    """The operators alone, for whoever measures whole networks."""

    @cached_property
    def space(self) -> ScheduleSpace:
        """The schedules to choose from."""
        return ScheduleSpace(self.kernel, self.machine)

    @property
    def name(self) -> str:
        """A short name: what is computed, the shapes, and the first digits of the digest."""
        _, *shapes = self.workload.identity.split(":")
        return ":".join(["+".join(self.operators), shapes[0], shapes[-1], str(self.workload.args[-1])[:_DIGITS]])

    @property
    def label(self) -> str:
        """The layers that it is for, to be shown."""
        return layers_text(self.layers, self.name)

    @property
    def compute(self) -> str:
        """What it computes, as text."""
        return compute_text(self.kernel)

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this kernel and machine."""
        return record.workload == self.workload and self.machine.matches(record.target)

    def made_of(self, record: Record) -> Made | None:
        """The schedule of a record; None for the default. Raises `TuningError` where it is not in the space."""
        sketch, choices = sketch_of(record.entity)
        if sketch == DEFAULT_SKETCH:
            return None
        genome = self.space.genome(sketch, choices)
        made = None if genome is None else self.space.make(genome)
        if made is None:
            raise TuningError(f"a schedule by sketch {sketch!r} that this version does not make")
        return made

    def record(self, made: Made | None, result: Measurement, device: str) -> Record:
        """The record of a trial, of the default without `made`."""
        if made is None:
            entity = entity_of_steps(DEFAULT_SKETCH, (), ())
        else:
            entity = entity_of_steps(made.genome.sketch, tuple(self.space.choices(made.genome).items()), made.steps)
        return kernel_record(self.machine.text, self.workload, entity, -1, result, device)


def task_of_group(
    group: Group,
    machine: Machine,
    kernel: GroupKernel,
    default: GroupKernel,
    hints: tuple[Mapping[str, Choice], ...],
    graph: Graph | None = None,
) -> AutoTask:
    """The task of a group of operators: what `kernel` computes, which without a schedule of its own is done as `default` is."""
    return AutoTask(
        workload=compute_workload(kernel.kernel),
        kernel=kernel.kernel,
        default=lower(scheduled(default.kernel, default.steps)),
        constants=kernel.constants,
        machine=machine,
        operations=_operations_of(group, kernel.kernel),
        operators=tuple(node.op.rpartition(".")[2] for node in group.nodes),
        hints=hints,
        graph=graph,
    )


def distinct_tasks(
    groups: Iterable[Group], kernel_of: Callable[[Group], Kernel], task_of: Callable[[Group], AutoTask]
) -> tuple[AutoTask, ...]:
    """The distinct tasks of groups of operators, in the order of their first use; `task_of` is asked once for each."""
    found: dict[Workload, AutoTask] = {}
    for group in groups:
        workload = compute_workload(kernel_of(group))
        layers = (group.result.name,) if group.anchor is None else (group.anchor.name,)
        if workload in found:
            task = found[workload]
            found[workload] = replace(task, weight=task.weight + 1, layers=(*task.layers, *layers))
        else:
            found[workload] = replace(task_of(group), layers=layers)
    return tuple(found.values())


def _operations_of(group: Group, kernel: Kernel) -> int:
    """Arithmetic operations of a run: those of products and sums where there are some."""
    macs = sum(macs_of(node) for node in group.nodes)
    return 2 * macs if macs else sum(map(operations, kernel.stages))
