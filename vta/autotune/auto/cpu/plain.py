"""The sketch of kernels without a reduction that all else hangs on: each stage by itself, in vectors."""

from __future__ import annotations

import numpy as np

from vta.autotune.auto.cpu.copies import apart_steps
from vta.autotune.auto.cpu.limits import Limits
from vta.autotune.auto.sketch import Choices, Knob, Sketch
from vta.host.loop.compute import Kernel
from vta.host.loop.steps import Step

__all__ = ["PlainSketch"]

_WIDTHS = (1, 2, 4)
"""Registers that are written at a time."""


class PlainSketch(Sketch):
    """Stages one after the other; rows in vectors, or turned where they are read along another axis."""

    name = "plain"

    def __init__(self, kernel: Kernel, limits: Limits) -> None:
        self.limits = limits
        self._stages = kernel.stages
        names = [stage.name for stage in kernel.stages if not stage.reduce]
        widths = [Knob(f"width.{name}", _WIDTHS) for name in names]
        self.knobs = (*widths, *(Knob(f"rows.{name}", ("turned", "straight")) for name in names))

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`: there is always room."""
        return ""

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        steps: list[Step] = []
        for stage in self._stages:
            lanes = self.limits.lanes(np.dtype(stage.output.dtype).itemsize)
            width = choices.get(f"width.{stage.name}", 1)
            assert isinstance(width, int)
            steps += apart_steps(stage, lanes, width, choices.get(f"rows.{stage.name}") == "turned")
        return tuple(steps)
