"""Tables of named columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

__all__ = ["compact", "make_table", "write_table"]

_WIDE = 1000
"""Columns that no table reaches."""


def make_table(headers: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> Table:
    """Return a table whose columns of numbers are to the right, with thousands separators.

    Floats are shown as `str` gives them; round them first.
    """
    values = [list(row) for row in rows]
    table = Table(title=title or None)
    for column, header in enumerate(headers):
        numeric = any(isinstance(row[column], (int, float)) for row in values)
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in values:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row))
    return table


def compact(table: Table) -> Table:
    """The same table without lines between its columns, for tables of many."""
    table.box = SIMPLE_HEAD
    table.padding = (0, 1, 0, 0)
    table.pad_edge = False
    return table


def write_table(table: Table, stream: TextIO) -> None:
    """Write a table: as wide as the terminal, or as wide as it needs to be where `stream` is a file or pipe."""
    width = None if stream.isatty() else _WIDE
    # Names and reasons are shown as they are: brackets and colons in them mean nothing.
    Console(file=stream, width=width, highlight=False, markup=False, emoji=False).print(table)
