"""The table of a sweep: a CSV file that gets one line a point, and that a kill at any time leaves fit to go on from."""

from __future__ import annotations

import csv
import io
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from vta.errors import SweepError
from vta.files.atomic_file import write_whole, writing
from vta.files.text_lines import TextLine, text_lines
from vta.support.dataclass import dataclass
from vta.support.shorten import printable, shown
from vta.sweep.points import Point

__all__ = ["COLUMNS", "Row", "Status", "Table", "row_of"]

_LOG = logging.getLogger(__name__)
_LONGEST_LINE = 1 << 16
"""Bytes. Reasons of failures are the longest part of a row."""
_LONGEST_REASON = 1000
_COUNT = re.compile(r"[0-9]{1,18}", re.ASCII)


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
    """Of arithmetic, memories and DRAM, by the figures of the sweep's technology."""
    area_um2: int
    """Of arithmetic and memories, by the same figures; the same for all points of a design."""
    arithmetic_pj: int
    """Of the matrix unit and the ALU, and below of the memories on the chip and of DRAM: the parts of `energy_pj`."""
    sram_pj: int
    dram_pj: int
    trials: int
    reason: str = ""
    """Of a failure."""


COLUMNS = tuple(field.name for field in fields(Row))
_ENERGY_PARTS = (("mac", "alu"), ("uop", "inp", "wgt", "acc", "out"), ("dram",))
"""What `energy_of` tells apart, as arithmetic, memories on the chip, and DRAM."""
_TEXTS = ("config", "workload", "reason")


def row_of(
    point: Point,
    status: Status,
    cycles: int = 0,
    roofline: int = 0,
    macs: int = 0,
    energy: Mapping[str, float] | None = None,
    trials: int = 0,
    reason: str = "",
) -> Row:
    """The row of a point that ended with `status`; `energy` as `energy_of` gives it."""
    design = point.design
    arithmetic, sram, dram = (round(sum((energy or {}).get(name, 0.0) for name in part)) for part in _ENERGY_PARTS)
    timing = design.timing
    return Row(
        point.number, design.hw.model, timing.bus_bits, timing.read_latency, point.workload, status,
        cycles, roofline, macs, design.onchip_bytes, design.peak_macs,
        arithmetic + sram + dram, design.area_um2, arithmetic, sram, dram, trials,
        printable(reason, _LONGEST_REASON),
    )  # fmt: skip


class Table:
    """The file `path`: a line of column names, then rows in the order in which they are done, in the end sorted by point."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Row]:
        """The whole rows; a line that was cut off is left out, one that is no row is said and left out.

        Raises `SweepError` if the file is no such table.
        """
        return [row for _, row in self._numbered()]

    def results(self, points: Sequence[Point]) -> dict[int, Row]:
        """By point: the rows that are results of `points`. What is no result of its point is said: it is to be run again."""
        found: dict[int, Row] = {}
        doubted: set[int] = set()
        for number, row in self._numbered():
            problem = "" if row.status is not Status.OK else _problem(row, points)
            if not problem and found.get(row.point, row) != row and row.status is Status.OK:
                problem = f"point {row.point} has another result, too"
                doubted.add(row.point)
            if problem:
                self._say(number, problem)
            elif row.status is Status.OK:
                found[row.point] = row
        return {point: row for point, row in found.items() if point not in doubted}

    def _numbered(self) -> Iterator[tuple[int, Row]]:
        if not self.path.exists():
            return
        for line in text_lines(self.path, _LONGEST_LINE, SweepError):
            whole = line.text.endswith("\n") or line.problem
            if line.number == 1 and whole:
                self._check_head(line.text)
            elif whole:
                try:
                    yield line.number, _row(_cells(line))
                except SweepError as error:
                    self._say(line.number, str(error))

    def _check_head(self, text: str) -> None:
        if text.rstrip("\r\n") != ",".join(COLUMNS):
            raise SweepError(f"{self.path}: line 1 is {shown(text.rstrip())}; a sweep's table begins with {','.join(COLUMNS)}")

    def _say(self, number: int, problem: str) -> None:
        _LOG.warning("%s:%d: skipped: %s", self.path, number, problem)

    def append(self, row: Row) -> None:
        """Add a row in one write. Raises `WriteError` if it does not fit the disk."""
        data = _text([_values(row)]).encode()
        with writing(self.path, "the table of the sweep"):
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                # A disk that is nearly full takes a part, and says why with the rest.
                while data:
                    data = data[os.write(handle, data) :]
            finally:
                os.close(handle)

    def replace(self, rows: Iterable[Row]) -> None:
        """Make `rows`, sorted by point, the whole table, all at once."""
        lines = [list(COLUMNS), *(_values(row) for row in sorted(rows, key=lambda row: row.point))]
        write_whole(self.path, _text(lines), "the table of the sweep")


def _values(row: Row) -> list[str]:
    return [row.status.value if name == "status" else str(getattr(row, name)) for name in COLUMNS]


def _text(lines: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def _cells(line: TextLine) -> list[str]:
    if line.problem:
        raise SweepError(line.problem)
    try:
        return next(csv.reader([line.text], strict=True), [])
    except csv.Error as error:
        raise SweepError(f"not a line of a table: {error}") from None


def _row(cells: list[str]) -> Row:
    if len(cells) != len(COLUMNS):
        raise SweepError(f"{len(cells)} values in {shown(','.join(cells))}, expected {len(COLUMNS)}")
    values: dict[str, Any] = dict(zip(COLUMNS, cells, strict=True))
    for name in COLUMNS:
        if name not in (*_TEXTS, "status"):
            values[name] = _count(name, values[name])
        elif not values[name].isprintable():
            raise SweepError(f"{name} = {shown(values[name])}; allowed: printable texts")
    try:
        return Row(**{**values, "status": Status(values["status"])})
    except ValueError:
        allowed = ", ".join(status.value for status in Status)
        raise SweepError(f"status = {shown(values['status'])}; allowed: {allowed}") from None


def _count(name: str, text: str) -> int:
    if not _COUNT.fullmatch(text):
        raise SweepError(f"{name} = {shown(text)}; allowed: integers, 0 or more")
    return int(text)


def _problem(row: Row, points: Sequence[Point]) -> str:
    """Why a row is no result of its point; empty if it is."""
    if row.point >= len(points):
        return f"point {row.point}: the sweep has {len(points)} points"
    try:
        expected = row_of(points[row.point], Status.OK)
    except SweepError as error:
        return str(error)
    for name in ("config", "bus_bits", "read_latency", "workload", "onchip_bytes", "peak_macs", "area_um2"):
        if getattr(row, name) != getattr(expected, name):
            there, here = shown(getattr(row, name)), shown(getattr(expected, name))
            return f"point {row.point}: {name} = {there}; of this point it is {here}"
    if not row.cycles or row.roofline_cycles > row.cycles:
        return f"point {row.point}: {row.cycles:,} cycles, with a bound of {row.roofline_cycles:,}, cannot be"
    return ""
