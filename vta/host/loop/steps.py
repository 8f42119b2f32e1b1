"""The steps of a schedule, as data."""

from __future__ import annotations

from vta.support.dataclass import dataclass

__all__ = [
    "Bind",
    "Cache",
    "CacheRead",
    "ComputeAt",
    "Dot",
    "Fuse",
    "Inline",
    "Parallel",
    "Part",
    "Reorder",
    "Share",
    "Split",
    "Step",
    "Tensorize",
    "Transpose",
    "Unroll",
    "Vectorize",
]


@dataclass(frozen=True)
class Split:
    """Cut a loop into blocks of `factor`. A rest becomes a copy of the body, so blocks need no test.

    With `guard` the last block is as long as the others, and a test skips what is too much: the loops may then come in any order,
    and be bound to threads.
    """

    stage: str
    loop: str
    factor: int
    outer: str
    inner: str
    guard: bool = False


@dataclass(frozen=True)
class Fuse:
    """Make one loop of two neighbours."""

    stage: str
    first: str
    second: str
    name: str


@dataclass(frozen=True)
class Reorder:
    """Put the loops named here in this order, into the places that they have together."""

    stage: str
    loops: tuple[str, ...]


@dataclass(frozen=True)
class Unroll:
    """Write the iterations of a loop out."""

    stage: str
    loop: str


@dataclass(frozen=True)
class Vectorize:
    """Run the innermost loop as one operation on vectors.

    With `whole` the loop is an axis of a stage that is computed inside another one, and all of it is computed even where less is
    read: whole vectors take less than parts of them.
    """

    stage: str
    loop: str
    whole: bool = False


@dataclass(frozen=True)
class Transpose:
    """Compute vectors along the loop around the vectorized one, and turn them in registers before they are stored along that.

    For copies between layouts: what is read lies along the one loop, what is written along the other.
    """

    stage: str
    loop: str


@dataclass(frozen=True)
class Parallel:
    """Let threads share the outermost loop of a stage that is computed by itself."""

    stage: str
    loop: str


@dataclass(frozen=True)
class Dot:
    """Take a reduction over four neighbours, inside a vectorized loop, by instructions for dot products of bytes."""

    stage: str
    loop: str


@dataclass(frozen=True)
class Tensorize:
    """Let 32 threads beside each other, of 8 along y and 4 along x, multiply matrices of bytes together.

    The innermost loops of a reduction are, in this order, over two rows and two columns of a thread's results, eight words of
    what is summed up, and the four bytes of a word. Each thread still gets the sums of its own results: one operand is the same
    for all threads along x, the other for all along y.
    """

    stage: str
    row: str
    column: str
    word: str
    byte: str


@dataclass(frozen=True)
class Bind:
    """Let a loop be an index of a grid of threads: one of `THREADS`, or `VIRTUAL` for threads that one thread stands for."""

    stage: str
    loop: str
    thread: str


@dataclass(frozen=True)
class Cache:
    """Compute a stage into a buffer of its own first, called `name`, from which the stage is a copy."""

    stage: str
    name: str


@dataclass(frozen=True)
class Part:
    """Combine `factor` values of a reduction's axis at a time, in a stage of its own called `name`; the stage combines those.

    The new stage has one axis more, the first one: which part it is. That is called `name`, too. Values of a part are neighbors,
    or, with `interleaved`, as far apart as there are parts.
    """

    stage: str
    axis: str
    factor: int
    name: str
    interleaved: bool = False


@dataclass(frozen=True)
class CacheRead:
    """Let a stage read a buffer through a copy called `name`, which is a stage before it."""

    stage: str
    buffer: str
    name: str


@dataclass(frozen=True)
class Share:
    """Keep what is computed inside another stage in memory that the threads of a block have together.

    It holds what all of them need. They wait for each other before it is written, and before it is read.
    """

    stage: str


@dataclass(frozen=True)
class Inline:
    """Compute a stage anew wherever it is read."""

    stage: str


@dataclass(frozen=True)
class ComputeAt:
    """Compute what a loop of another stage needs inside that loop, in a buffer as small as that.

    The other stage is the one that reads this one, or one that those are computed in that do.
    """

    stage: str
    reader: str
    loop: str


Step = (
    Split
    | Fuse
    | Reorder
    | Unroll
    | Vectorize
    | Transpose
    | Parallel
    | Dot
    | Tensorize
    | Bind
    | Cache
    | CacheRead
    | Part
    | Share
    | Inline
    | ComputeAt
)
