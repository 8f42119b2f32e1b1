"""What the cost model sees of a point: its knobs, the loops that it makes, or how data is used again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vta.autotune.space import Space
from vta.config.targets import MemoryType
from vta.schedule.columns import Floats, Schedules
from vta.schedule.cost import least_work
from vta.schedule.loops import Loops, loops_of

__all__ = ["FEATURES", "features_of"]

_CURVE_SAMPLES = 8
_SIZES = ("tile_co", "tile_h", "tile_w", "tile_ci", "tile_kh", "tile_kw", "inp_slots", "wgt_slots", "acc_slots")


def features_of(kind: str, space: Space, numbers: NDArray[np.int64]) -> Floats:
    """Features of points, shape (n, k). `kind` is one of `FEATURES`. All tasks have the same columns."""
    return FEATURES[kind](space, space.points(numbers))


def _knobs(space: Space, points: Schedules) -> Floats:
    """The choices themselves, sizes by their logarithm."""
    sizes = (getattr(points, name) for name in _SIZES)
    flags = (points.weights_outer.astype(np.float64), points.skip_padding.astype(np.float64))
    return np.stack([*(np.log2(size) for size in sizes), *flags], axis=1)


def _columns(loops: Loops) -> list[Floats]:
    trips = (loops.channels, loops.rows, loops.columns, loops.reduction, loops.kernel)
    return [np.log2(value) for value in (*trips, loops.inp, loops.wgt, loops.out)]


def _itervars(space: Space, points: Schedules) -> Floats:
    """For each loop its trip count, the data of one step, and what must be done and moved for each product of the roofline."""
    operator = space.operator
    loops = loops_of(operator, points, blocks_apart=False)
    inp_want, wgt_want = loops.reuse(points.weights_outer)
    inp_kept, wgt_kept = points.inp_slots >= inp_want, points.wgt_slots >= wgt_want
    work = least_work(operator, loops, inp_kept, wgt_kept, space.hw)
    products = operator.output.elements * operator.main_term.products_per_row
    lead = loops.inp * space.hw.elem_bytes(MemoryType.INP) + loops.wgt * space.hw.elem_bytes(MemoryType.WGT)
    relative = [np.log2(value / products) for value in (work.compute, work.memory, work.cycles, lead, loops.out)]
    kept = [inp_kept, wgt_kept, (points.inp_slots > 1) & (points.wgt_slots > 1) & (points.acc_slots > 1)]
    columns = [*_columns(loops), *relative, *(flag.astype(np.float64) for flag in kept)]
    return np.concatenate([np.stack(columns, axis=1), _knobs(space, points)], axis=1)


def _curves(space: Space, points: Schedules) -> Floats:
    """Elements touched against products done, sampled at fixed shares of all products, from the innermost loop out."""
    loops = loops_of(space.operator, points, blocks_apart=False)
    ratio = space.hw.block / space.hw.batch
    work: list[Floats] = [np.zeros(len(points))]
    touched: list[Floats] = [loops.inp + loops.wgt * ratio + loops.out]
    for trips, grows in (
        (loops.kernel, loops.wgt * ratio),
        (loops.reduction, loops.inp + loops.wgt * ratio),
        (loops.columns, loops.inp + loops.out),
        (loops.rows, loops.inp + loops.out),
        (loops.channels, loops.wgt * ratio + loops.out),
    ):
        work.append(work[-1] + np.log2(trips))
        touched.append(np.asarray(touched[-1] + (trips - 1) * grows, dtype=np.float64))
    x, y = np.stack(work, axis=1), np.log2(np.stack(touched, axis=1))
    at = np.linspace(0, 1, _CURVE_SAMPLES) * x[:, -1:]
    samples = np.repeat(y[:, :1], _CURVE_SAMPLES, axis=1)
    for piece in range(x.shape[1] - 1):
        begin, end = x[:, piece : piece + 1], x[:, piece + 1 : piece + 2]
        passed = np.clip((at - begin) / np.maximum(end - begin, 1e-9), 0, 1)
        samples += np.where(end > begin, passed, 1) * (y[:, piece + 1 : piece + 2] - y[:, piece : piece + 1])
    return np.concatenate([samples, _itervars(space, points)], axis=1)


FEATURES: dict[str, Callable[[Space, Schedules], Floats]] = {"knob": _knobs, "itervar": _itervars, "curve": _curves}
"""Kinds of features by name."""
