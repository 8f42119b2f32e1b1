"""The sketch of all kernels: one thread for an element, or for a few."""

from __future__ import annotations

from vta.autotune.auto.sketch import Choices, Knob, Sketch, number_of
from vta.host.gpu.schedule import Elements, element_steps
from vta.host.loop.compute import Kernel
from vta.host.loop.grid import GridLimits
from vta.host.loop.steps import Step

__all__ = ["ElementSketch"]

_THREADS = (32, 64, 128, 256, 512, 1024)
_EACH = (1, 2, 4, 8)
_PARTS = (1, 4, 16, 64, 256)


class ElementSketch(Sketch):
    """Stages one after the other, `threads` in a block and `each` elements a thread; long sums of few results in `parts`."""

    name = "elements"

    def __init__(self, kernel: Kernel, limits: GridLimits) -> None:
        self._kernel = kernel
        self._limits = limits
        parts = _PARTS if any(stage.reduce for stage in kernel.stages) else (1,)
        threads = tuple(count for count in _THREADS if count <= limits.threads)
        self.knobs = (Knob("threads", threads), Knob("each", _EACH), Knob("parts", parts))

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`: there is always room."""
        return ""

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        how = Elements(*(number_of(choices, name) for name in ("threads", "each", "parts")))
        return element_steps(self._kernel, self._limits, how)
