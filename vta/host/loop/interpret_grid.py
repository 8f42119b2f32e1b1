"""Runs the threads of a grid, one block after the other, in the way in which devices may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.grid import grid_of
from vta.host.loop.nest import THREADS, VIRTUAL, Block, Function, If, Let, Loop, Statement

__all__ = ["run_grid", "thread_name"]

Memory = dict[Buffer, NDArray[Any]]
Run = Callable[[Statement, Mapping[str, Any], Memory], Iterator[None]]
_UNKNOWN = 0x5B
"""Bytes of memory that nothing was written into."""


def thread_name(thread: str, variable: str) -> str:
    """What an index of a grid is known by: virtual threads by the loop that they are bound to."""
    return variable if thread == VIRTUAL else thread


def run_grid(function: Function, memory: Memory, run: Run) -> None:
    """Run a function on all threads of its grid, each as far as it waits for others, the last one first in every second turn.

    Raises `LoopError` if not all threads of a block come to a barrier.
    """
    grid = grid_of(function)
    virtual = dict(_virtual(function.body))
    sizes = (*grid.threads, *virtual.values())
    names = (*THREADS[3:], *virtual)
    for block in product(*map(range, grid.blocks)):
        for buffer in function.shared:
            memory[buffer] = _fresh(buffer)
        threads = []
        for thread in product(*map(range, sizes)):
            own = {**memory, **{buffer: _fresh(buffer) for buffer in function.local}}
            threads.append(
                run(function.body, {**dict(zip(THREADS, block, strict=False)), **dict(zip(names, thread, strict=True))}, own)
            )
        _run_block(function, threads)


def _fresh(buffer: Buffer) -> NDArray[Any]:
    return np.full(buffer.nbytes, _UNKNOWN, np.uint8).view(buffer.dtype).reshape(buffer.shape)


def _run_block(function: Function, threads: list[Iterator[None]]) -> None:
    turn = 0
    while threads:
        order = threads if turn % 2 == 0 else threads[::-1]
        waiting = [thread for thread in order if next(thread, _DONE) is not _DONE]
        if waiting and len(waiting) < len(threads):
            raise LoopError(f"{function.name}: {len(waiting)} of {len(threads)} threads wait for the others, which have ended")
        threads, turn = waiting, turn + 1


_DONE = object()


def _virtual(statement: Statement) -> Iterator[tuple[str, int]]:
    match statement:
        case Loop(variable, extent, _, body, thread):
            if thread == VIRTUAL:
                yield variable, extent
            yield from _virtual(body)
        case Let(body=body) | If(body=body):
            yield from _virtual(body)
        case Block(statements):
            for item in statements:
                yield from _virtual(item)
        case _:
            return
