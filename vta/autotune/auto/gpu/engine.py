"""Compiling and running kernels on a GPU of this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.autotune.auto.measure import Run, Timing
from vta.autotune.gpu.task import GpuTarget
from vta.errors import GpuFaultError
from vta.host.gpu.drivers.device import GpuDevice, GpuMemory
from vta.host.gpu.drivers.open import shared_gpu
from vta.host.gpu.printing.dialects import DIALECTS
from vta.host.gpu.printing.printer import GpuSource, gpu_source
from vta.host.loop.nest import Program
from vta.support.dataclass import dataclass

__all__ = ["GPU_BUILD_SECONDS", "GpuEngine", "GpuRun"]

Array = NDArray[Any]
GPU_BUILD_SECONDS = 6.0
"""That compiling a schedule may take: half of all take 0.3 s, and of 1,700 for an H200 none that took longer was a good one."""
_SAMPLE_RUNS = 20
"""Of which a sample is the mean, at least."""
_SAMPLE_SECONDS = 2e-4


class GpuRun:
    """A program with memory of its own for all but its inputs."""

    def __init__(self, program: Program, source: GpuSource, inputs: Sequence[GpuMemory], device: GpuDevice) -> None:
        self.device = device
        self._code = device.compile(source)
        self._made = np.empty(program.output.shape, program.output.dtype)
        buffers = (*program.workspace, program.output)
        self._memory = [*inputs, *(device.allocate(buffer.nbytes) for buffer in buffers)]

    def start(self) -> None:
        """Start it once."""
        self._code.launch(self._memory)

    def run(self) -> Array:
        """See `Run.run`."""
        try:
            self.start()
            self._memory[-1].read(self._made)
        except GpuFaultError as error:
            # The device does nothing more in this process: another one takes its place.
            raise SystemExit(str(error)) from None
        return self._made


@dataclass(frozen=True)
class GpuEngine:
    """A GPU of this machine; see `Engine`."""

    target: GpuTarget
    ordinal: int = 0
    platform: str = ""

    def build(self, program: Program) -> GpuSource:
        """See `Engine.build`: the text, with machine code where the compiler needs no device."""
        source = gpu_source(program, DIALECTS[self.target.kind])
        if self.target.kind == "cuda" and self.target.architecture:
            from vta.host.gpu.drivers.nvrtc import compile_cuda

            return source.with_binary(compile_cuda(source.text, self.target.architecture))
        return source

    def runs(self, programs: Sequence[Program], products: Sequence[GpuSource], inputs: Sequence[Array]) -> list[Run]:
        """See `Engine.runs`."""
        device = shared_gpu(self.target.kind, self.ordinal, self.platform)
        given = []
        for array in inputs:
            memory = device.allocate(array.nbytes)
            memory.write(np.ascontiguousarray(array))
            given.append(memory)
        return [GpuRun(program, source, given, device) for program, source in zip(programs, products, strict=True)]

    def seconds(self, runs: Sequence[GpuRun], timing: Timing) -> list[float]:
        """See `Engine.seconds`: by the device's own clock; a sample is the mean of some runs."""
        least_sample = max(_SAMPLE_SECONDS, timing.min_repeat_ms / 1e3 / timing.number)
        counts = [max(_SAMPLE_RUNS, math.ceil(least_sample / max(_sample(run, 1), 1e-9))) for run in runs]
        least, spent, samples = [math.inf] * len(runs), 0.0, 0
        while samples < timing.number or spent < timing.min_repeat_ms / 1e3 * len(runs):
            for at, (run, count) in enumerate(zip(runs, counts, strict=True)):
                taken = _sample(run, count)
                least[at] = min(least[at], taken)
                spent += taken * count
            samples += 1
        return least


def _sample(run: GpuRun, count: int) -> float:
    return run.device.seconds_of(run.start, count)
