"""Runs plans of kernels: one native call for all that follow each other."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.errors import DeviceError
from vta.host.plan import KernelPlan, PlanTensor
from vta.native import ffi, lib
from vta.support.dataclass import dataclass

__all__ = ["Functions", "PlanRunner", "WorkerThreads", "address"]

Array = NDArray[Any]
_ALIGNMENT = 64
_LARGE_BYTES = 1 << 16


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
    """Memory of a large output, taken again once nobody has the array: the system gives new memory page by page."""

    def __init__(self, item: PlanTensor) -> None:
        self._item = item
        self._dtype = np.dtype(item.dtype)
        self._nbytes = prod(item.shape) * self._dtype.itemsize
        self._memory: memoryview | None = None
        self._given: Callable[[], Array | None] = lambda: None

    def array(self) -> Array:
        """An array that nobody else has; its values are anything."""
        item = self._item
        if self._nbytes < _LARGE_BYTES or self._given() is not None:
            return np.empty(item.shape, item.dtype)
        if self._memory is None:
            whole = np.empty(self._nbytes + _ALIGNMENT, np.uint8)
            start = -address(whole) % _ALIGNMENT
            # No array, so that arrays made of this one refer to it, and not past it.
            self._memory = whole[start : start + self._nbytes].data
        flat = np.frombuffer(self._memory, self._dtype)
        self._given = weakref.ref(flat)
        return flat.reshape(item.shape)


@dataclass(frozen=True)
class _Bench:
    """What one run at a time works with."""

    table: Any
    """void *[]: the address of each place."""
    arena: Array
    nanoseconds: Any
    """int64_t[]: of each call."""
    outputs: tuple[_OutputMemory, ...]


class PlanRunner:
    """A plan with the functions of a library. Threads may share it: each run has a table and an arena of its own."""

    def __init__(self, plan: KernelPlan, library: Functions, threads: WorkerThreads) -> None:
        self.plan = plan
        self._library = library
        self._threads = threads
        self._constants = [np.ascontiguousarray(array) for array in plan.constants]
        self._places = [ffi.new("int32_t[]", call.buffers) for call in plan.calls]
        self._calls = ffi.new("vta_host_call[]", len(plan.calls))
        for target, call, places in zip(self._calls, plan.calls, self._places, strict=True):
            target.kernel = ffi.cast("vta_host_kernel", library.addresses[call.symbol])
            target.extent, target.buffers, target.count = call.extent, places, len(call.buffers)
        self._inputs = [item.place for item in plan.inputs]
        self._made = [item for item in plan.outputs if item.place not in self._inputs]
        self._kernels = sorted({call.kernel for call in plan.calls})
        self._benches: list[_Bench] = []

    def run(self, inputs: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """Return the plan's outputs, and the seconds that each of its kernels took."""
        try:
            bench = self._benches.pop()
        except IndexError:
            bench = self._new_bench()
        made = dict(zip(self._inputs, map(np.ascontiguousarray, inputs), strict=True))
        for item, memory in zip(self._made, bench.outputs, strict=True):
            made[item.place] = memory.array()
        for place, array in made.items():
            bench.table[place] = ffi.from_buffer(array)
        lib.vta_host_run(self._calls, len(self.plan.calls), bench.table, self._threads.handle, bench.nanoseconds)
        seconds = self._seconds(bench.nanoseconds)
        self._benches.append(bench)
        return [made[item.place].reshape(item.shape) for item in self.plan.outputs], seconds

    def _seconds(self, nanoseconds: Any) -> list[float]:
        """Of each kernel, the time of its calls."""
        taken = ffi.unpack(nanoseconds, len(self.plan.calls))
        if len(self._kernels) == len(taken):
            return [each * 1e-9 for each in taken]
        totals = dict.fromkeys(self._kernels, 0.0)
        for call, each in zip(self.plan.calls, taken, strict=True):
            totals[call.kernel] += each * 1e-9
        return list(totals.values())

    def _new_bench(self) -> _Bench:
        arena = np.empty(self.plan.arena_bytes + _ALIGNMENT, np.uint8)
        start = address(arena) + -address(arena) % _ALIGNMENT
        table = ffi.new("void *[]", len(self.plan.table))
        for at, place in enumerate(self.plan.table):
            if place.kind == "arena":
                table[at] = ffi.cast("void *", start + place.at)
            elif place.kind == "constant":
                table[at] = ffi.cast("void *", address(self._constants[place.at]))
        nanoseconds = ffi.new("int64_t[]", len(self.plan.calls))
        return _Bench(table, arena, nanoseconds, tuple(map(_OutputMemory, self._made)))
