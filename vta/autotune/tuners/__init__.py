"""Tuners by the names that users know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from vta.autotune.tunable import Tunable
from vta.autotune.tuners.base import Tuner
from vta.autotune.tuners.boosted import BoostedTuner, Experience
from vta.autotune.tuners.genetic import GeneticTuner
from vta.autotune.tuners.simple import GridSearchTuner, RandomTuner
from vta.errors import TuningError

__all__ = ["TUNERS", "Experience", "Tuner", "make_tuner"]

_BOOSTED = {
    "xgb" + ("" if loss == "reg" else "_" + loss.replace("-", "_")) + suffix: (loss, kind)
    for loss in ("reg", "rank", "rank-binary")
    for suffix, kind in (("", "curve"), ("_knob", "knob"), ("_itervar", "itervar"), ("_curve", "curve"))
}


def _boosted(task: Tunable, seed: int, experience: Experience | None, loss: str, kind: str) -> Tuner:
    return BoostedTuner(task, seed, loss, kind, experience)


TUNERS: dict[str, Callable[[Tunable, int, Experience | None], Tuner]] = {
    **{name: partial(_boosted, loss=loss, kind=kind) for name, (loss, kind) in _BOOSTED.items()},
    "ga": lambda task, seed, experience: GeneticTuner(task, seed),
    "random": lambda task, seed, experience: RandomTuner(task, seed),
    "gridsearch": lambda task, seed, experience: GridSearchTuner(task, seed),
}
"""Makers of tuners: task, seed, and what earlier tasks taught (for those that learn from it)."""


def make_tuner(name: str, task: Tunable, seed: int = 0, experience: Experience | None = None) -> Tuner:
    """Return the tuner called `name`. Raises `TuningError` listing all names if there is none."""
    if name not in TUNERS:
        raise TuningError(f"unknown tuner {name!r}; allowed: {', '.join(TUNERS)}")
    return TUNERS[name](task, seed, experience)
