"""Kernels that follow each other as one plan: the buffers that they share, where these lie, and the calls in order.

A plan is plain data. It names functions by their symbols, so that it can be stored beside the library that has them. Whoever runs
it fills a table with the address of each place and makes the calls, each of `ARGUMENTS` (see `vta.host.llvm.module`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from vta.host.kernels.values import PLAIN, Layout, stored_shape
from vta.host.loop.buffer import Buffer
from vta.host.outline import ProgramOutline
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.host.kernels.checks import RangeCheck

__all__ = [
    "PLAN_ALIGNMENT",
    "KernelCall",
    "KernelPlan",
    "Place",
    "PlacedKernel",
    "PlanCheck",
    "PlanTensor",
    "View",
    "make_kernel_plan",
]

Array = NDArray[Any]
PLAN_ALIGNMENT = 64
"""Bytes that buffers of an arena begin at multiples of, for processors."""
_AFTER_ALL = 1 << 62
"""A step that comes after all others."""


@dataclass(frozen=True)
class Place:
    """Where a buffer lies."""

    kind: Literal["input", "output", "constant", "arena"]
    at: int
    """Which of the inputs, outputs or constants it is, or bytes from the start of the arena."""


@dataclass(frozen=True)
class PlanTensor:
    """An array that a plan takes or gives, row by row."""

    shape: tuple[int, ...]
    dtype: str
    place: int
    """Position in the plan's table."""


@dataclass(frozen=True)
class KernelCall:
    """One call of a compiled function."""

    symbol: str
    buffers: tuple[int, ...]
    """Positions in the plan's table, in the order of the function's pointers."""
    extent: int
    """Of the outermost loop, where threads may share it; else 1."""
    kernel: int
    """Position of the kernel that the function is a part of."""


@dataclass(frozen=True)
class PlanCheck:
    """What must be looked at when all calls have been made: see `vta.host.kernels.checks.RangeCheck`."""

    low: int
    high: int
    """Positions in the plan's table, of int64 numbers in the arena."""
    least: int
    most: int
    message: str

    def outside(self, low: int, high: int) -> str | None:
        """What is said of the smallest and largest value that was there; None where both are allowed."""
        if self.least <= low and high <= self.most:
            return None
        return f"{self.message}{low if low < self.least else high}"


@dataclass(frozen=True)
class KernelPlan:
    """Calls over a table of places."""

    table: tuple[Place, ...]
    sizes: tuple[int, ...]
    """Bytes of each place."""
    inputs: tuple[PlanTensor, ...]
    outputs: tuple[PlanTensor, ...]
    """An output may lie in the place of an input, whose values it shows in another shape."""
    constants: tuple[Array, ...]
    arena_bytes: int
    calls: tuple[KernelCall, ...]
    checks: tuple[PlanCheck, ...] = ()


@dataclass(frozen=True)
class PlacedKernel:
    """A kernel to plan: a program, the values that it reads, the constants after them, and the value that it gives."""

    program: ProgramOutline
    sources: tuple[Node, ...]
    constants: tuple[Array, ...]
    result: Node
    checks: tuple[RangeCheck, ...] = ()


@dataclass(frozen=True)
class View:
    """A value that is another in a different shape."""

    source: Node
    result: Node


@dataclass
class _Live:
    """A buffer of the arena."""

    place: int
    nbytes: int
    first: int
    """Of the steps that use it."""
    last: int


class _Planner:
    """What has been placed so far."""

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.table: list[Place] = []
        self.sizes: list[int] = []
        """Bytes of each."""
        self.places: dict[Node, int] = {}
        """Of values."""
        self.constants: dict[int, tuple[int, Array]] = {}
        """Place and array, by the identity of the array."""
        self.live: dict[int, _Live] = {}
        """Buffers of the arena by their places."""
        self.calls: list[KernelCall] = []
        self.checks: list[PlanCheck] = []

    def add(self, place: Place, nbytes: int) -> int:
        """A new entry of the table."""
        self.table.append(place)
        self.sizes.append(nbytes)
        return len(self.table) - 1

    def constant(self, array: Array) -> int:
        """The place of a constant, which kernels may share."""
        if id(array) not in self.constants:
            self.constants[id(array)] = (self.add(Place("constant", len(self.constants)), array.nbytes), array)
        return self.constants[id(array)][0]

    def in_arena(self, buffer: Buffer, step: int) -> int:
        """The place of a buffer that is first used in a step; its offset is found out later."""
        place = self.add(Place("arena", 0), buffer.nbytes)
        self.live[place] = _Live(place, max(buffer.nbytes, 1), step, step)
        return place

    def kernel(self, step: int, kernel: PlacedKernel) -> None:
        """Plan the calls of a kernel."""
        program = kernel.program
        sources = [self.places[node] for node in kernel.sources]
        for place in sources:
            if place in self.live:
                self.live[place].last = step
        given = [*sources, *map(self.constant, kernel.constants)]
        workspace = [self.in_arena(buffer, step) for buffer in program.workspace]
        if kernel.result not in self.places:
            self.places[kernel.result] = self.in_arena(program.output, step)
        where = dict(zip(program.workspace, workspace, strict=True))
        for check in kernel.checks:
            for buffer in (check.low, check.high):
                self.live[where[buffer]].last = _AFTER_ALL
            self.checks.append(PlanCheck(where[check.low], where[check.high], check.least, check.most, check.message))
        buffers = (*given, *workspace, self.places[kernel.result])
        for function in program.functions:
            self.calls.append(KernelCall(program.symbol(function), buffers, function.shared_extent, step))

    def placed(self) -> tuple[tuple[Place, ...], int]:
        """The table, with offsets in the arena: buffers whose uses do not overlap may share memory."""
        table = list(self.table)
        settled: list[tuple[int, int, _Live]] = []
        for item in sorted(self.live.values(), key=lambda live: (live.first, -live.nbytes)):
            beside = sorted((start, end) for start, end, other in settled if other.last >= item.first)
            offset = 0
            for start, end in beside:
                if offset + item.nbytes <= start:
                    break
                offset = max(offset, -(-end // self.alignment) * self.alignment)
            settled.append((offset, offset + item.nbytes, item))
            table[item.place] = Place("arena", offset)
        return tuple(table), max((end for _, end, _ in settled), default=0)


def make_kernel_plan(
    steps: Sequence[PlacedKernel | View],
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    layouts: Mapping[Node, Layout],
    alignment: int = PLAN_ALIGNMENT,
) -> KernelPlan:
    """Plan kernels that run in order. `layouts` says how values lie that do not lie row by row.

    Parts of the arena begin at multiples of `alignment`.

    `inputs` are the values that come from outside, `outputs` those that somebody reads afterwards.
    """
    planner = _Planner(alignment)
    for at, node in enumerate(inputs):
        planner.places[node] = planner.add(Place("input", at), _nbytes(node, layouts))
    origins = {step.result: step.source for step in steps if isinstance(step, View)}
    results = list(dict.fromkeys(_origin(node, origins) for node in outputs))
    for at, node in enumerate(node for node in results if node not in planner.places):
        planner.places[node] = planner.add(Place("output", at), _nbytes(node, layouts))
    for index, step in enumerate(steps):
        if isinstance(step, View):
            planner.places[step.result] = planner.places[step.source]
        else:
            planner.kernel(index, step)
    table, arena_bytes = planner.placed()
    constants = tuple(array for _, array in planner.constants.values())

    def tensors(nodes: Sequence[Node]) -> tuple[PlanTensor, ...]:
        kinds = [(node, layouts.get(node, PLAIN)) for node in nodes]
        return tuple(
            PlanTensor(stored_shape(node.shape, layout), layout.dtype(node.dtype), planner.places[node]) for node, layout in kinds
        )

    sizes = tuple(planner.sizes)
    calls, checks = tuple(planner.calls), tuple(planner.checks)
    return KernelPlan(table, sizes, tensors(inputs), tensors(outputs), constants, arena_bytes, calls, checks)


def _nbytes(node: Node, layouts: Mapping[Node, Layout]) -> int:
    layout = layouts.get(node, PLAIN)
    return Buffer("", stored_shape(node.shape, layout), layout.dtype(node.dtype)).nbytes


def _origin(node: Node, origins: Mapping[Node, Node]) -> Node:
    while node in origins:
        node = origins[node]
    return node
