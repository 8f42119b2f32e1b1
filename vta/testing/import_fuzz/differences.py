"""Differences from the frameworks that are meant, or theirs: each with its reason. docs/import-fuzzing.md explains them."""

from __future__ import annotations

from dataclasses import dataclass

from vta.testing.import_fuzz.description import Description

__all__ = ["NOISE", "Allowance", "noise_factor"]


@dataclass(frozen=True)
class Allowance:
    """What an operator may differ by beyond the noise of others."""

    factor: float
    """Multiplies the noise."""
    reason: str


NOISE: dict[str, Allowance] = {}
"""By operator."""


def noise_factor(net: Description) -> float:
    """Return the largest factor of the operators of a model."""
    return max((NOISE[kind].factor for kind in net.kinds() if kind in NOISE), default=1.0)
