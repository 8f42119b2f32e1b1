"""What kind of program to generate: which instructions, how large, how tightly ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from random import Random

from vta.support.dataclass import dataclass

__all__ = ["Profile", "random_profile"]

_BALANCED = {"inp": 3, "wgt": 3, "acc": 2, "uop": 1, "gemm": 6, "alu": 4, "store": 3, "empty": 1}
_MIXES: tuple[Mapping[str, int], ...] = (
    _BALANCED,
    _BALANCED,
    {**_BALANCED, "inp": 12, "wgt": 12, "acc": 12},
    {**_BALANCED, "gemm": 20, "inp": 1, "wgt": 1, "acc": 1},
    {**_BALANCED, "alu": 20, "acc": 1},
    {**_BALANCED, "store": 20},
    {**_BALANCED, "empty": 20},
    {**_BALANCED, "acc": 8, "uop": 8, "inp": 8, "wgt": 0, "gemm": 1},
)


@dataclass(frozen=True)
class Profile:
    """Parameters of the generator. Probabilities are 0 to 1."""

    weights: Mapping[str, int] = field(default_factory=lambda: _BALANCED)
    """Relative frequency of each kind of instruction."""
    length: int = 20
    """Instructions, before those that only carry tokens."""
    rows: int = 32
    """SRAM rows of a transfer at most."""
    loop: int = 6
    """Trip count of a loop at most."""
    uops: int = 8
    """Micro-ops of a sequence at most."""
    pads: float = 0.3
    """Probability that a load has pads."""
    empty_loops: float = 0.04
    """Probability that a loop runs no times."""
    spare_tokens: int = 10
    """Tries to add a token that nothing needs."""
    token_reach: int = 10
    """Instructions between the push and the pop of such a token at most."""
    serial: bool = False
    """Every instruction waits for the one before it."""
    shuffled: bool = False
    """Fetch the instructions in another order, each unit's own order kept."""


def random_profile(rng: Random) -> Profile:
    """A random mix, mostly of short programs."""
    return Profile(
        weights=rng.choice(_MIXES),
        length=rng.choice((3, 8, 8, 20, 20, 20, 20, 20, 40, 40, 80, 300)),
        rows=rng.choice((4, 16, 64, 256)),
        loop=rng.choice((2, 4, 9)),
        uops=rng.choice((1, 4, 12)),
        pads=rng.choice((0.0, 0.3, 0.9)),
        empty_loops=rng.choice((0.0, 0.05, 0.3)),
        spare_tokens=rng.choice((0, 0, 10, 100, 1000)),
        token_reach=rng.choice((3, 20, 100, 400)),
        serial=rng.random() < 0.1,
        shuffled=rng.random() < 0.4,
    )
