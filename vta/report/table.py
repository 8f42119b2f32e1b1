"""Tables on terminals and in files."""

from __future__ import annotations

from typing import TextIO

import rich.table
from rich.box import SIMPLE_HEAD
from rich.console import Console

from vta.support.table import Table

__all__ = ["write_table"]

_WIDE = 1000
"""Columns that no table reaches."""


def write_table(table: Table, stream: TextIO) -> None:
    """Write a table: as wide as the terminal, or as wide as it needs to be where `stream` is a file or pipe."""
    width = None if stream.isatty() else _WIDE
    # Names and reasons are shown as they are: brackets and colons in them mean nothing.
    Console(file=stream, width=width, highlight=False, markup=False, emoji=False).print(_drawn(table))


def _drawn(table: Table) -> rich.table.Table:
    drawn = rich.table.Table(title=table.title or None)
    if table.compact:
        drawn.box, drawn.padding, drawn.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    for header, numeric in zip(table.headers, table.numeric, strict=True):
        drawn.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn
