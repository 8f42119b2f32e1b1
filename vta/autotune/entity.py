"""Schedules as the knobs of a record, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vta.codegen.schedule import Schedule, flattened
from vta.codegen.tile_estimate import main_term
from vta.codegen.workload import TileOperator
from vta.errors import TuningError

__all__ = ["entity_of", "schedule_of"]

Entity = tuple[tuple[str, str, Any], ...]

_SPLITS = ("tile_b", "tile_h", "tile_w", "tile_ci", "tile_co")
_CHOICES = ("oc_nthread", "h_nthread", "kernel", "weights_outer", "inp_slots", "wgt_slots", "acc_slots", "flat", "skip_padding")
_THREADS = {1: (1, 1), 2: (2, 1), 4: (2, 2)}


def entity_of(schedule: Schedule, operator: TileOperator) -> Entity:
    """The knobs of a schedule: those of the published records first, then what only ours have."""
    cut = flattened(operator) if schedule.flat else operator
    term, out = main_term(cut), cut.output
    blocks = out.blocks if term.diagonal else term.source.blocks
    axes = {
        "tile_b": (out.batch, 1),
        "tile_h": (out.height, schedule.tile_h),
        "tile_w": (out.width, schedule.tile_w),
        "tile_ci": (blocks, schedule.tile_ci),
        "tile_co": (out.blocks, schedule.tile_co),
    }
    oc_nthread, h_nthread = _THREADS.get(schedule.acc_slots, (1, 1))
    if schedule.acc_slots == 2 and schedule.weights_outer:
        oc_nthread, h_nthread = h_nthread, oc_nthread
    return (
        *((name, "sp", (-(-extent // size), size)) for name, (extent, size) in axes.items()),
        ("oc_nthread", "ot", oc_nthread),
        ("h_nthread", "ot", h_nthread),
        ("kernel", "ot", (schedule.tile_kh, schedule.tile_kw)),
        ("weights_outer", "ot", schedule.weights_outer),
        ("inp_slots", "ot", schedule.inp_slots),
        ("wgt_slots", "ot", schedule.wgt_slots),
        ("acc_slots", "ot", schedule.acc_slots),
        ("flat", "ot", schedule.flat),
        ("skip_padding", "ot", schedule.skip_padding),
    )


def schedule_of(entity: Sequence[tuple[str, str, Any]], operator: TileOperator) -> Schedule:
    """The schedule that knobs ask for. Of a split only the inner factor counts; a virtual thread is a slot of every buffer.

    Knobs that are missing have the value that the published templates imply. Raises `TuningError` naming a knob that is not
    known or has an impossible value.
    """
    knobs: dict[str, Any] = {}
    for name, kind, value in entity:
        if name not in (*_SPLITS, *_CHOICES):
            raise TuningError(f"knob {name!r} is unknown; allowed: {', '.join((*_SPLITS, *_CHOICES))}")
        knobs[name] = _inner(name, value) if kind == "sp" else value
    threads = _count(knobs, "oc_nthread", 1) * _count(knobs, "h_nthread", 1)
    flat = bool(knobs.get("flat", False))
    cut = flattened(operator) if flat else operator
    out = cut.output
    kernel = knobs.get("kernel", main_term(cut).kernel)
    if not isinstance(kernel, (list, tuple)) or len(kernel) != 2 or not all(_is_size(size) for size in kernel):
        raise TuningError(f"knob kernel = {kernel!r}; allowed: two sizes of 1 or more")
    return Schedule(
        min(out.blocks, _count(knobs, "tile_co", 1)),
        min(out.height, _count(knobs, "tile_h", 1)),
        min(out.width, _count(knobs, "tile_w", 1)),
        _count(knobs, "tile_ci", 1),
        kernel[0],
        kernel[1],
        _count(knobs, "inp_slots", threads),
        _count(knobs, "wgt_slots", threads),
        _count(knobs, "acc_slots", threads),
        bool(knobs.get("weights_outer", False)),
        flat,
        bool(knobs.get("skip_padding", False)),
    )


def _inner(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TuningError(f"knob {name} = {value!r}; allowed: [outer, inner]")
    return value[1]


def _count(knobs: dict[str, Any], name: str, default: int) -> int:
    value = knobs.get(name, default)
    if not _is_size(value):
        raise TuningError(f"knob {name} = {value!r}; allowed: integers of 1 or more")
    return int(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
