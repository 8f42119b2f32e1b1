"""Tiles of sums for a block of threads: what they read is kept in memory that they share, their sums in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from math import prod

from vta.host.loop.compute import Stage
from vta.host.loop.errors import LoopError
from vta.host.loop.nest import VIRTUAL
from vta.host.loop.steps import Bind, Cache, ComputeAt, Dot, Fuse, Part, Reorder, Share, Split, Step, Tensorize, Unroll, Vectorize
from vta.support.dataclass import dataclass

__all__ = [
    "TURNS",
    "GpuTile",
    "SpatialTile",
    "TiledSums",
    "block_steps",
    "fetch_steps",
    "shared_sums",
    "tensor_counts",
    "tensor_steps",
    "tiled_steps",
]

_BLOCKS = ("blockIdx.z", "blockIdx.y", "blockIdx.x")
_THREADS = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
_TENSOR_THREADS = ("threadIdx.y", "threadIdx.z", "threadIdx.x")
"""Of the first to the last of three axes, where 8 threads along the first and 4 along the last multiply matrices together."""
_TENSOR_WORDS = 8
TURNS = 8
"""Words that a thread loads before it stores the first."""
_VECTOR = 4


@dataclass(frozen=True)
class SpatialTile:
    """How a block of threads cuts an axis of the result."""

    virtual: int = 1
    """Parts that lie apart, of which each thread computes some of each."""
    threads: int = 1
    inner: int = 1
    """Neighbours that one thread computes."""

    @property
    def extent(self) -> int:
        """Of a block."""
        return self.virtual * self.threads * self.inner


@dataclass(frozen=True)
class GpuTile:
    """How sums are tiled."""

    spatial: tuple[SpatialTile, ...]
    """Of the last axes of the result; those before them are not cut."""
    reduce: tuple[int, ...]
    """Of each axis of the reduction, how much of it is in shared memory at a time."""
    unrolled_steps: int = 0
    """So many steps of the reduction, at most, are written out."""
    explicit: bool = True
    """Whether steps are written out by the printer, not by the device's compiler."""
    tensor: bool = False
    """Whether 32 threads at a time multiply matrices of bytes together; weights are not copied then, but read where they are."""
    parts: int = 1
    """Of each sum of such matrices, which other threads of the block add up, and which are added up in memory that they share."""

    @property
    def threads(self) -> int:
        """In a block."""
        return self.parts * prod(item.threads for item in self.spatial)


@dataclass(frozen=True)
class TiledSums:
    """The stages of a kernel that are tiled."""

    sums: Stage
    """A reduction whose axes are those of the result, in the same order."""
    fetched: tuple[Stage, ...] = ()
    """Copies of what the sums read, which go into shared memory."""
    dot: str = ""
    """The axis of the reduction that is a dot product of bytes, if there is one."""
    vectors: tuple[str, ...] = field(default_factory=tuple)
    """Names of copies whose last axis is read four at a time."""

    direct: tuple[str, ...] = field(default_factory=tuple)
    """Names of copies that are not made where matrices are multiplied."""

    @property
    def reduce(self) -> list[str]:
        """The axes of the reduction that can be cut."""
        return [axis.name for axis in self.sums.reduce if axis.name != self.dot]


def tiled_steps(out: Stage, tiled: TiledSums, tile: GpuTile) -> tuple[Step, ...]:
    """Steps that compute the sums for `out`, which reads each at its own place, a tile at a time.

    Raises `LoopError` if the tile is not one for such sums.
    """
    if len(tile.reduce) != len(tiled.reduce) or len(tile.spatial) > len(out.axes):
        raise LoopError(f"{out.name}: the tile has {len(tile.spatial)} and {len(tile.reduce)} axes, which it has not")
    spatial = list(zip([axis.name for axis in out.axes[-len(tile.spatial) :]], tile.spatial, strict=True))
    lead = [axis.name for axis in out.axes[: -len(tile.spatial)]]
    if tile.tensor:
        return tuple(_tensor_tiles(out, lead, spatial, tiled, tile))
    steps = list(block_steps(out.name, lead, spatial))
    steps.append(ComputeAt(tiled.sums.name, out.name, f"{spatial[-1][0]}_t"))
    steps += _reduction(tiled, tile)
    for stage in tiled.fetched:
        steps += (ComputeAt(stage.name, tiled.sums.name, f"{tiled.reduce[-1]}_o"), Share(stage.name))
        width = _VECTOR if stage.name in tiled.vectors else 1
        steps += fetch_steps(stage.name, [axis.name for axis in stage.axes], [cut.threads for cut in tile.spatial], width)
    return tuple(steps)


def _tensor_tiles(
    out: Stage, lead: Sequence[str], spatial: Sequence[tuple[str, SpatialTile]], tiled: TiledSums, tile: GpuTile
) -> Iterator[Step]:
    name = tiled.sums.name
    if tile.parts > 1:
        own = [axis.name for axis in tiled.sums.axes]
        name, steps = shared_sums(out.name, lead, spatial, tiled.sums, own[-len(spatial) :], (tiled.reduce[0], tile.parts))
        yield from steps
    else:
        yield from block_steps(out.name, lead, spatial, tensor=True)
        yield ComputeAt(name, out.name, f"{spatial[-1][0]}_t")
    yield from _tensor_reduction(name, tiled, tile)
    for stage in tiled.fetched:
        if stage.name not in tiled.direct:
            yield ComputeAt(stage.name, name, f"{tiled.reduce[-1]}_o")
            yield Share(stage.name)
            counts = tensor_counts(tile.spatial, tile.parts)
            yield from fetch_steps(stage.name, [axis.name for axis in stage.axes], counts, _VECTOR, TURNS)


def tensor_counts(cuts: Sequence[SpatialTile], parts: int = 1) -> list[int]:
    """Threads of a block along z, y and x, where the first of the cuts is along y; those of parts are along z."""
    first, *others = (cut.threads for cut in cuts)
    return [parts * prod(others[:-1]), first, others[-1]]


def shared_sums(
    out: str,
    lead: Sequence[str],
    spatial: Sequence[tuple[str, SpatialTile]],
    sums: Stage,
    own: Sequence[str],
    cut: tuple[str, int],
) -> tuple[str, list[Step]]:
    """The stage that adds up parts of sums, and the steps by which the threads of a block share these for what reads them.

    `own` are the axes of the sums that stand for the `spatial` ones; those between the first and the last have one thread.
    `cut` is an axis of the reduction, and in how many parts it is cut.
    """
    axis, count = cut
    parts, part = f"{sums.name}.parts", f"{sums.name}.part"
    whole = next(item.extent for item in sums.reduce if item.name == axis)
    inside = [f"{name}_1" for name, _ in spatial]
    steps: list[Step] = [Part(sums.name, axis, whole // count, parts, interleaved=True), Cache(parts, part)]
    steps += [Split(out, name, tile.extent, f"{name}_b", f"{name}_1", guard=True) for name, tile in spatial]
    block, blocks = _blocks(out, lead, [f"{name}_b" for name, _ in spatial], inside)
    steps += [*blocks, *fetch_steps(out, inside, tensor_counts([tile for _, tile in spatial], count))]
    steps += [ComputeAt(sums.name, out, "turn"), ComputeAt(parts, out, block), Share(parts)]
    threads = [(name, tile) for name, (_, tile) in zip(own, spatial, strict=True) if tile.threads > 1]
    steps += [Split(parts, name, tile.inner, f"{name}_t", f"{name}_i") for name, tile in threads]
    named = {name for name, _ in threads}
    rest = [f"{item.name}_i" if item.name in named else item.name for item in sums.axes]
    steps.append(Reorder(parts, (parts, *(f"{name}_t" for name, _ in threads), *rest)))
    bound = [parts, *(f"{name}_t" for name, _ in threads)]
    steps += [Bind(parts, loop, thread) for loop, thread in zip(bound, _THREADS, strict=True)]
    steps += [Unroll(parts, loop) for loop in rest]
    return part, [*steps, ComputeAt(part, parts, bound[-1])]


def _blocks(name: str, lead: Sequence[str], blocks: Sequence[str], inside: Sequence[str]) -> tuple[str, list[Step]]:
    """The innermost loop over blocks, and the steps that bind these to the grid."""
    steps: list[Step] = [Reorder(name, (*lead, *blocks, *inside))]
    first, *others = [*lead, blocks[0]]
    for loop in others:
        steps.append(Fuse(name, first, loop, f"{first}_{loop}"))
        first = f"{first}_{loop}"
    bound = [first, *blocks[1:]]
    steps += [Bind(name, loop, thread) for loop, thread in zip(bound[::-1], _BLOCKS[::-1], strict=False)]
    return bound[-1], steps


def _tensor_reduction(name: str, tiled: TiledSums, tile: GpuTile) -> Iterator[Step]:
    axes = tiled.reduce
    for axis, inner in zip(axes, tile.reduce, strict=True):
        yield Split(name, axis, inner, f"{axis}_o", f"{axis}_i")
    outer, inner_loops = [f"{axis}_o" for axis in axes], [f"{axis}_i" for axis in axes]
    spatial = [axis.name for axis in tiled.sums.axes]
    row, column = spatial[-len(tile.spatial)], spatial[-1]
    yield from tensor_steps(name, outer, inner_loops, spatial, (row, column), (f"{axes[0]}_i", tiled.dot))
    count = prod(cut.inner for cut in tile.spatial) // 4
    loops = [f"{axes[0]}_i_s", *inner_loops[1:]]
    for loop, inner in zip(loops[::-1], (tile.reduce[0] // _TENSOR_WORDS, *tile.reduce[1:])[::-1], strict=True):
        count *= inner
        if count > tile.unrolled_steps:
            break
        yield Unroll(name, loop)


def tensor_steps(
    name: str,
    outer: Sequence[str],
    inner: Sequence[str],
    spatial: Sequence[str],
    results: tuple[str, str],
    depth: tuple[str, str],
) -> Iterator[Step]:
    """Steps of a reduction whose `inner` loops are products of matrices inside of `outer` ones.

    `results` are the axes of rows and of columns among the `spatial` ones, `depth` the loop of words among the inner ones
    and that of bytes.
    """
    (row, column), (word, byte) = results, depth
    yield Split(name, row, 2, f"{row}_m", f"{row}_r")
    yield Split(name, column, 2, f"{column}_m", f"{column}_c")
    yield Split(name, word, _TENSOR_WORDS, f"{word}_s", f"{word}_w")
    around = [f"{axis}_m" if axis in results else axis for axis in spatial]
    matrices = f"{row}_r", f"{column}_c", f"{word}_w", byte
    yield Reorder(name, (*outer, *(f"{loop}_s" if loop == word else loop for loop in inner), *around, *matrices))
    yield Tensorize(name, *matrices)
    yield from (Unroll(name, loop) for loop in around)


def block_steps(
    name: str, lead: Sequence[str], spatial: Sequence[tuple[str, SpatialTile]], tensor: bool = False
) -> Iterator[Step]:
    """Steps that give the axes of a stage to blocks of threads: at most three cut as `spatial` says, and those of `lead` whole.

    What each thread of a block does is inside the loop ``AXIS_t`` of the last axis. With `tensor`, threads along the first of the
    axes are beside those along the last.
    """
    yield from _cuts(name, spatial)
    yield from _grid(name, lead, spatial, _tensor_threads(len(spatial)) if tensor else _THREADS)
    yield from (Unroll(name, f"{axis}_i") for axis, cut in spatial if cut.inner > 1)


def _cuts(name: str, spatial: Sequence[tuple[str, SpatialTile]]) -> Iterator[Step]:
    for axis, cut in spatial:
        yield Split(name, axis, cut.extent, f"{axis}_b", f"{axis}_1", guard=True)
        yield Split(name, f"{axis}_1", cut.threads * cut.inner, f"{axis}_v", f"{axis}_2", guard=True)
        yield Split(name, f"{axis}_2", cut.inner, f"{axis}_t", f"{axis}_i", guard=True)


def _tensor_threads(count: int) -> tuple[str, ...]:
    return _TENSOR_THREADS if count == len(_TENSOR_THREADS) else (_TENSOR_THREADS[0], _TENSOR_THREADS[-1])


def _grid(name: str, lead: Sequence[str], spatial: Sequence[tuple[str, SpatialTile]], threads: Sequence[str]) -> Iterator[Step]:
    axes = [axis for axis, _ in spatial]
    parts = {kind: [f"{axis}_{kind}" for axis in axes] for kind in "bvti"}
    yield Reorder(name, (*lead, *parts["b"], *parts["v"], *parts["t"], *parts["i"]))
    blocks = parts["b"]
    fused = [*lead, blocks[0]]
    while len(fused) > 1:
        first, second, *rest = fused
        joined = f"{first}_{second}"
        yield Fuse(name, first, second, joined)
        fused = [joined, *rest]
    blocks = [fused[0], *blocks[1:]]
    yield from (Bind(name, loop, thread) for loop, thread in zip(blocks[::-1], _BLOCKS[::-1], strict=False))
    yield from (Bind(name, loop, VIRTUAL) for loop in parts["v"])
    yield from (Bind(name, loop, thread) for loop, thread in zip(parts["t"][::-1], threads[::-1], strict=False))


def _reduction(tiled: TiledSums, tile: GpuTile) -> Iterator[Step]:
    name = tiled.sums.name
    axes, spatial = tiled.reduce, [axis.name for axis in tiled.sums.axes]
    for axis, inner in zip(axes, tile.reduce, strict=True):
        yield Split(name, axis, inner, f"{axis}_o", f"{axis}_i")
    dot = (tiled.dot,) if tiled.dot else ()
    yield Reorder(name, (*(f"{axis}_o" for axis in axes), *(f"{axis}_i" for axis in axes), *spatial, *dot))
    yield from (Unroll(name, axis) for axis in spatial)
    if dot:
        yield Dot(name, dot[0])
    count = prod(cut.inner * cut.virtual for cut in tile.spatial)
    for axis, inner in zip(axes[::-1], tile.reduce[::-1], strict=True):
        count *= inner
        if count > tile.unrolled_steps:
            break
        yield Unroll(name, f"{axis}_i")


def fetch_steps(name: str, own: Sequence[str], threads: Sequence[int], width: int = 1, unrolled: int = 1) -> tuple[Step, ...]:
    """Steps by which all threads of a block compute a stage of axes `own` together, neighbours by neighbours, `width` at a time.

    `threads` are those of the block along its last axes. So many turns are written out as `unrolled` says.
    """
    axes = list(own)
    steps: list[Step] = []
    if width > 1:
        steps.append(Split(name, axes[-1], width, f"{axes[-1]}_w", f"{axes[-1]}_l", guard=True))
        axes[-1] = f"{axes[-1]}_w"
    whole = axes[0]
    for axis in axes[1:]:
        steps.append(Fuse(name, whole, axis, f"{whole}_{axis}"))
        whole = f"{whole}_{axis}"
    rest, loops = whole, []
    steps.append(Split(name, rest, prod(threads), "turn", "rest", guard=True))
    rest = "rest"
    for at, (count, thread) in enumerate(zip(threads, _THREADS[-len(threads) :], strict=True)):
        inner = prod(threads[at + 1 :])
        if at < len(threads) - 1:
            steps.append(Split(name, rest, inner, f"t{at}", f"rest{at}", guard=True))
            loops.append(f"t{at}")
            rest = f"rest{at}"
        else:
            loops.append(rest)
        if count > 1:
            steps.append(Bind(name, loops[-1], thread))
    last = [f"{own[-1]}_l"] if width > 1 else []
    bound = [loop for loop, count in zip(loops, threads, strict=True) if count > 1]
    others = [loop for loop, count in zip(loops, threads, strict=True) if count == 1]
    steps.append(Reorder(name, (*bound, *others, "turn", *last)))
    if unrolled > 1:
        steps += (Split(name, "turn", unrolled, "turns", "again", guard=True), Unroll(name, "again"))
    steps += (Vectorize(name, loop) for loop in last)
    return tuple(steps)
