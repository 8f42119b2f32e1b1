"""The table of a sweep: a CSV file that gets one line a point, and that a kill at any time leaves fit to go on from."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

from vta.errors import SweepError
from vta.sweep.points import Point
from vta.whole_file import write_whole

__all__ = ["COLUMNS", "Row", "Status", "Table", "row_of"]


class Status(Enum):
    """How a point ended."""

    OK = "ok"
    FAILED = "failed"
    """It cannot be compiled or run."""
    CRASHED = "crashed"
    """Its process died."""
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class Row:
    """One point's result. Counts are 0 where it has none."""

    point: int
    config: str
    bus_bits: int
    read_latency: int
    workload: str
    status: Status
    cycles: int
    roofline_cycles: int
    """Sum of the bounds of the operators."""
    macs: int
    """Multiply-accumulates of the layer or network on the accelerator, without padding to blocks."""
    onchip_bytes: int
    peak_macs: int
    """Multiply-accumulates that the matrix unit can do in a cycle."""
    energy_pj: int
    """Of arithmetic, memories and DRAM, by the figures of a 45 nm process."""
    area_um2: int
    """Of arithmetic and memories, by the same figures; the same for all points of a design."""
    trials: int
    reason: str = ""
    """Of a failure."""


COLUMNS = tuple(field.name for field in fields(Row))
_TEXTS = ("config", "workload", "reason")


def row_of(
    point: Point,
    status: Status,
    cycles: int = 0,
    roofline: int = 0,
    macs: int = 0,
    energy: float = 0,
    trials: int = 0,
    reason: str = "",
) -> Row:
    """The row of a point that ended with `status`."""
    design = point.design
    timing = design.timing
    return Row(
        point.number, design.hw.model, timing.bus_bits, timing.read_latency, point.workload, status,
        cycles, roofline, macs, design.onchip_bytes, design.peak_macs, round(energy), design.area_um2, trials,
        " ".join(reason.split()),
    )  # fmt: skip


class Table:
    """The file `path`: a line of column names, then rows in the order in which they are done, in the end sorted by point."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Row]:
        """The whole rows; a line that was cut off is left out. Raises `SweepError` if the file is no such table."""
        if not self.path.exists():
            return []
        whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0]
        lines = list(csv.reader(io.StringIO(whole)))
        if lines and tuple(lines[0]) != COLUMNS:
            raise SweepError(f"{self.path}: line 1 is {','.join(lines[0])!r}; a sweep's table begins with {','.join(COLUMNS)}")
        try:
            return [_row(line) for line in lines[1:]]
        except (ValueError, KeyError) as error:
            raise SweepError(f"{self.path}: not a row of a sweep's table: {error}") from None

    def append(self, row: Row) -> None:
        """Add a row in one write."""
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(handle, _text([_values(row)]).encode())
        finally:
            os.close(handle)

    def replace(self, rows: Iterable[Row]) -> None:
        """Make `rows`, sorted by point, the whole table, all at once."""
        lines = [list(COLUMNS), *(_values(row) for row in sorted(rows, key=lambda row: row.point))]
        write_whole(self.path, _text(lines))


def _values(row: Row) -> list[str]:
    return [row.status.value if name == "status" else str(getattr(row, name)) for name in COLUMNS]


def _text(lines: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def _row(line: list[str]) -> Row:
    if len(line) != len(COLUMNS):
        raise ValueError(f"{len(line)} values in {','.join(line)!r}, expected {len(COLUMNS)}")
    values: dict[str, Any] = dict(zip(COLUMNS, line, strict=True))
    counts = {name: int(values[name]) for name in COLUMNS if name not in (*_TEXTS, "status")}
    return Row(**{**values, **counts, "status": Status(values["status"])})
