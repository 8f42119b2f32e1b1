"""Schedules as the knobs of a record, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.schedule.resources import MAX_SLOTS, broken_limits
from vta.schedule.schedule import Schedule
from vta.support.shorten import shown
from vta.tile.gemm_operator import GemmOperator

__all__ = ["Entity", "entity_of", "fitting_schedule", "schedule_of"]

Entity = tuple[tuple[str, str, Any], ...]

_SPLITS = ("tile_b", "tile_h", "tile_w", "tile_ci", "tile_co")
_CHOICES = ("oc_nthread", "h_nthread", "kernel", "weights_outer", "inp_slots", "wgt_slots", "acc_slots", "flat", "skip_padding")
_OPTIONAL = ("turns",)
"""Knobs that only records have whose schedules need them."""
_DENSE = ("tile_b", "tile_ci", "tile_co", "oc_nthread")
"""The knobs of published records of dense layers."""
_PUBLISHED = (*_SPLITS, "oc_nthread", "h_nthread")
"""Those of the others."""
_OURS = ("kernel", "weights_outer", "inp_slots", "wgt_slots", "acc_slots", "flat")
"""Those that all our records have besides; early ones lack ``skip_padding``."""
_MOST_THREADS = 2
_THREADS = {1: (1, 1), 2: (2, 1), 4: (2, 2)}


def entity_of(schedule: Schedule, operator: GemmOperator) -> Entity:
    """The knobs of a schedule: those of the published records first, then what only ours have."""
    cut = operator.flattened if schedule.flat else operator
    sizes = {
        "tile_b": 1,
        "tile_h": schedule.tile_h,
        "tile_w": schedule.tile_w,
        "tile_ci": schedule.tile_ci,
        "tile_co": schedule.tile_co,
    }
    extents = _extents(cut)
    oc_nthread, h_nthread = _THREADS.get(schedule.acc_slots, (1, 1))
    if schedule.acc_slots == 2 and schedule.weights_outer:
        oc_nthread, h_nthread = h_nthread, oc_nthread
    return (
        *((name, "sp", (-(-extents[name] // size), size)) for name, size in sizes.items()),
        ("oc_nthread", "ot", oc_nthread),
        ("h_nthread", "ot", h_nthread),
        ("kernel", "ot", (schedule.tile_kh, schedule.tile_kw)),
        ("weights_outer", "ot", schedule.weights_outer),
        ("inp_slots", "ot", schedule.inp_slots),
        ("wgt_slots", "ot", schedule.wgt_slots),
        ("acc_slots", "ot", schedule.acc_slots),
        ("flat", "ot", schedule.flat),
        ("skip_padding", "ot", schedule.skip_padding),
        *((("turns", "ot", schedule.turns),) if schedule.turns else ()),
    )


def schedule_of(entity: Sequence[tuple[str, str, Any]], operator: GemmOperator) -> Schedule:
    """The schedule that knobs ask for. Of a split the inner factor counts; a virtual thread is a slot of every buffer.

    Knobs that the published templates do not have may be missing, all of them: they have the values that these imply.
    Raises `TuningError` naming a knob that is missing, not known, given twice, or has a value that the operator's shape does
    not allow.
    """
    knobs = _knobs(entity, operator)
    threads = _count(knobs, "oc_nthread", 1, _MOST_THREADS) * _count(knobs, "h_nthread", 1, _MOST_THREADS)
    flat = _flag(knobs, "flat")
    cut = operator.flattened if flat else operator
    tile = _tile(knobs, operator, cut)
    kernel = _kernel(knobs, cut)
    return Schedule(
        tile_co=tile["tile_co"],
        tile_h=tile["tile_h"],
        tile_w=tile["tile_w"],
        tile_ci=tile["tile_ci"],
        tile_kh=kernel[0],
        tile_kw=kernel[1],
        inp_slots=_count(knobs, "inp_slots", threads),
        wgt_slots=_count(knobs, "wgt_slots", threads),
        acc_slots=_count(knobs, "acc_slots", threads),
        weights_outer=_flag(knobs, "weights_outer"),
        flat=flat,
        skip_padding=_flag(knobs, "skip_padding"),
        turns=_count(knobs, "turns", 0) if "turns" in knobs else 0,
    )


def fitting_schedule(entity: Sequence[tuple[str, str, Any]], operator: GemmOperator, hw: HardwareConfig) -> Schedule:
    """The schedule that knobs ask for, see `schedule_of`, if `operator` can have it on `hw`.

    Raises `TuningError` naming a knob, or the limits that the schedule breaks.
    """
    schedule = schedule_of(entity, operator)
    if broken := broken_limits(operator.laid_out(schedule), schedule, hw):
        raise TuningError("; ".join(map(str, broken)))
    return schedule


def _extents(operator: GemmOperator) -> dict[str, int]:
    """What each split cuts, of an operator as it is laid out."""
    term, out = operator.main_term, operator.output
    blocks = out.blocks if term.diagonal else term.source.blocks
    return {"tile_b": out.batch, "tile_h": out.height, "tile_w": out.width, "tile_ci": blocks, "tile_co": out.blocks}


def _knobs(entity: Sequence[tuple[str, str, Any]], operator: GemmOperator) -> dict[str, Any]:
    knobs: dict[str, Any] = {}
    for name, kind, value in entity:
        if name not in (*_SPLITS, *_CHOICES, *_OPTIONAL):
            raise TuningError(f"knob {shown(name)} is unknown; allowed: {', '.join((*_SPLITS, *_CHOICES))}")
        if name in knobs:
            raise TuningError(f"knob {name} is given twice")
        if kind != ("sp" if name in _SPLITS else "ot"):
            raise TuningError(f"knob {name} is of kind {shown(kind)}; allowed: {'sp' if name in _SPLITS else 'ot'}")
        knobs[name] = value
    needed: tuple[str, ...] = _DENSE if operator.kind == "dense" else _PUBLISHED
    if any(name in knobs for name in _OURS):
        needed = (*_PUBLISHED, *_OURS)
    if missing := [name for name in needed if name not in knobs]:
        raise TuningError(f"knobs are missing: {', '.join(missing)}")
    return knobs


def _tile(knobs: dict[str, Any], operator: GemmOperator, cut: GemmOperator) -> dict[str, int]:
    """The inner factors of the splits, of an operator that is laid out as `cut`.

    Operators of one workload may have rows and columns or one axis, by what follows their products: a record's factors fit one
    of both, and are cut to what there is.
    """
    extents, ours = _extents(cut), _OURS[0] in knobs
    height, width = operator.output.height, operator.output.width
    shapes = ((extents["tile_h"], extents["tile_w"]), (height, width), (1, height * width))
    image = [knobs.get(name, (1, 1)) for name in ("tile_h", "tile_w")]
    shape = next((shape for shape in shapes if all(_fits(*each, ours) for each in zip(image, shape, strict=True))), shapes[0])
    wanted = {**extents, "tile_h": shape[0], "tile_w": shape[1]}
    return {name: min(extents[name], _inner(knobs, name, wanted[name], ours, cut)) for name in _SPLITS}


def _inner(knobs: dict[str, Any], name: str, extent: int, ours: bool, operator: GemmOperator) -> int:
    """The inner factor of a split of `extent`."""
    if name not in knobs:
        return 1
    value = knobs[name]
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not _is_size(value[1]):
        raise TuningError(f"knob {name} = {shown(value)}; allowed: [outer, inner], with an inner factor of 1 or more")
    # The reduction of a diagonal term has no blocks of its own, and published records pack rows in more than one way.
    free = (name == "tile_ci" and operator.main_term.diagonal) or (name == "tile_b" and not ours)
    if not (free and _is_size(value[0])) and not _fits(value, extent, ours):
        raise TuningError(f"knob {name} = {shown(value)}: its factors do not fit {extent}")
    return int(value[1])


def _fits(value: Any, extent: int, ours: bool) -> bool:
    """Whether the factors of a split fit: the outer one is how often the inner one is needed, or -1 for just that.

    Some published records have an outer factor that is a part of that.
    """
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not _is_size(value[1]):
        return False
    outer, inner = value
    if inner > extent or not (_is_size(outer) or outer == -1):
        return False
    return outer in (-1, -(-extent // inner)) or (not ours and extent % (outer * inner) == 0)


def _kernel(knobs: dict[str, Any], operator: GemmOperator) -> tuple[int, int]:
    value = knobs.get("kernel", operator.main_term.kernel)
    height, width = (max(term.kernel[axis] for term in operator.terms) for axis in (0, 1))
    sizes = isinstance(value, (list, tuple)) and len(value) == 2 and all(_is_size(size) for size in value)
    if sizes and value[0] <= height and value[1] <= width:
        return int(value[0]), int(value[1])
    raise TuningError(f"knob kernel = {shown(value)}; allowed: two sizes, from 1x1 to {height}x{width}")


def _count(knobs: dict[str, Any], name: str, default: int, most: int = MAX_SLOTS) -> int:
    value = knobs.get(name, default)
    if not _is_size(value) or value > most:
        raise TuningError(f"knob {name} = {shown(value)}; allowed: integers 1 to {most}")
    return int(value)


def _flag(knobs: dict[str, Any], name: str) -> bool:
    value = knobs.get(name, False)
    if not isinstance(value, bool):
        raise TuningError(f"knob {name} = {shown(value)}; allowed: true, false")
    return value


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
