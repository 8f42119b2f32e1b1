"""Stages that find out how small and how large the values of an operand are that must lie within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vta.host.kernels.by_element.checked import bounds_of
from vta.host.kernels.reducing.reductions import reduced
from vta.host.kernels.values import Value
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Combine, Stage
from vta.host.loop.steps import Step
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["Checks", "RangeCheck", "checks_of"]


@dataclass(frozen=True)
class RangeCheck:
    """What whoever has run a kernel must look at, before its result is used."""

    low: Buffer
    high: Buffer
    """The smallest and the largest value that was there; int64 scalars."""
    least: int
    most: int
    """What is allowed."""
    message: str
    """What is said otherwise, up to the value."""


@dataclass(frozen=True)
class Checks:
    """Of a kernel, with the stages that they need."""

    ranges: tuple[RangeCheck, ...] = ()
    stages: tuple[Stage, ...] = ()
    steps: tuple[Step, ...] = ()


def checks_of(nodes: Iterable[Node], value_of: Callable[[Node], Value], lanes: int) -> Checks:
    """Those that calls need; `value_of` is an operand's value."""
    ranges: list[RangeCheck] = []
    stages: list[Stage] = []
    steps: list[Step] = []

    def extreme(name: str, values: Value, combine: Combine) -> Buffer:
        found = reduced(f"{name}{len(ranges)}", values, range(len(values.shape)), combine, lanes)
        stages.extend(found.stages)
        steps.extend(found.steps)
        return found.stages[-1].output

    for node in nodes:
        for bounds in bounds_of(node):
            values = bounds.values(value_of(node.inputs[bounds.operand]))
            low, high = extreme("lowest", values, "min"), extreme("highest", values, "max")
            message = f"{node.name}: {node.op}: {bounds.message()}"
            ranges.append(RangeCheck(low, high, bounds.least, bounds.most, message))
    return Checks(tuple(ranges), tuple(stages), tuple(steps))
