"""Runs plans of kernels: one native call for all that follow each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from sys import getrefcount
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.errors import DeviceError, GraphError
from vta.host.plan import KernelPlan, PlanTensor
from vta.native import ffi, lib
from vta.support.dataclass import dataclass

__all__ = ["Functions", "PlanRunner", "WorkerThreads", "address"]

Array = NDArray[Any]
_ALIGNMENT = 64
_NUMBER_BYTES = 8
_LARGE_BYTES = 1 << 16
"""From so many on it pays to begin an output where a line of the cache does."""
_MOST_TOGETHER, _TOGETHER_BYTES = 4, 1 << 20
"""Samples for which a kernel is called before the next kernel, and bytes of their arenas, which are to stay in a near cache."""


def address(array: Array) -> int:
    """Where an array's elements begin."""
    return int(array.__array_interface__["data"][0])


class Functions(Protocol):
    """Compiled functions in this process's memory, as long as this lives."""

    @property
    def addresses(self) -> Mapping[str, int]:
        """Of the functions, by their symbols."""


class WorkerThreads:
    """Threads that share the work of kernels."""

    def __init__(self, threads: int) -> None:
        """With fewer than 2 there are none. Raises `DeviceError` if the system gives no threads."""
        handle = lib.vta_host_threads_create(threads) if threads > 1 else ffi.NULL
        if threads > 1 and handle == ffi.NULL:
            raise DeviceError(f"{threads} threads for kernels of the host cannot be started")
        self.handle: Any = ffi.gc(handle, lib.vta_host_threads_destroy) if threads > 1 else handle


class _OutputMemory:
    """Memory of an output, taken again once nobody has the array: the system gives new memory page by page."""

    __slots__ = ("array", "own", "whole")

    def __init__(self, item: PlanTensor) -> None:
        dtype = np.dtype(item.dtype)
        nbytes = prod(item.shape) * dtype.itemsize
        if nbytes < _LARGE_BYTES:
            self.array = self.whole = np.empty(item.shape, dtype)
        else:
            self.whole = np.empty(nbytes + _ALIGNMENT, np.uint8)
            start = -address(self.whole) % _ALIGNMENT
            self.array = self.whole[start : start + nbytes].view(dtype).reshape(item.shape)
        self.own = getrefcount(self.whole)
        """References to the whole while nobody has an array of it, or a part of one: each of these refers to it."""


@dataclass(frozen=True)
class _Bench:
    """What one run at a time works with."""

    table: Any
    """void *[]: the address of each place."""
    arena: Array
    nanoseconds: Array
    """Of each call."""
    nanoseconds_pointer: Any
    made: list[_OutputMemory]
    """Of the outputs that are not inputs in another shape."""


class PlanRunner:
    """A plan with the functions of a library. Threads may share it: each run has a table and an arena of its own."""

    def __init__(self, plan: KernelPlan, library: Functions, threads: WorkerThreads) -> None:
        self.plan = plan
        self._library = library
        self._threads = threads
        self._constants = [np.ascontiguousarray(array) for array in plan.constants]
        # What tables have in common: addresses of constants, and how far from the start of an arena places in it are.
        found = [address(self._constants[place.at]) if place.kind == "constant" else place.at for place in plan.table]
        self._in_arena = np.array([place.kind == "arena" for place in plan.table], np.uintp)
        self._fixed = np.array(found, np.uintp)
        self._places = [ffi.new("int32_t[]", call.buffers) for call in plan.calls]
        self._calls = ffi.new("vta_host_call[]", len(plan.calls))
        for target, call, places in zip(self._calls, plan.calls, self._places, strict=True):
            target.kernel = ffi.cast("vta_host_kernel", library.addresses[call.symbol])
            target.extent, target.buffers, target.count = call.extent, places, len(call.buffers)
        self._inputs = tuple(item.place for item in plan.inputs)
        self._made = tuple({item.place: item for item in plan.outputs if item.place not in self._inputs}.values())
        made = [item.place for item in self._made]
        self._shown = [(made.index(item.place), item.shape) for item in plan.outputs if item.place in made]
        self._given = [
            (at, self._inputs.index(item.place), item.shape) for at, item in enumerate(plan.outputs) if item.place in self._inputs
        ]
        self._kernels = sorted({call.kernel for call in plan.calls})
        self._parted = len(self._kernels) < len(plan.calls)
        self._benches: list[_Bench] = []

    def run(self, inputs: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """Return the plan's outputs, and the seconds that each of its kernels took."""
        # After other work has emptied the caches this takes as long as a small layer: so it does little, and that in place.
        try:
            bench = self._benches.pop()
        except IndexError:
            bench = self._new_bench()
        table, made, copies = bench.table, bench.made, []
        for place, array in zip(self._inputs, inputs, strict=True):
            if array.flags.c_contiguous:
                table[place] = ffi.from_buffer(array)
            else:
                copies.append(np.ascontiguousarray(array))
                table[place] = ffi.from_buffer(copies[-1])
        for at, memory in enumerate(made):
            if getrefcount(memory.whole) != memory.own:
                made[at] = self._new_memory(at, table)
        lib.vta_host_run(self._calls, len(self._places), table, self._threads.handle, bench.nanoseconds_pointer)
        taken = bench.nanoseconds.tolist()
        seconds = self._seconds(taken) if self._parted else [each * 1e-9 for each in taken]
        outputs = [made[at].array.reshape(shape) for at, shape in self._shown]
        for at, source, shape in self._given:
            outputs.insert(at, inputs[source].reshape(shape))
        if self.plan.checks:
            self._check(bench)
        self._benches.append(bench)
        return outputs, seconds

    def _check(self, bench: _Bench) -> None:
        """Raise `GraphError` for an operand with a value that is not allowed."""
        start = -address(bench.arena) % _ALIGNMENT
        for check in self.plan.checks:
            places = (start + self.plan.table[place].at for place in (check.low, check.high))
            low, high = (int(bench.arena[at : at + _NUMBER_BYTES].view(np.int64)[0]) for at in places)
            if (said := check.outside(low, high)) is not None:
                raise GraphError(said)

    def run_samples(self, inputs: Sequence[Array], samples: int) -> list[Array]:
        """Return the plan's outputs for so many samples, with the bits that `run` gives for each.

        It is one native call on this thread; other threads may run other samples. These lie along an axis before those of the
        plan; an input without it goes with all of them. A kernel is called for a few samples before the next one, so that what it
        reads for all of them, such as weights, stays in a cache. Kernels whose operands are looked at after each run are called
        for one sample at a time.
        """
        if self.plan.checks:
            return self._run_one_by_one(inputs, samples)
        given = [np.ascontiguousarray(array) for array in inputs]
        made = [np.empty((samples, *item.shape), item.dtype) for item in self._made]
        pairs = [*zip(self.plan.inputs, given, strict=True), *zip(self._made, made, strict=True)]
        apart = {item.place: array.nbytes // samples for item, array in pairs if array.ndim > len(item.shape)}
        together = max(1, min(samples, _MOST_TOGETHER, _TOGETHER_BYTES // max(1, self.plan.arena_bytes)))
        tables, _arenas = self._new_tables(together)
        steps = np.arange(together, dtype=np.uintp)
        for item, array in pairs:
            tables[:, item.place] = address(array) + steps * apart.get(item.place, 0)
        strides = ffi.new("vta_host_stride[]", list(apart.items()))
        places, pointer = len(self.plan.table), ffi.from_buffer("void *[]", tables, require_writable=True)
        lib.vta_host_run_samples(self._calls, len(self._places), pointer, places, together, strides, len(apart), samples)
        outputs = [made[at].reshape(samples, *shape) for at, shape in self._shown]
        for at, source, shape in self._given:
            alike = given[source].ndim == len(self.plan.inputs[source].shape)
            value = np.broadcast_to(given[source], (samples, *given[source].shape)) if alike else given[source]
            outputs.insert(at, value.reshape(samples, *shape))
        return outputs

    def _run_one_by_one(self, inputs: Sequence[Array], samples: int) -> list[Array]:
        moving = [array.ndim > len(item.shape) for item, array in zip(self.plan.inputs, inputs, strict=True)]
        made = [
            self.run([np.asarray(array[at]) if moves else array for array, moves in zip(inputs, moving, strict=True)])[0]
            for at in range(samples)
        ]
        return [np.stack(values) for values in zip(*made, strict=True)]

    def _seconds(self, taken: list[int]) -> list[float]:
        """Of each kernel, the time of its calls, from that of each call in nanoseconds."""
        totals = dict.fromkeys(self._kernels, 0.0)
        for call, each in zip(self.plan.calls, taken, strict=True):
            totals[call.kernel] += each * 1e-9
        return list(totals.values())

    def _new_bench(self) -> _Bench:
        tables, arena = self._new_tables()
        table = ffi.from_buffer("void *[]", tables, require_writable=True)
        nanoseconds = np.zeros(len(self.plan.calls), np.int64)
        bench = _Bench(table, arena, nanoseconds, ffi.from_buffer("int64_t[]", nanoseconds), [])
        bench.made.extend(self._new_memory(at, table) for at in range(len(self._made)))
        return bench

    def _new_tables(self, count: int = 1) -> tuple[Array, Array]:
        """Addresses of constants and of places in an arena, for each of `count` tables, and the arenas, which are to be kept.

        Of shape (count, places), dtype uintp.
        """
        nbytes = self.plan.arena_bytes + -self.plan.arena_bytes % _ALIGNMENT
        arenas = np.empty(count * nbytes + _ALIGNMENT, np.uint8)
        start = address(arenas) + -address(arenas) % _ALIGNMENT
        starts = np.arange(count, dtype=np.uintp) * nbytes + start
        return self._fixed + self._in_arena * starts[:, None], arenas

    def _new_memory(self, at: int, table: Any) -> _OutputMemory:
        """Memory that nobody has, for what is made; its address is put into the table."""
        memory = _OutputMemory(self._made[at])
        table[self._made[at].place] = ffi.from_buffer(memory.array)
        return memory
