"""Which points of a sweep are tuned first, and whose schedules the others begin with.

A point's tuning begins with the best schedules of points like it: the same network on configs of the same geometry, whose
buffers or bus differ least. Which these are follows from the sweep alone, whatever runs where and is stopped when: of points that
are alike, one in a few leads, and the others follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from math import log2
from pathlib import Path

from vta.compiler.shared import geometry_of
from vta.records.log import Record, pick_best, read_log, to_line
from vta.sweep.points import Point

__all__ = ["best_lines", "led_by"]

_LED = 6
"""Points for one that leads."""


def led_by(points: Sequence[Point], count: int) -> dict[int, tuple[int, ...]]:
    """By number of each point that follows: the numbers of up to `count` points that lead it, the nearest first."""
    if not count:
        return {}
    alike: dict[Hashable, list[Point]] = {}
    for point in points:
        alike.setdefault((point.workload, geometry_of(point.design.hw)), []).append(point)
    found: dict[int, tuple[int, ...]] = {}
    for group in alike.values():
        leaders = group[::_LED]
        numbers = {leader.number for leader in leaders}
        for point in group:
            if point.number not in numbers:
                found[point.number] = _nearest(point, leaders)[:count]
    return found


def _nearest(point: Point, leaders: Sequence[Point]) -> tuple[int, ...]:
    return tuple(number for _, number in sorted((_distance(point, leader), leader.number) for leader in leaders))


def best_lines(logs: Sequence[Path]) -> tuple[str, ...]:
    """The best record of each workload in each log, as lines, without those that are in one before."""
    lines: dict[object, str] = {}
    for log in logs:
        records = [line.record for line in read_log(log) if line.record is not None]
        for record in pick_best(records):
            lines.setdefault(_what(record), to_line(record))
    return tuple(lines.values())


def _what(record: Record) -> object:
    return record.workload, record.entity


def _distance(one: Point, other: Point) -> float:
    """How many times buffers, bus and latency are doubled or halved from one to the other, in all."""
    a, b = one.design, other.design
    names = [field.name for field in fields(a.hw) if field.name.endswith("_buff_size")]
    sizes = float(sum(abs(getattr(a.hw, name) - getattr(b.hw, name)) for name in names))
    return sizes + _doublings(a.timing.bus_bits, b.timing.bus_bits) + _doublings(a.timing.read_latency, b.timing.read_latency)


def _doublings(one: int, other: int) -> float:
    return abs(log2(max(1, one)) - log2(max(1, other)))
