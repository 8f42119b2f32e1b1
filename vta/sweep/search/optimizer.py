"""Which designs to look at next: Optuna's tree-structured Parzen estimator, over the values of all keys together.

It was chosen by measurement (docs/sweep.md): of what Optuna has without PyTorch it needs the fewest evaluations by far.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vta.errors import SweepError

if TYPE_CHECKING:
    import optuna

__all__ = ["Choice", "Optimizer"]

Choice = tuple[int, ...]
"""For each key, which of its values."""

_FEWEST_AT_RANDOM, _MOST_AT_RANDOM = 8, 32
_SHARE_AT_RANDOM = 0.1
_BROKEN = "broken"
_FAR = 1e3
"""The cost of what has none, as a logarithm."""


class Optimizer:
    """Proposes choices, and learns from what they cost; the same seed and costs give the same proposals.

    Raises `SweepError` where Optuna is not installed.
    """

    def __init__(self, axes: Mapping[str, Sequence[Any]], objectives: int, evaluations: int, seed: int) -> None:
        self._optuna = _load_optuna()
        self._axes = axes
        at_random = max(_FEWEST_AT_RANDOM, min(_MOST_AT_RANDOM, round(_SHARE_AT_RANDOM * evaluations)))
        self._objectives = objectives
        self._scale: tuple[float, ...] | None = None
        self._asked: dict[Choice, list[optuna.trial.Trial]] = {}
        with _quiet():
            sampler = self._optuna.samplers.TPESampler(
                multivariate=True,
                constant_liar=True,
                n_startup_trials=at_random,
                seed=seed % (1 << 32),
                constraints_func=lambda trial: (trial.user_attrs.get(_BROKEN, 0.0),),
            )
            self._study = self._optuna.create_study(directions=["minimize"] * objectives, sampler=sampler)

    def ask(self, given: Choice | None = None) -> Choice:
        """The next choice, or one that is `given` from outside. It may be one that was asked for before."""
        with _quiet():
            if given is not None:
                self._study.enqueue_trial(dict(zip(self._axes, given, strict=True)))
            trial = self._study.ask()
            choice = tuple(trial.suggest_int(key, 0, len(values) - 1) for key, values in self._axes.items())
        self._asked.setdefault(choice, []).append(trial)
        return choice

    def tell(self, choice: Choice, costs: Sequence[float] | None) -> None:
        """What a choice costs, numbers above 0 of which less is better; None: it breaks a constraint."""
        for trial in self._asked.pop(choice, ()):
            trial.set_user_attr(_BROKEN, float(costs is None))
            with _quiet():
                self._study.tell(trial, [_FAR] * self._objectives if costs is None else self._scaled(costs))

    def _scaled(self, costs: Sequence[float]) -> list[float]:
        """Logarithms, with those of the first costs as 0."""
        logs = tuple(math.log(max(cost, 1e-12)) for cost in costs)
        self._scale = self._scale or logs
        return [value - first for value, first in zip(logs, self._scale, strict=True)]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Optuna says of itself: that features are experimental, and each trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _load_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise SweepError("searching needs the package optuna: pip install 'vta[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
