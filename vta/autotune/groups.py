"""Finds the points of a config space that can run, tile by tile: there every valid number of slots goes with every other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.schedule.columns import Bools, Ints, TileSizes
from vta.schedule.cost import least_work
from vta.schedule.loops import Loops, loops_of
from vta.schedule.resources import MAX_SLOTS, Buffers, Limit, resources, transfers_fit
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator

__all__ = ["ACC_SLOTS", "ORDERS", "SLOT_CHOICES", "Groups", "find_groups"]

ACC_SLOTS = (1, 2, 4)
"""Output tiles in flight: the product of the knobs ``oc_nthread`` and ``h_nthread`` of the published records."""
SLOT_CHOICES = 5
"""Of input and weight slots: 1, 2, 4, all that can be used again, and room to prefetch as much again."""
ORDERS = (True, False)
"""Whether weights are the outer loop."""

_SLOWEST = 1.25
"""Tilings whose least work is more than this many times that of the best are left out: instructions and loads drown them."""
_MOST_STEPS = 256
"""Tilings with more than this many times the reduction steps of the fewest possible are left out, too."""


@dataclass(frozen=True)
class Groups:
    """Valid points by tile sizes and order: a group's points are all combinations of its choices of slots."""

    tile: Ints
    """Row of the tile sizes."""
    order: Ints
    """Index of `ORDERS`."""
    inp_values: Ints
    """What the choices of input slots stand for, shape (n, 5)."""
    wgt_values: Ints
    inp_choice: NDArray[np.int8]
    """Which choices are valid, first those, then -1; shape (n, 5)."""
    wgt_choice: NDArray[np.int8]
    acc_count: Ints
    """How many of `ACC_SLOTS` are valid."""
    rejected: dict[str, int]
    """Points that are none, by the limit that they break; those that break several count once."""

    @property
    def wgt_count(self) -> Ints:
        """Valid choices of weight slots."""
        return np.asarray((self.wgt_choice >= 0).sum(axis=1), dtype=np.int64)

    @property
    def sizes(self) -> Ints:
        """Points of each group."""
        return np.asarray((self.inp_choice >= 0).sum(axis=1) * self.wgt_count * self.acc_count, dtype=np.int64)


def find_groups(variants: Sequence[GemmOperator], hw: HardwareConfig, sizes: TileSizes) -> Groups:
    """The valid points among tile `sizes`: those that fit for all `variants`, whose first one says what is fast.

    Each counts once, whether it leaves out products with padding or not.
    """
    fits, legal = _room(variants, hw, sizes)
    loops = loops_of(variants[0], sizes, blocks_apart=False)
    found = [_groups_of(order, fits, legal, _Work(variants[0], hw, loops)) for order in range(len(ORDERS))]
    joined = [np.concatenate(parts) for parts in zip(*(columns for columns, _ in found), strict=True)]
    by_tile = np.lexsort((joined[1], joined[0]))
    tile, order, inp, wgt, inp_ok, wgt_ok, acc_count = (part[by_tile] for part in joined)
    rejected: dict[str, int] = {}
    for reason, count in (item for _, counts in found for item in counts.items() if item[1]):
        rejected[reason] = rejected.get(reason, 0) + count
    return Groups(tile, order, inp, wgt, _packed_choices(inp_ok), _packed_choices(wgt_ok), acc_count, rejected)


@dataclass(frozen=True)
class _Room:
    """How many windows of input, steps of weights and output tiles fit, for all variants."""

    inp: Ints
    wgt: Ints
    acc: Ints


def _room(variants: Sequence[GemmOperator], hw: HardwareConfig, sizes: TileSizes) -> tuple[_Room, Bools]:
    """What fits, and whether all pads and strides do."""
    buffers = Buffers.of(hw)
    slots = [resources(operator, sizes, buffers).slots(buffers) for operator in variants]
    legal = np.logical_and.reduce([transfers_fit(operator, sizes) for operator in variants])
    return _Room(*(np.minimum.reduce(kind) for kind in zip(*slots, strict=True))), legal


@dataclass(frozen=True)
class _Work:
    """What tilings of an operator take."""

    operator: GemmOperator
    hw: HardwareConfig
    loops: Loops

    def fast(self, inp_kept: Bools, wgt_kept: Bools, possible: Bools) -> Bools:
        """Whether the least work of a tiling is near that of the best possible one."""
        cycles = least_work(self.operator, self.loops, inp_kept, wgt_kept, self.hw).cycles
        if not possible.any():
            return np.ones(len(cycles), dtype=bool)
        return np.asarray(cycles <= _SLOWEST * cycles[possible].min(), dtype=np.bool_)

    def lean(self, possible: Bools) -> Bools:
        """Whether a tiling has not far more reduction steps than the one with the fewest."""
        steps = self.loops.tiles * self.loops.steps
        if not possible.any():
            return np.ones(len(steps), dtype=bool)
        return np.asarray(steps <= _MOST_STEPS * steps[possible].min(), dtype=np.bool_)


_Columns = tuple[Ints, Ints, Ints, Ints, Bools, Bools, Ints]


def _groups_of(order: int, room: _Room, legal: Bools, work: _Work) -> tuple[_Columns, dict[str, int]]:
    """The groups of one order, unsorted, and what was left out."""
    wants = work.loops.reuse(np.asarray(ORDERS[order]))
    inp, wgt = _slot_values(room.inp, wants[0]), _slot_values(room.wgt, wants[1])
    acc_count = (np.array(ACC_SLOTS)[None, :] <= room.acc[:, None]).sum(axis=1)
    inp_fits, wgt_fits = (inp <= room.inp[:, None]) & (inp > 0), (wgt <= room.wgt[:, None]) & (wgt > 0)
    tokens = (inp <= MAX_SLOTS) & inp_fits, (wgt <= MAX_SLOTS) & wgt_fits
    inp_new, wgt_new = tokens[0] & _first_of_kind(inp), tokens[1] & _first_of_kind(wgt)
    possible = legal & (room.inp > 0) & (room.wgt > 0) & (room.acc > 0)
    fast = work.fast(room.inp >= wants[0], room.wgt >= wants[1], possible)
    lean = work.lean(possible & fast)
    queued = tokens[0].sum(axis=1) * tokens[1].sum(axis=1)
    distinct = inp_new.sum(axis=1) * wgt_new.sum(axis=1)
    kept = np.flatnonzero(legal & fast & lean & inp_new.any(axis=1) & wgt_new.any(axis=1) & (acc_count > 0))
    columns = (kept, np.full(len(kept), order), inp[kept], wgt[kept], inp_new[kept], wgt_new[kept], acc_count[kept])
    counts = inp_fits.sum(axis=1), wgt_fits.sum(axis=1), acc_count
    return columns, _rejected(legal, fast, lean, counts, queued, distinct)


def _rejected(
    legal: Bools, fast: Bools, lean: Bools, counts: tuple[Ints, Ints, Ints], queued: Ints, distinct: Ints
) -> dict[str, int]:
    """Points that were left out, by reason; what breaks several limits counts for the first of them."""
    choices, accs = SLOT_CHOICES, len(ACC_SLOTS)
    inp_count, wgt_count, acc_count = counts
    left_out = {
        f"{Limit.PADDING.value} or {Limit.ROW_STRIDE.value}": np.where(legal, 0, choices * choices * accs),
        Limit.INPUT_BUFFER.value: legal * (choices - inp_count) * choices * accs,
        Limit.WEIGHT_BUFFER.value: legal * inp_count * (choices - wgt_count) * accs,
        Limit.ACCUMULATOR_BUFFER.value: legal * inp_count * wgt_count * (accs - acc_count),
        Limit.TOKEN_QUEUE.value: legal * (inp_count * wgt_count - queued) * acc_count,
        "same as another point": legal * (queued - distinct) * acc_count,
        f"must take over {_SLOWEST:g} times as long as the best can": legal * ~fast * distinct * acc_count,
        f"over {_MOST_STEPS} times the reduction steps of the fewest": legal * fast * ~lean * distinct * acc_count,
    }
    return {reason: int(count.sum()) for reason, count in left_out.items()}


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
