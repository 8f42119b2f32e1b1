"""The grid of threads that a function runs on, and whether a device can have it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from vta.host.loop.errors import LoopError
from vta.host.loop.nest import THREADS, Barrier, Block, Function, If, Let, Loop, Statement
from vta.support.dataclass import dataclass

__all__ = ["Grid", "GridLimits", "grid_of"]


@dataclass(frozen=True)
class GridLimits:
    """What a device can have at most."""

    threads: int = 1024
    """In a block."""
    block: tuple[int, int, int] = (1024, 1024, 64)
    """Threads of a block along x, y and z."""
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    """Blocks along x, y and z."""
    shared_bytes: int = 48 * 1024
    """That the threads of a block have together."""
    local_bytes: int = 1020
    """Of the small buffers of a thread, which are to be registers."""
    registers: int = 64 * 1024
    """Words of 4 bytes that the threads of a block have for themselves, together."""
    processors: int = 132
    """That run blocks, each some at a time; by default those of a large device."""
    tensor: bool = False
    """Whether 32 threads can multiply matrices of bytes together."""


@dataclass(frozen=True)
class Grid:
    """Blocks of threads."""

    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    shared_bytes: int

    def check(self, limits: GridLimits) -> None:
        """Raise `LoopError` naming what is more than a device has."""
        if prod(self.threads) > limits.threads:
            raise LoopError(f"a block of {' x '.join(map(str, self.threads))} threads; allowed: {limits.threads}")
        for name, size, most in zip(THREADS, (*self.blocks, *self.threads), (*limits.grid, *limits.block), strict=True):
            if size > most:
                raise LoopError(f"{name} of {size}; allowed: {most}")
        if self.shared_bytes > limits.shared_bytes:
            raise LoopError(f"threads of a block share {self.shared_bytes:,} bytes; allowed: {limits.shared_bytes:,}")


def grid_of(function: Function) -> Grid:
    """The grid of a function.

    Raises `LoopError` if loops bound to one index have different extents, or if a block computes something that not all of its
    threads take part in.
    """
    sizes: dict[str, int] = {}
    for thread, extent in _bound(function.body):
        if sizes.setdefault(thread, extent) != extent:
            raise LoopError(f"{function.name}: loops of {sizes[thread]} and of {extent} are bound to {thread}")
    x, y, z, *threads = (sizes.get(name, 1) for name in THREADS)
    return Grid((x, y, z), (threads[0], threads[1], threads[2]), sum(buffer.nbytes for buffer in function.shared))


def _bound(statement: Statement) -> Iterator[tuple[str, int]]:
    match statement:
        case Loop(thread=thread, extent=extent, body=body):
            if thread in THREADS:
                yield thread, extent
            yield from _bound(body)
        case Let(body=body) | If(body=body):
            yield from _bound(body)
        case Block(statements):
            for item in statements:
                yield from _bound(item)
        case Barrier() | _:
            return
