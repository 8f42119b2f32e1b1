"""Emits tile operators into a stream: each kind registers how."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from vta.codegen.gemm_description import FROM_BOTTOM, Placement
from vta.codegen.stream import Stream
from vta.schedule.schedule import Schedule
from vta.tile.operator import TileOperator

__all__ = ["emit_operator"]


@singledispatch
def emit_operator(
    operator: TileOperator,
    stream: Stream,
    addresses: Mapping[str, int],
    schedule: Schedule | None,
    placement: Placement = FROM_BOTTOM,
) -> None:
    """Emit one operator into `stream`; by `schedule`, if the operator has one.

    `addresses` gives the arena element where each memory starts. `placement` is for those that have a schedule.
    """
    raise TypeError(f"no emission is registered for {type(operator).__name__}")
