"""Runs plans of kernels on a GPU: what lies between kernels stays there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.gpu.drivers.device import GpuCode, GpuDevice, GpuMemory
from vta.host.plan import KernelPlan, Place
from vta.support.dataclass import dataclass

__all__ = ["GpuPlanRunner"]

Array = NDArray[Any]


@dataclass(frozen=True)
class _Call:
    """One program of a plan."""

    code: GpuCode
    memory: tuple[GpuMemory, ...]


class GpuPlanRunner:
    """A plan with the programs of its kernels on a device. Threads take turns."""

    def __init__(self, plan: KernelPlan, codes: Mapping[str, GpuCode], device: GpuDevice) -> None:
        """`codes` are the programs by the symbols of their first functions."""
        self.plan = plan
        self.device = device
        with device.lock:
            arena = device.allocate(plan.arena_bytes)
            memory = [self._memory(at, place, arena) for at, place in enumerate(plan.table)]
            self._memory_of = memory
            firsts = [call for at, call in enumerate(plan.calls) if at == 0 or plan.calls[at - 1].kernel != call.kernel]
            self._calls = [_Call(codes[call.symbol], tuple(memory[at] for at in call.buffers)) for call in firsts]
            for place, held in zip(plan.table, memory, strict=True):
                if place.kind == "constant":
                    held.write(np.ascontiguousarray(plan.constants[place.at]))
            device.finish()

    def _memory(self, at: int, place: Place, arena: GpuMemory) -> GpuMemory:
        if place.kind == "arena":
            return arena.part(place.at, self.plan.sizes[at])
        return self.device.allocate(self.plan.sizes[at])

    def run(self, inputs: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """Return the plan's outputs, and the seconds that each of its kernels took."""
        with self.device.lock:
            for item, array in zip(self.plan.inputs, inputs, strict=True):
                self._memory_of[item.place].write(array)
            marks = [self.device.mark()]
            for call in self._calls:
                call.code.launch(call.memory)
                marks.append(self.device.mark())
            outputs = [np.empty(item.shape, item.dtype) for item in self.plan.outputs]
            for item, made in zip(self.plan.outputs, outputs, strict=True):
                self._memory_of[item.place].read(made)
            self.device.finish()
            return outputs, [self.device.seconds_between(one, two) for one, two in pairwise(marks)]

    def seconds(self, number: int) -> float:
        """The mean time of so many runs, at least, on what is in the device's memory already."""
        with self.device.lock:
            return self.device.seconds_of(self.start, number)

    def start(self) -> None:
        """Start all kernels on what is in the device's memory already; nothing is waited for."""
        for call in self._calls:
            call.code.launch(call.memory)
