"""The causes of lost cycles in groups that colours can tell apart, and the full products that nothing is lost by."""

from __future__ import annotations

from vta.explanation.causes import Cause
from vta.explanation.explanation import LayerLosses

__all__ = ["GROUPS", "Part", "parts_of"]

GROUPS: dict[str, tuple[Cause, ...]] = {
    "full products": (),
    "products that are not full": (
        Cause.CHANNEL_PADDING,
        Cause.DEPTHWISE,
        Cause.ZERO_PADDING,
        Cause.WIDE_VALUES,
        Cause.MOVES,
    ),
    "resets and ALU": (Cause.STARTS, Cause.REQUANTIZATION, Cause.CLIPS, Cause.POOLING),
    "loads of the compute unit": (Cause.UOP_LOADS, Cause.CONSTANT_LOADS),
    "bus width": (Cause.BUS_WIDTH,),
    "tokens and instructions": (Cause.TOKENS, Cause.INSTRUCTION_FETCH, Cause.ISSUE),
    "memory latency": (Cause.MEMORY_LATENCY,),
    "fill and drain": (Cause.FILL, Cause.DRAIN),
}
"""Every cause is in one of them."""

Part = tuple[str, str, int]
"""Group, what the cycles went into, and their number."""


def parts_of(layer: LayerLosses) -> list[Part]:
    """The cycles of a layer: they add up to its total."""
    bound, *groups = GROUPS.items()
    parts = [(bound[0], "products that the network asks for, all of them full", layer.bound)]
    parts += [(group, cause.text, layer.lost[cause]) for group, causes in groups for cause in causes]
    return [part for part in parts if part[2]]
