"""The config space of a task: every schedule that the templates can run, as knobs with a fixed list of choices each.

Only points that fit the hardware are counted and numbered, so that no tuner can propose another; what was left out is counted by
the limit that it breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.autotune.groups import ACC_SLOTS, ORDERS, SLOT_CHOICES, find_groups
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import TuningError
from vta.schedule.choose import kernel_splits
from vta.schedule.columns import Ints, Schedules, TileSizes
from vta.schedule.resources import largest_pad
from vta.schedule.schedule import Schedule
from vta.schedule.tile_sizes import equal_sizes
from vta.tile.gemm_operator import GemmOperator

__all__ = ["KNOBS", "Space"]

KNOBS = (
    "tile_co",
    "tile_h",
    "tile_w",
    "tile_ci",
    "kernel",
    "weights_outer",
    "inp_slots",
    "wgt_slots",
    "acc_slots",
    "skip_padding",
)
"""Names of the knobs, in the order of the columns of a position."""

_MAX_RAW_TILES = 1 << 22


class Space:
    """The valid schedules of one workload, numbered from 0.

    `variants` are the operators of the workload that differ only in what follows the products; a point must fit all of them.
    Without `skip_padding` every point does all products of the layer, those with zero padding too.
    Raises `TuningError` with the counts per limit if there is no valid point.
    """

    def __init__(self, variants: Sequence[GemmOperator], hw: HardwareConfig, skip_padding: bool = True) -> None:
        self.hw = hw
        flat = [operator.flattened for operator in variants]
        self.operator = flat[0]
        self.axes = _axes(self.operator, hw)
        self.kernels = kernel_splits(self.operator)
        self._skips = 1 + (skip_padding and any(_has_padding(operator) for operator in flat))
        self._tile_dims = (*(len(axis) for axis in self.axes), len(self.kernels))
        self.dims = (*self._tile_dims, len(ORDERS), SLOT_CHOICES, SLOT_CHOICES, len(ACC_SLOTS), self._skips)
        tiles = int(np.prod(self._tile_dims))
        if tiles > _MAX_RAW_TILES:
            raise TuningError(f"{self.operator.name}: {tiles} tile sizes are more than a space may have ({_MAX_RAW_TILES})")
        grid = np.array(np.unravel_index(np.arange(tiles), self._tile_dims)).T
        self._groups = find_groups(flat, hw, TileSizes(**self._sizes(grid)))
        self._first = np.concatenate([[0], np.cumsum(self._groups.sizes)]).astype(np.int64)
        self.rejected = {reason: count * self._skips for reason, count in self._groups.rejected.items()}
        if not self.size:
            raise TuningError(f"{self.operator.name}: no valid candidate on {hw.model}: {self.rejections()}")

    @property
    def size(self) -> int:
        """Number of valid points."""
        return int(self._first[-1]) * self._skips

    @property
    def raw_size(self) -> int:
        """Number of combinations of knobs, valid or not."""
        return int(np.prod(self.dims))

    def rejections(self) -> str:
        """The points that were left out per reason, as a text."""
        counts = [f"{count:,} points: {reason}" for reason, count in self.rejected.items()]
        return "; ".join(counts) or "none"

    def points(self, numbers: Sequence[int] | Ints) -> Schedules:
        """Decode point numbers to columns. Raises `IndexError` for a number outside the space."""
        return self._decode(self.positions(numbers))

    def positions(self, numbers: Sequence[int] | Ints) -> Ints:
        """Which choice of each knob the points have, shape (n, 10)."""
        wanted = np.asarray(numbers, dtype=np.int64).reshape(-1)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= self.size):
            raise IndexError(f"point {wanted.min()} to {wanted.max()} of a space of {self.size}")
        skip, wanted = wanted % self._skips, wanted // self._skips
        group = np.searchsorted(self._first, wanted, side="right") - 1
        rest = wanted - self._first[group]
        groups = self._groups
        acc_count, wgt_count = groups.acc_count[group], self._wgt_count[group]
        acc, rest = rest % acc_count, rest // acc_count
        wgt, inp = rest % wgt_count, rest // wgt_count
        tile = np.array(np.unravel_index(groups.tile[group], self._tile_dims)).T
        columns = (groups.order[group], groups.inp_choice[group, inp], groups.wgt_choice[group, wgt], acc, skip)
        return np.concatenate([tile, np.stack(columns, axis=1)], axis=1).astype(np.int64)

    def numbers(self, positions: Ints) -> Ints:
        """Point numbers of positions, shape (n, 10); -1 for those that are not valid."""
        group = self._group_of(positions)
        found = group >= 0
        safe = np.where(found, group, 0)
        inp = _rank_of(self._groups.inp_choice[safe], positions[:, 6])
        wgt = _rank_of(self._groups.wgt_choice[safe], positions[:, 7])
        acc = positions[:, 8]
        found &= (inp >= 0) & (wgt >= 0) & (acc < self._groups.acc_count[safe])
        number = self._first[safe] + (inp * self._wgt_count[safe] + wgt) * self._groups.acc_count[safe] + acc
        return np.where(found, number * self._skips + positions[:, 9], -1)

    def schedule(self, number: int) -> Schedule:
        """The schedule of a point."""
        return self.points([number]).schedule(0)

    def find(self, schedule: Schedule) -> int | None:
        """The number of the point that is `schedule`, or None where the space has none."""
        sizes = (schedule.tile_co, schedule.tile_h, schedule.tile_w, schedule.tile_ci)
        kernel = (schedule.tile_kh, schedule.tile_kw)
        if schedule.skip_padding and self._skips == 1:
            return None
        if not schedule.flat or kernel not in self.kernels or schedule.acc_slots not in ACC_SLOTS:
            return None
        if any(size not in axis for size, axis in zip(sizes, self.axes, strict=True)):
            return None
        tile = [axis.index(size) for size, axis in zip(sizes, self.axes, strict=True)]
        order, acc = ORDERS.index(schedule.weights_outer), ACC_SLOTS.index(schedule.acc_slots)
        slots = np.indices((SLOT_CHOICES, SLOT_CHOICES)).reshape(2, -1).T
        head = np.tile([*tile, self.kernels.index(kernel), order], (len(slots), 1))
        candidates = np.concatenate([head, slots, np.tile([acc, int(schedule.skip_padding)], (len(slots), 1))], axis=1)
        numbers = self.numbers(candidates)
        numbers = numbers[numbers >= 0]
        points = self.points(numbers)
        same = np.flatnonzero((points.inp_slots == schedule.inp_slots) & (points.wgt_slots == schedule.wgt_slots))
        return int(numbers[same[0]]) if len(same) else None

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers of `count` points at random, each as likely as any other; they may repeat."""
        return rng.integers(0, self.size, count)

    @cached_property
    def _wgt_count(self) -> Ints:
        return self._groups.wgt_count

    @cached_property
    def _index(self) -> NDArray[np.int32]:
        """Group number by tile and order, -1 where there is none."""
        index = np.full((int(np.prod(self._tile_dims)), len(ORDERS)), -1, dtype=np.int32)
        index[self._groups.tile, self._groups.order] = np.arange(len(self._groups.tile), dtype=np.int32)
        return index

    def _group_of(self, positions: Ints) -> Ints:
        tiles = np.ravel_multi_index(tuple(positions[:, :5].T), self._tile_dims)
        return np.asarray(self._index[tiles, positions[:, 5]], dtype=np.int64)

    def _sizes(self, positions: Ints) -> dict[str, Ints]:
        """The tile sizes of positions, shape (n, 5 or more), by name."""
        sizes = {name: np.array(self.axes[at], dtype=np.int64)[positions[:, at]] for at, name in enumerate(KNOBS[:4])}
        kh, kw = np.array(self.kernels, dtype=np.int64)[positions[:, 4]].T
        return {**sizes, "tile_kh": kh, "tile_kw": kw}

    def _decode(self, positions: Ints) -> Schedules:
        group = self._group_of(positions)
        rows = np.arange(len(positions))
        return Schedules(
            **self._sizes(positions),
            inp_slots=self._groups.inp_values[group][rows, positions[:, 6]].astype(np.int64),
            wgt_slots=self._groups.wgt_values[group][rows, positions[:, 7]].astype(np.int64),
            acc_slots=np.array(ACC_SLOTS, dtype=np.int64)[positions[:, 8]],
            weights_outer=np.array(ORDERS)[positions[:, 5]],
            skip_padding=positions[:, 9].astype(np.bool_),
        )


def _axes(operator: GemmOperator, hw: HardwareConfig) -> tuple[Sequence[int], ...]:
    """The choices of the four sizes of a tile that may fit."""
    term, out = operator.main_term, operator.output
    in_blocks = 1 if term.diagonal and term.pointwise else term.source.blocks
    return (
        equal_sizes(out.blocks),
        _bounded(equal_sizes(out.height), hw.depth(MemoryType.ACC)),
        _bounded(equal_sizes(out.width), hw.depth(MemoryType.ACC)),
        _bounded(equal_sizes(in_blocks), hw.depth(MemoryType.INP)),
    )


def _bounded(sizes: Sequence[int], limit: int) -> list[int]:
    return [size for size in sizes if size <= limit]


def _has_padding(operator: GemmOperator) -> bool:
    return any(largest_pad(operator, term, axis) > 0 for term in operator.terms for axis in (0, 1))


def _rank_of(choices: NDArray[np.int8], wanted: Ints) -> Ints:
    """Where each row of `choices` has what is wanted, -1 where it does not."""
    same = choices == wanted[:, None]
    return np.asarray(np.where(same.any(axis=1), same.argmax(axis=1), -1), dtype=np.int64)
