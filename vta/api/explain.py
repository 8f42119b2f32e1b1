"""Where the cycles of a compiled network go."""

from __future__ import annotations

from pathlib import Path

from vta.config.timing import TimingParameters
from vta.devices.engine.cycle_engine import Preset
from vta.errors import UsageError
from vta.explanation.explain import explain_module
from vta.explanation.explanation import Explanation
from vta.runtime.compiled_module import CompiledModule, load

__all__ = ["explain"]


def explain(
    module: CompiledModule | str | Path,
    *,
    timing: TimingParameters | None = None,
    preset: str = "rtl",
    suggest: bool = True,
) -> Explanation:
    """Say where the cycles of a compiled network on the accelerator go: a bound, and a cause for every other cycle.

    `module` is what `vta.compile` returns, or a `.vta` file. `timing` describes the memory around the accelerator, by default
    that of the platform. `preset` says whose timing is followed: ``rtl``, to the cycle, ``chisel`` or ``hls``. With `suggest` it
    has changes that would help, with the cycles that are predicted for each. Raises `UsageError` for another preset, and
    `ArtifactError` for a file that is none.
    """
    names = [known.value for known in Preset]
    if preset not in names:
        raise UsageError(f"preset {preset!r} is unknown; allowed: {', '.join(names)}")
    compiled = module if isinstance(module, CompiledModule) else load(module)
    return explain_module(compiled, timing, Preset(preset), suggest=suggest)
