"""What passes have to say about layers, beside the graph that they give."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from vta.support.dataclass import dataclass

__all__ = ["INEXACT", "KEPT_IN_FLOAT", "NOT_EQUALIZED", "OVERFLOW", "WRAPS", "ZERO_POINTS", "Diagnostic", "Diagnostics"]

INEXACT = "inexact"
"""A layer does not give exactly what the framework that quantised it gives."""
WRAPS = "wraps"
"""Steps of a layer wrap modulo 2^32 by design."""
OVERFLOW = "overflow"
"""Accumulators of a layer may wrap, which changes results."""
KEPT_IN_FLOAT = "kept_in_float"
"""It was measured what int8 costs in a layer, and chosen by that."""
ZERO_POINTS = "zero_points"
"""It was measured what zero points change in an output, and chosen by that."""
NOT_EQUALIZED = "not_equalized"
"""Channels were measured to be better left as they are than evened out."""


@dataclass(frozen=True)
class Diagnostic:
    """One thing to say about one layer. `str()` gives the sentence."""

    rule: str
    """What kind of thing, by which programs tell them apart: `INEXACT`, `WRAPS`, `OVERFLOW`, `KEPT_IN_FLOAT`,
    `ZERO_POINTS`, `NOT_EQUALIZED`."""
    layer: str
    text: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.text}"


@dataclass
class Diagnostics:
    """Collects what passes say, the latest of one kind for each layer."""

    _entries: dict[tuple[str, str], Diagnostic] = field(default_factory=dict)

    def add(self, rule: str, layer: str, text: str) -> None:
        """Say something about a layer."""
        self._entries[rule, layer] = Diagnostic(rule, layer, text)

    def extend(self, others: Collection[Diagnostic]) -> None:
        """Take over what another pass said."""
        self._entries.update({(entry.rule, entry.layer): entry for entry in others})

    def of(self, rule: str) -> dict[str, Diagnostic]:
        """What was said of one kind, by layer."""
        return {entry.layer: entry for entry in self._entries.values() if entry.rule == rule}

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
