"""What a kernel computes, without saying in which order: stages, each an expression over named axes, perhaps with a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Expr, Load, Var, walk
from vta.support.dataclass import dataclass

__all__ = ["Axis", "Combine", "Kernel", "Stage", "axes_of"]

Combine = Literal["add", "mul", "min", "max"]


@dataclass(frozen=True)
class Axis:
    """A named range 0 .. extent - 1."""

    name: str
    extent: int

    @cached_property
    def var(self) -> Var:
        """The axis in an expression."""
        return Var(self.name)


def axes_of(extents: dict[str, int]) -> tuple[Axis, ...]:
    """Axes from names and extents."""
    return tuple(Axis(name, extent) for name, extent in extents.items())


@dataclass(frozen=True, eq=False)
class Stage:
    """One tensor of a kernel: ``output[axes] = value``, or ``combine`` of `initial` and the values over all of `reduce`.

    Raises `LoopError` if shapes, types or names do not go together.
    """

    output: Buffer
    axes: tuple[Axis, ...]
    """One for each dimension of the output, in its order."""
    value: Expr
    reduce: tuple[Axis, ...] = ()
    combine: Combine | None = None
    initial: Expr | None = None
    """What the reduction starts from, over `axes`."""

    def __post_init__(self) -> None:
        if tuple(axis.extent for axis in self.axes) != self.output.shape:
            raise LoopError(f"{self.name}: axes {[axis.extent for axis in self.axes]} do not span {self.output.shape}")
        names = [axis.name for axis in (*self.axes, *self.reduce)]
        if len(set(names)) != len(names):
            raise LoopError(f"{self.name}: two axes have one name: {', '.join(names)}")
        if bool(self.reduce) != (self.combine is not None) or (self.combine is None) != (self.initial is None):
            raise LoopError(f"{self.name}: a reduction has axes, a way to combine, and a value to start from; or none of them")
        nodes, starting = self._nodes
        self._check_value(self.value, nodes, set(names))
        if self.initial is not None:
            self._check_value(self.initial, starting, {axis.name for axis in self.axes})

    @cached_property
    def _nodes(self) -> tuple[list[Expr], list[Expr]]:
        """All that the value is made of, and what the reduction starts from, which several ask for."""
        return walk(self.value), [] if self.initial is None else walk(self.initial)

    def _check_value(self, value: Expr, nodes: Sequence[Expr], names: set[str]) -> None:
        if value.dtype != self.output.dtype:
            raise LoopError(f"{self.name}: the value is {value.dtype}, the output {self.output.dtype}")
        for node in nodes:
            if isinstance(node, Var) and node.name not in names:
                raise LoopError(f"{self.name}: {node.name} is none of its axes: {', '.join(sorted(names))}")

    @property
    def name(self) -> str:
        """That of the output."""
        return self.output.name

    def reads(self) -> list[Load]:
        """All loads of the stage."""
        return [node for nodes in self._nodes for node in nodes if isinstance(node, Load)]


@dataclass(frozen=True, eq=False)
class Kernel:
    """Stages in an order in which each comes after those that it reads; the last one's output is the kernel's.

    Raises `LoopError` if a stage reads what is neither an input nor computed before it.
    """

    name: str
    inputs: tuple[Buffer, ...]
    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        names = [buffer.name for buffer in (*self.inputs, *(stage.output for stage in self.stages))]
        if len(set(names)) != len(names):
            raise LoopError(f"kernel {self.name}: two buffers have one name: {', '.join(names)}")
        known = set(self.inputs)
        for stage in self.stages:
            for item in stage.reads():
                if item.buffer not in known:
                    raise LoopError(f"kernel {self.name}: {stage.name} reads {item.buffer.name}, which nothing before it gives")
            known.add(stage.output)

    @property
    def output(self) -> Buffer:
        """What the kernel gives."""
        return self.stages[-1].output

    def stage(self, name: str) -> Stage:
        """The stage of a name; raises `LoopError` listing them if there is none."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise LoopError(f"kernel {self.name} has no stage {name!r}; its stages: {', '.join(s.name for s in self.stages)}")

    def readers(self, stage: Stage) -> list[Stage]:
        """The stages that read a stage's output."""
        return [other for other in self.stages if any(item.buffer is stage.output for item in other.reads())]
