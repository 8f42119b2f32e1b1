"""What became of the cycles of a network: total = bound + what was lost, cause by cause and layer by layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from vta.explanation.causes import Cause
from vta.explanation.suggestion import Suggestion
from vta.support.dataclass import dataclass
from vta.support.table import Table, html_lines, make_table

__all__ = ["Explanation", "LayerLosses"]

_LAYERS, _CAUSES_OF_A_LAYER = 20, 3


@dataclass(frozen=True)
class LayerLosses:
    """The cycles of the compute unit that one layer on the accelerator takes."""

    layer: str
    region: str
    kind: str
    """The template that computes it."""
    total: int
    """Its micro-ops and loads, and the waits before them; the layers add up to the network."""
    bound: int
    """What its multiply-accumulates take if every product is full."""
    roofline: int | None
    """What no schedule of it goes below on this config (docs/roofline.md); None where that is not worked out."""
    lost: dict[Cause, int]
    """All other cycles."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """Where the cycles of a network on the accelerator went, and what would win some back."""

    layers: tuple[LayerLosses, ...]
    """In the order of the program."""
    roofline: int
    """What no schedules go below on this config, summed over the regions."""
    preset: str
    """Whose timing this is; ``rtl`` is exact."""
    clock_mhz: float
    suggestions: tuple[Suggestion, ...] = ()
    """The fewest predicted cycles first."""

    @property
    def total(self) -> int:
        """Cycles of all regions."""
        return sum(layer.total for layer in self.layers)

    @property
    def bound(self) -> int:
        """What the multiply-accumulates take if every product is full."""
        return sum(layer.bound for layer in self.layers)

    @property
    def lost(self) -> dict[Cause, int]:
        """All other cycles by their cause; with `bound` they add up to `total`."""
        return {cause: sum(layer.lost[cause] for layer in self.layers) for cause in Cause}

    def cause_table(self) -> Table:
        """The bound, and what was lost, most first."""
        lost = sorted(self.lost.items(), key=lambda item: -item[1])
        rows = [("bound", self.bound, _share(self.bound, self.total), "products of the network, all of them full")]
        rows += [(cause.value, cycles, _share(cycles, self.total), cause.text) for cause, cycles in lost if cycles]
        return make_table(("cause", "cycles", "share", "what it is"), [*rows, ("total", self.total, "100.0%", "")])

    def layer_table(self) -> Table:
        """The layers that take most cycles, each with what it loses most by."""
        layers = sorted(self.layers, key=lambda layer: -layer.total)
        rows = [_layer_row(layer) for layer in layers[:_LAYERS]]
        if len(layers) > _LAYERS:
            rest = layers[_LAYERS:]
            rows.append((f"{len(rest)} more", *(sum(sums) for sums in zip(*map(_sums, rest), strict=True)), ""))
        return make_table(("layer", "cycles", "bound", "roofline", "lost most by"), rows)

    def suggestion_table(self) -> Table:
        """What would help, with the cycles that are predicted of it."""
        rows = [
            (found.change_text, found.predicted_cycles, _share(found.gain_cycles, self.total), found.estimate.value)
            for found in self.suggestions
        ]
        return make_table(("change", "predicted cycles", "gain", "estimate"), rows)

    def to_json(self) -> dict[str, Any]:
        """The same under names for scripts."""
        return {
            "total": self.total,
            "bound": self.bound,
            "roofline": self.roofline,
            "lost": _by_name(self.lost),
            "layers": [{**asdict(layer), "lost": _by_name(layer.lost)} for layer in self.layers],
            "suggestions": [found.to_json() for found in self.suggestions],
            "preset": self.preset,
            "exact": self.preset == "rtl",
            "clock_mhz": self.clock_mhz,
        }

    def __repr__(self) -> str:
        most = max(self.lost.items(), key=lambda item: item[1])
        return f"Explanation: {self.total:,} cycles, bound {self.bound:,}; {most[1]:,} lost by {most[0].value}"

    def _repr_html_(self) -> str:
        return html_lines(repr(self), self.cause_table(), self.layer_table(), self.suggestion_table())


def _by_name(lost: dict[Cause, int]) -> dict[str, int]:
    return {cause.value: lost[cause] for cause in Cause}


def _share(cycles: int, total: int) -> str:
    return f"{cycles / max(1, total):.1%}"


def _sums(layer: LayerLosses) -> tuple[int, int, int]:
    return layer.total, layer.bound, layer.roofline or 0


def _layer_row(layer: LayerLosses) -> tuple[object, ...]:
    most = sorted(layer.lost.items(), key=lambda item: -item[1])[:_CAUSES_OF_A_LAYER]
    return (layer.layer, layer.total, layer.bound, layer.roofline or "", _listed(most, layer.total))


def _listed(lost: Iterable[tuple[Cause, int]], total: int) -> str:
    return ", ".join(f"{cause.value} {_share(cycles, total)}" for cause, cycles in lost if cycles)
