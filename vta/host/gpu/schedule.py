"""The schedule of a kernel that nobody has tuned: one thread an element, or tiles of sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from vta.host.gpu.splitting import GpuChoice, GpuSplit, split_steps
from vta.host.gpu.tiling import GpuTile, TiledSums, tiled_steps
from vta.host.loop.compute import Kernel, Stage
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Binary, Expr, Unary, walk
from vta.host.loop.grid import GridLimits
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Bind, ComputeAt, Fuse, Inline, Part, Reorder, Split, Step
from vta.support.dataclass import dataclass

__all__ = ["ELEMENTS", "Elements", "are_few", "cheap_stages", "element_steps", "is_thin", "kernel_steps", "thread_steps"]

_FEW, _LONG = 4096, 32
_LONGEST = 60
"""Parts of an expression that is computed anew for each reader."""
_SLOW = ("exp", "expm1", "log", "tanh", "erf", "sin", "cos", "sqrt")


@dataclass(frozen=True)
class Elements:
    """How stages are computed one element after the other."""

    threads: int = 128
    """In a block."""
    each: int = 1
    """Elements that a thread computes, as far apart as there are threads."""
    most_parts: int = 64
    """Of a long reduction of few elements."""

    @property
    def loop(self) -> str:
        """The innermost loop over elements."""
        return "thread" if self.each == 1 else "item"


ELEMENTS = Elements()
"""Where nothing else is known to be better."""


def kernel_steps(
    kernel: Kernel, limits: GridLimits, tiled: TiledSums | None = None, tile: GpuChoice | None = None
) -> tuple[Step, ...]:
    """Steps for all stages of a kernel: sums by a tile or a split, if there is one, the others one thread an element."""
    if tiled is None or tile is None:
        return element_steps(kernel, limits)
    is_split = isinstance(tile, GpuSplit)
    read = tiled.direct if isinstance(tile, GpuTile) and tile.tensor else ()
    own = {tiled.sums.name, *(() if is_split else (stage.name for stage in tiled.fetched if stage.name not in read))}
    inlined = [stage.name for stage in kernel.stages[:-1] if stage.name not in own and _is_cheap(stage)]
    first = tuple(Inline(name) for name in inlined)
    rest = [stage for stage in kernel.stages[:-1] if stage.name not in {*own, *inlined}]
    others = tuple(step for stage in rest for step in thread_steps(stage, limits))
    out = kernel.stages[-1]
    last = split_steps(out, tiled, tile) if isinstance(tile, GpuSplit) else tiled_steps(out, tiled, tile)
    return (*first, *others, *last)


def cheap_stages(kernel: Kernel) -> list[str]:
    """Stages that are computed wherever they are read rather than kept."""
    return [stage.name for stage in kernel.stages[:-1] if _is_cheap(stage)]


def element_steps(kernel: Kernel, limits: GridLimits, how: Elements = ELEMENTS) -> tuple[Step, ...]:
    """One thread for each element of each stage; cheap ones are computed where they are read, and so are sums."""
    steps: list[Step] = [Inline(name) for name in cheap_stages(kernel)]
    steps += _parts(scheduled(kernel, steps).kernel, how.most_parts)
    left = scheduled(kernel, steps).kernel
    places: list[Step] = []
    for stage in left.stages:
        readers = left.readers(stage)
        attached = ComputeAt(stage.name, readers[0].name, how.loop) if len(readers) == 1 and stage.reduce else None
        if (
            attached
            and readers[0].axes
            and not readers[0].reduce
            and _is_one_element(left, stage, readers[0], attached, limits, how)
        ):
            places.append(attached)
        else:
            steps += thread_steps(stage, limits, how)
    return (*steps, *places)


def _parts(kernel: Kernel, most: int) -> Iterator[Part]:
    """Reductions of few elements, cut so that there is work for many threads."""
    for stage in kernel.stages:
        if is_thin(stage):
            longest = max(stage.reduce, key=lambda axis: axis.extent)
            parts = max(count for count in range(1, min(longest.extent, most) + 1) if longest.extent % count == 0)
            if parts > 1:
                yield Part(stage.name, longest.name, longest.extent // parts, f"{stage.name}_parts")


def is_thin(stage: Stage) -> bool:
    """Whether a stage is a long reduction of elements that are too few to give each a thread."""
    elements, values = (prod(axis.extent for axis in axes) for axes in (stage.axes, stage.reduce))
    return bool(stage.reduce) and are_few(elements, values)


def are_few(elements: int, values: int) -> bool:
    """Whether sums of so many values each are long, and too few to give each a thread."""
    return elements <= _FEW and values >= _LONG


def _is_cheap(stage: Stage) -> bool:
    return not stage.reduce and not _is_slow(stage.value)


def _is_slow(value: Expr) -> bool:
    nodes = list(walk(value))
    slow = any(
        (isinstance(node, Unary) and node.operation in _SLOW) or (isinstance(node, Binary) and node.operation == "pow")
        for node in nodes
    )
    return slow or len(nodes) > _LONGEST


def _is_one_element(kernel: Kernel, stage: Stage, reader: Stage, attached: ComputeAt, limits: GridLimits, how: Elements) -> bool:
    """Whether each element of the reader needs one of the stage, and each of these is read once."""
    if prod(axis.extent for axis in stage.axes) != prod(axis.extent for axis in reader.axes):
        return False
    try:
        program = lower(scheduled(kernel, (*thread_steps(reader, limits, how), attached)))
    except LoopError:
        return False
    return all(prod(buffer.shape) == 1 for function in program.functions for buffer in function.local)


def thread_steps(stage: Stage, limits: GridLimits, how: Elements = ELEMENTS) -> tuple[Step, ...]:
    """Blocks of threads, one or a few for each element of a stage; what is done for one of these is inside of `how.loop`."""
    if not stage.axes:
        return ()
    steps: list[Step] = []
    whole = _joined(stage.name, [axis.name for axis in stage.axes], steps)
    threads = min(how.threads, limits.threads)
    inner = "thread" if how.each == 1 else "items"
    steps.append(Split(stage.name, whole, threads * how.each, "block", inner, guard=True))
    if how.each > 1:
        steps += (Split(stage.name, inner, threads, "item", "thread", guard=True), Reorder(stage.name, ("thread", "item")))
    steps += (Bind(stage.name, "block", "blockIdx.x"), Bind(stage.name, "thread", "threadIdx.x"))
    return tuple(steps)


def _joined(name: str, axes: Sequence[str], steps: list[Step]) -> str:
    whole = axes[0]
    for axis in axes[1:]:
        steps.append(Fuse(name, whole, axis, f"{whole}_{axis}"))
        whole = f"{whole}_{axis}"
    return whole
