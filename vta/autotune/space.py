"""The config space of a task: every schedule that the templates can run, as knobs with a fixed list of choices each.

Only points that fit the hardware are counted and numbered, so that no tuner can propose another; what was left out is counted by
the limit that it breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import TuningError
from vta.schedule.choose import kernel_splits
from vta.schedule.least_work_of_tiles import Loops, Tiles, least_work, loops_of
from vta.schedule.schedule import MAX_SLOTS, Schedule, largest_pad
from vta.schedule.tile_sizes import equal_sizes
from vta.tile.access_map import max_rows
from vta.tile.gemm_operator import GemmOperator
from vta.tile.transfer_limits import MAX_PAD, broken_stride

__all__ = ["ACC_SLOTS", "KNOBS", "Points", "Space"]

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

ACC_SLOTS = (1, 2, 4)
"""Output tiles in flight: the product of the knobs ``oc_nthread`` and ``h_nthread`` of the published records."""

_SLOT_CHOICES = 5
"""Of input and weight slots: 1, 2, 4, all that can be used again, and room to prefetch as much again."""
_ORDERS = (True, False)
_MAX_RAW_TILES = 1 << 22
_SLOWEST = 1.25
"""Tilings whose least work is more than this many times that of the best are left out: instructions and loads drown them."""
_MOST_STEPS = 256
"""Tilings with more than this many times the reduction steps of the fewest possible are left out, too."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Points:
    """Schedules as columns, one row a point."""

    co: Ints
    h: Ints
    w: Ints
    ci: Ints
    kh: Ints
    kw: Ints
    weights_outer: Bools
    inp: Ints
    wgt: Ints
    acc: Ints
    skip_padding: Bools

    def __len__(self) -> int:
        return len(self.co)

    @property
    def tiles(self) -> Tiles:
        """The tile sizes."""
        return Tiles(self.co, self.h, self.w, self.ci, self.kh, self.kw)


@dataclass(frozen=True)
class _Rows:
    """SRAM rows that tiles take, one entry a tile: see `vta.schedule.schedule.Resources`."""

    inp: Ints
    wgt: Ints
    wgt_fixed: Ints
    acc: Ints
    vectors: Ints


class Space:
    """The valid schedules of one workload, numbered from 0.

    `variants` are the operators of the workload that differ only in what follows the products; a point must fit all of them.
    Without `skip_padding` every point does all products of the layer, those with zero padding too.
    Raises `TuningError` with the counts per limit if there is no valid point.
    """

    def __init__(self, variants: Sequence[GemmOperator], hw: HardwareConfig, skip_padding: bool = True) -> None:
        self.hw = hw
        self._variants = [operator.flattened for operator in variants]
        self.operator = self._variants[0]
        term, out = self.operator.main_term, self.operator.output
        in_blocks = 1 if term.diagonal and term.pointwise else term.source.blocks
        limit = hw.depth(MemoryType.INP)
        self.axes: tuple[list[int], ...] = (
            equal_sizes(out.blocks),
            _bounded(equal_sizes(out.height), hw.depth(MemoryType.ACC)),
            _bounded(equal_sizes(out.width), hw.depth(MemoryType.ACC)),
            _bounded(equal_sizes(in_blocks), limit),
        )
        self.kernels = kernel_splits(self.operator)
        self._skips = 1 + (skip_padding and any(_has_padding(operator) for operator in self._variants))
        slots = (_SLOT_CHOICES, _SLOT_CHOICES, len(ACC_SLOTS))
        self.dims = (*(len(axis) for axis in self.axes), len(self.kernels), len(_ORDERS), *slots, self._skips)
        self._tile_dims = self.dims[:5]
        self.rejected: dict[str, int] = {}
        self._enumerate()
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

    def points(self, numbers: Sequence[int] | Ints) -> Points:
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
        acc_count, wgt_count = self._acc_count[group], self._wgt_count[group]
        acc, rest = rest % acc_count, rest // acc_count
        wgt, inp = rest % wgt_count, rest // wgt_count
        tile = np.array(np.unravel_index(self._tile[group], self._tile_dims)).T
        columns = (self._order[group], self._inp_choice[group, inp], self._wgt_choice[group, wgt], acc, skip)
        return np.concatenate([tile, np.stack(columns, axis=1)], axis=1).astype(np.int64)

    def numbers(self, positions: Ints) -> Ints:
        """Point numbers of positions, shape (n, 10); -1 for those that are not valid."""
        groups = self._group_of(positions)
        found = groups >= 0
        safe = np.where(found, groups, 0)
        inp = self._rank_of(self._inp_choice, safe, positions[:, 6])
        wgt = self._rank_of(self._wgt_choice, safe, positions[:, 7])
        acc = positions[:, 8]
        found &= (inp >= 0) & (wgt >= 0) & (acc < self._acc_count[safe])
        number = self._first[safe] + (inp * self._wgt_count[safe] + wgt) * self._acc_count[safe] + acc
        return np.where(found, number * self._skips + positions[:, 9], -1)

    def schedule(self, number: int) -> Schedule:
        """The schedule of a point."""
        point = self.points([number])
        return Schedule(
            tile_co=int(point.co[0]),
            tile_h=int(point.h[0]),
            tile_w=int(point.w[0]),
            tile_ci=int(point.ci[0]),
            tile_kh=int(point.kh[0]),
            tile_kw=int(point.kw[0]),
            inp_slots=int(point.inp[0]),
            wgt_slots=int(point.wgt[0]),
            acc_slots=int(point.acc[0]),
            weights_outer=bool(point.weights_outer[0]),
            skip_padding=bool(point.skip_padding[0]),
        )

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
        order, acc = int(not schedule.weights_outer), ACC_SLOTS.index(schedule.acc_slots)
        slots = np.indices((_SLOT_CHOICES, _SLOT_CHOICES)).reshape(2, -1).T
        head = np.tile([*tile, self.kernels.index(kernel), order], (len(slots), 1))
        candidates = np.concatenate([head, slots, np.tile([acc, int(schedule.skip_padding)], (len(slots), 1))], axis=1)
        numbers = self.numbers(candidates)
        numbers = numbers[numbers >= 0]
        points = self.points(numbers)
        same = np.flatnonzero((points.inp == schedule.inp_slots) & (points.wgt == schedule.wgt_slots))
        return int(numbers[same[0]]) if len(same) else None

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers of `count` points at random, each as likely as any other; they may repeat."""
        return rng.integers(0, self.size, count)

    @cached_property
    def _index(self) -> NDArray[np.int32]:
        """Group number by tile and order, -1 where there is none."""
        index = np.full((int(np.prod(self._tile_dims)), 2), -1, dtype=np.int32)
        index[self._tile, self._order] = np.arange(len(self._tile), dtype=np.int32)
        return index

    def _group_of(self, positions: Ints) -> Ints:
        tiles = np.ravel_multi_index(tuple(positions[:, :5].T), self._tile_dims)
        return np.asarray(self._index[tiles, positions[:, 5]], dtype=np.int64)

    def _rank_of(self, choices: NDArray[np.int8], groups: Ints, wanted: Ints) -> Ints:
        same = choices[groups] == wanted[:, None]
        return np.asarray(np.where(same.any(axis=1), same.argmax(axis=1), -1), dtype=np.int64)

    def _decode(self, positions: Ints) -> Points:
        co, h, w, ci = (np.array(axis, dtype=np.int64)[positions[:, at]] for at, axis in enumerate(self.axes))
        kernels = np.array(self.kernels, dtype=np.int64)[positions[:, 4]]
        outer = np.array(_ORDERS)[positions[:, 5]]
        groups = self._group_of(positions)
        rows = np.arange(len(positions))
        inp = self._inp_values[groups][rows, positions[:, 6]]
        wgt = self._wgt_values[groups][rows, positions[:, 7]]
        acc = np.array(ACC_SLOTS, dtype=np.int64)[positions[:, 8]]
        kh, kw = kernels.T
        skip = positions[:, 9].astype(np.bool_)
        return Points(co, h, w, ci, kh, kw, outer, inp.astype(np.int64), wgt.astype(np.int64), acc, skip)

    def _enumerate(self) -> None:
        """Find the valid points by tile and order: there, every valid choice of one kind of slots goes with every other."""
        tiles = int(np.prod(self._tile_dims))
        if tiles > _MAX_RAW_TILES:
            raise TuningError(f"{self.operator.name}: {tiles} tile sizes are more than a space may have ({_MAX_RAW_TILES})")
        grid = np.array(np.unravel_index(np.arange(tiles), self._tile_dims))
        co, h, w, ci = (np.array(axis, dtype=np.int64)[grid[at]] for at, axis in enumerate(self.axes))
        kh, kw = np.array(self.kernels, dtype=np.int64)[grid[4]].T
        sizes = Tiles(co, h, w, ci, kh, kw)
        fits = self._fits(sizes)
        groups = [self._grouped(order, fits, loops_of(self.operator, sizes)) for order in (0, 1)]
        joined = [np.concatenate(parts) for parts in zip(*groups, strict=True)]
        by_tile = np.lexsort((joined[1], joined[0]))
        self._tile, self._order, self._inp_values, self._wgt_values, inp_ok, wgt_ok, self._acc_count = (
            part[by_tile] for part in joined
        )
        self._inp_choice, self._wgt_choice = _packed_choices(inp_ok), _packed_choices(wgt_ok)
        self._inp_count, self._wgt_count = inp_ok.sum(axis=1), wgt_ok.sum(axis=1)
        counts = self._inp_count * self._wgt_count * self._acc_count
        self._first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def _fits(self, tiles: Tiles) -> tuple[Ints, Ints, Ints, Bools]:
        """How many input windows, weight steps and output tiles fit, and whether all pads and strides do, for all variants."""
        big = np.iinfo(np.int64).max
        inp, wgt, acc = (np.full(len(tiles.co), big) for _ in range(3))
        legal = np.ones(len(tiles.co), dtype=bool)
        depth = {memory: self.hw.depth(memory) for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC)}
        for operator in self._variants:
            need = _rows(operator, tiles, self.hw)
            inp = np.minimum(inp, depth[MemoryType.INP] // need.inp)
            wgt = np.minimum(wgt, np.maximum(0, depth[MemoryType.WGT] - need.wgt_fixed) // need.wgt)
            acc = np.minimum(acc, np.maximum(0, depth[MemoryType.ACC] - need.vectors) // need.acc)
            legal &= _legal(operator, tiles)
        return inp, wgt, acc, legal

    def _grouped(
        self, order: int, fits: tuple[Ints, Ints, Ints, Bools], loops: Loops
    ) -> tuple[Ints, Ints, Ints, Ints, Bools, Bools, Ints]:
        inp_fit, wgt_fit, acc_fit, legal = fits
        steps = loops.steps
        # Slots that hold everything which a later tile uses again.
        wants = (steps * loops.places, steps) if _ORDERS[order] else (steps, steps * loops.channels)
        inp, wgt = _slot_values(inp_fit, wants[0]), _slot_values(wgt_fit, wants[1])
        acc_count = (np.array(ACC_SLOTS)[None, :] <= acc_fit[:, None]).sum(axis=1)
        inp_fits, wgt_fits = (inp <= inp_fit[:, None]) & (inp > 0), (wgt <= wgt_fit[:, None]) & (wgt > 0)
        tokens = (inp <= MAX_SLOTS) & inp_fits, (wgt <= MAX_SLOTS) & wgt_fits
        inp_new, wgt_new = tokens[0] & _first_of_kind(inp), tokens[1] & _first_of_kind(wgt)
        possible = legal & (inp_fit > 0) & (wgt_fit > 0) & (acc_fit > 0)
        fast = self._fast(loops, inp_fit >= wants[0], wgt_fit >= wants[1], possible)
        lean = self._lean(loops, possible & fast)
        queued = tokens[0].sum(axis=1) * tokens[1].sum(axis=1)
        distinct = inp_new.sum(axis=1) * wgt_new.sum(axis=1)
        self._count_rejected(legal, fast, lean, (inp_fits, wgt_fits, acc_count), queued, distinct)
        kept = np.flatnonzero(legal & fast & lean & inp_new.any(axis=1) & wgt_new.any(axis=1) & (acc_count > 0))
        return (kept, np.full(len(kept), order), inp[kept], wgt[kept], inp_new[kept], wgt_new[kept], acc_count[kept])

    def _fast(self, loops: Loops, inp_kept: Bools, wgt_kept: Bools, possible: Bools) -> Bools:
        """Whether the least work of a tiling is near that of the best possible one."""
        cycles = least_work(self.operator, loops, inp_kept, wgt_kept, self.hw).cycles
        if not possible.any():
            return np.ones(len(cycles), dtype=bool)
        return np.asarray(cycles <= _SLOWEST * cycles[possible].min(), dtype=np.bool_)

    def _lean(self, loops: Loops, possible: Bools) -> Bools:
        """Whether a tiling has not far more reduction steps than the one with the fewest."""
        steps = loops.tiles * loops.steps
        if not possible.any():
            return np.ones(len(steps), dtype=bool)
        return np.asarray(steps <= _MOST_STEPS * steps[possible].min(), dtype=np.bool_)

    def _count_rejected(
        self, legal: Bools, fast: Bools, lean: Bools, fits: tuple[Bools, Bools, Ints], queued: Ints, distinct: Ints
    ) -> None:
        choices, accs = _SLOT_CHOICES, len(ACC_SLOTS)
        inp_count, wgt_count, acc_count = fits[0].sum(axis=1), fits[1].sum(axis=1), fits[2]
        counts = {
            "padding or row stride": np.where(legal, 0, choices * choices * accs),
            "input buffer": legal * (choices - inp_count) * choices * accs,
            "weight buffer": legal * inp_count * (choices - wgt_count) * accs,
            "accumulator buffer": legal * inp_count * wgt_count * (accs - acc_count),
            "token queue": legal * (inp_count * wgt_count - queued) * acc_count,
            "same as another point": legal * (queued - distinct) * acc_count,
            f"must take over {_SLOWEST:g} times as long as the best can": legal * ~fast * distinct * acc_count,
            f"over {_MOST_STEPS} times the reduction steps of the fewest": legal * fast * ~lean * distinct * acc_count,
        }
        for reason, count in counts.items():
            if total := int(count.sum()) * self._skips:
                self.rejected[reason] = self.rejected.get(reason, 0) + total


def _has_padding(operator: GemmOperator) -> bool:
    return any(largest_pad(operator, term, axis) > 0 for term in operator.terms for axis in (0, 1))


def _rows(operator: GemmOperator, tiles: Tiles, hw: HardwareConfig) -> _Rows:
    """`vta.schedule.schedule.resources` for many tiles at once."""
    co, h, w, ci, kh, kw = tiles.co, tiles.h, tiles.w, tiles.ci, tiles.kh, tiles.kw
    inp, wgt, fixed = np.ones_like(co), np.ones_like(co), np.zeros_like(co)
    for term in operator.terms:
        rows, columns = np.minimum(term.kernel[0], kh), np.minimum(term.kernel[1], kw)
        window = max_rows(term, 0, h, rows) * max_rows(term, 1, w, columns)
        if term.diagonal and term.pointwise:
            fixed = fixed + np.minimum(len(term.weights), co)
            inp = np.maximum(inp, window)
            continue
        blocks = np.minimum(term.source.blocks, np.minimum(ci, co) if term.diagonal else ci)
        inp = np.maximum(inp, blocks * window)
        per_kernel = 1 if term.window else rows * columns
        shared = np.ones_like(co) if len(term.weights) == 1 else blocks
        wgt = np.maximum(wgt, (shared if term.diagonal else co * blocks) * per_kernel)
    tile = co * h * w
    count = len(operator.vectors)
    whole = count * operator.output.blocks <= hw.depth(MemoryType.ACC) // 4
    vectors = np.full_like(co, count * operator.output.blocks) if whole else count * co
    return _Rows(inp, wgt, fixed, tile * (1 + operator.scratch_tiles), vectors)


def _legal(operator: GemmOperator, tiles: Tiles) -> Bools:
    """Whether no window needs more padding than a load can give, and rows are no further apart than it can step."""
    legal = np.ones(len(tiles.h), dtype=bool)
    tensors = [operator.stored, *(term.source for term in operator.terms)]
    if any(broken_stride(tensor) for tensor in tensors):
        return ~legal
    for term in operator.terms:
        for axis, (tile, kernel) in enumerate(((tiles.h, tiles.kh), (tiles.w, tiles.kw))):
            if largest_pad(operator, term, axis) > MAX_PAD:
                legal &= max_rows(term, axis, tile, np.minimum(term.kernel[axis], kernel)) <= MAX_PAD + 1
    return legal


def _slot_values(fit: Ints, want: Ints) -> Ints:
    """The choices of a slot knob, shape (n, 5)."""
    fixed = [np.full_like(fit, count) for count in (1, 2, 4)]
    return np.stack([*fixed, want, np.minimum(fit, np.maximum(2, 2 * want))], axis=1)


def _first_of_kind(values: Ints) -> Bools:
    """Which entries of each row differ from all before them in it."""
    first = np.ones(values.shape, dtype=bool)
    for column in range(1, values.shape[1]):
        first[:, column] = (values[:, :column] != values[:, column : column + 1]).all(axis=1)
    return first


def _packed_choices(valid: Bools) -> NDArray[np.int8]:
    """The positions of the true entries of each row, first those, then -1."""
    order = np.argsort(~valid, axis=1, kind="stable")
    counts = valid.sum(axis=1, keepdims=True)
    return np.where(np.arange(valid.shape[1]) < counts, order, -1).astype(np.int8)


def _bounded(sizes: list[int], limit: int) -> list[int]:
    return [size for size in sizes if size <= limit]
