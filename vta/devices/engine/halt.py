"""Says where the units of a halted stream stand, for devices that know only how many instructions each has completed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import Tokens
from vta.isa.instruction import Unit, units_of

__all__ = ["halt_text"]

_POPS = {
    Unit.LOAD: (("pop_next", "compute_to_load"),),
    Unit.COMPUTE: (("pop_prev", "load_to_compute"), ("pop_next", "store_to_compute")),
    Unit.STORE: (("pop_prev", "compute_to_store"),),
}
"""Flags of each unit and the queues that they take a token from."""


def halt_text(instructions: NDArray[np.void], completed: Mapping[Unit, int], tokens: Tokens, first: int = 0) -> str:
    """Name the instruction at which each unit stands, and the queues whose tokens it waits for.

    `instructions`, shape (n,), are those from index `first` of the stream on; `completed` are the instructions that each unit
    is done with.
    """
    units = units_of(instructions)
    parts = []
    for unit in Unit:
        own = np.flatnonzero(units == unit)
        text = "no instruction left"
        if completed[unit] < len(own):
            place = int(own[completed[unit]])
            text = f"instruction {first + place} {_reason(instructions[place], unit, tokens)}"
        parts.append(f"{unit.name.lower()} unit: {text}")
    return "; ".join(parts)


def _reason(instruction: np.void, unit: Unit, tokens: Tokens) -> str:
    missing = [queue for flag, queue in _POPS[unit] if instruction[flag] and not getattr(tokens, queue)]
    if not missing:
        return "is held up in the fetch unit by a full queue"
    return "waits for " + " and ".join(f"a {queue.replace('_', '-')} token" for queue in missing)
