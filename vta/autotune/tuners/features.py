"""What the cost model sees of a point: its knobs, the loops that it makes, or how data is used again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vta.autotune.space import Points, Space
from vta.codegen.choose import main_term, products_per_row
from vta.codegen.schedule import terms_of
from vta.targets import MemoryType

__all__ = ["FEATURES", "features_of"]

Floats = NDArray[np.float64]

_CURVE_SAMPLES = 8


def features_of(kind: str, space: Space, numbers: NDArray[np.int64]) -> Floats:
    """Features of points, shape (n, k). `kind` is one of `FEATURES`. All tasks have the same columns."""
    return FEATURES[kind](space, space.points(numbers))


def _knobs(space: Space, points: Points) -> Floats:
    """The choices themselves, sizes by their logarithm."""
    sizes = (points.co, points.h, points.w, points.ci, points.kh, points.kw, points.inp, points.wgt, points.acc)
    return np.stack([*(np.log2(size) for size in sizes), points.weights_outer.astype(float)], axis=1)


def _loops(space: Space, points: Points) -> dict[str, Floats]:
    """Trip counts of the loops over tiles, and elements of one tile."""
    term, out = main_term(space.operator), space.operator.output
    kh, kw = np.minimum(points.kh, term.kernel[0]), np.minimum(points.kw, term.kernel[1])
    window = ((points.h - 1) * term.strides[0] + (kh - 1) * term.dilation[0] + 1) * (
        (points.w - 1) * term.strides[1] + (kw - 1) * term.dilation[1] + 1
    )
    blocks = points.co if term.diagonal else np.full_like(points.co, term.source.blocks)
    ci = np.minimum(points.ci, blocks)
    trips = {
        "channels": -(-out.blocks // points.co),
        "rows": out.batch * -(-out.height // points.h),
        "columns": -(-out.width // points.w),
        "reduction": -(-blocks // ci),
        "kernel": -(-term.kernel[0] // kh) * -(-term.kernel[1] // kw),
    }
    elements = {
        "inp": ci * window,
        "wgt": (ci if term.diagonal else ci * points.co) * (1 if term.window else kh * kw),
        "out": points.co * points.h * points.w,
    }
    return {name: value.astype(float) for name, value in (trips | elements).items()}


def _traffic(space: Space, points: Points, loops: dict[str, Floats]) -> dict[str, Floats]:
    """Estimates from the loops: bytes moved, instructions, cycles of the compute unit."""
    places = loops["rows"] * loops["columns"]
    steps = loops["reduction"] * loops["kernel"]
    runs = loops["channels"] * places
    outer = points.weights_outer
    inp_kept = points.inp >= np.where(outer, steps * places, steps)
    wgt_kept = points.wgt >= np.where(outer, steps, steps * loops["channels"])
    inp_loads = runs * steps / np.where(inp_kept, np.where(outer, loops["channels"], loops["channels"]), 1)
    wgt_loads = runs * steps / np.where(wgt_kept, places, 1)
    hw = space.hw
    moved = inp_loads * loops["inp"] * hw.elem_bytes(MemoryType.INP) + wgt_loads * loops["wgt"] * hw.elem_bytes(MemoryType.WGT)
    passes = 2 + len(space.operator.steps) + len(terms_of(space.operator))
    products = products_per_row(main_term(space.operator))
    rows = space.operator.output.elements
    waste = runs * loops["out"] / rows
    return {
        "bytes": moved,
        "instructions": runs * (passes + steps) + inp_loads + wgt_loads,
        "compute": waste * rows * (products + passes) + runs * (passes + steps) * 7,
        "lead": loops["inp"] * hw.elem_bytes(MemoryType.INP) + loops["wgt"] * hw.elem_bytes(MemoryType.WGT),
        "tail": loops["out"] * passes,
    }


def _itervars(space: Space, points: Points) -> Floats:
    """For each loop its trip count, what one iteration of it touches, and how often data comes again."""
    loops = _loops(space, points)
    traffic = _traffic(space, points, loops)
    roofline = space.operator.output.elements * products_per_row(main_term(space.operator))
    relative = [np.log2(traffic[name] / roofline) for name in ("bytes", "instructions", "compute", "lead", "tail")]
    bound = np.maximum(traffic["bytes"] / 8, traffic["compute"]) / roofline
    slots = [points.inp > 1, points.wgt > 1, points.acc > 1]
    overlap = np.logical_and.reduce(slots).astype(float)
    columns = [*(np.log2(value) for value in loops.values()), *relative, bound, overlap]
    return np.concatenate([np.stack(columns, axis=1), _knobs(space, points)], axis=1)


def _curves(space: Space, points: Points) -> Floats:
    """Bytes touched against products done, sampled at fixed shares of all products, from the innermost loop out."""
    loops = _loops(space, points)
    products = np.ones(len(points))
    sizes = loops["inp"] + loops["wgt"] * space.hw.block / space.hw.batch + loops["out"]
    work = [np.log2(products)]
    touched = [np.log2(sizes)]
    for trip in ("kernel", "reduction", "columns", "rows", "channels"):
        products = products * loops[trip]
        grows = {"kernel": loops["wgt"], "reduction": loops["inp"] + loops["wgt"], "columns": loops["inp"] + loops["out"]}
        sizes = sizes + (loops[trip] - 1) * grows.get(trip, loops["out"])
        work.append(np.log2(products))
        touched.append(np.log2(sizes))
    x, y = np.stack(work, axis=1), np.stack(touched, axis=1)
    samples = []
    for share in np.linspace(0, 1, _CURVE_SAMPLES):
        at = share * x[:, -1]
        samples.append([np.interp(value, row_x, row_y) for value, row_x, row_y in zip(at, x, y, strict=True)])
    return np.concatenate([np.array(samples).T, _itervars(space, points)], axis=1)


FEATURES: dict[str, Callable[[Space, Points], Floats]] = {"knob": _knobs, "itervar": _itervars, "curve": _curves}
"""Kinds of features by name."""
