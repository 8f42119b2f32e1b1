"""Tables on terminals and in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from vta.support.table import Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["rich_table", "write_table"]

_WIDE = 1000
"""Columns that no table reaches."""


def write_table(table: Table, stream: TextIO) -> None:
    """Write a table: as wide as the terminal, or as wide as it needs to be where `stream` is a file or pipe.

    Where a terminal has no room for columns that can be spared, a line says which.
    """
    if not stream.isatty() and _is_plain(table):
        stream.write("".join(f"{line}\n" for line in _plain_lines(table)))
        return
    from rich.console import Console

    width = None if stream.isatty() else _WIDE
    # Names and reasons are shown as they are: brackets and colons in them mean nothing.
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
    fitting = _fitting(table, console.width)
    console.print(_drawn(fitting))
    if hidden := [" ".join(header.split()) for header in table.headers if header not in fitting.headers]:
        console.print(f"no room for the columns {', '.join(hidden)}: a wider terminal shows them, and so does a pipe")


def rich_table(table: Table, width: int) -> RichTable:
    """The table as Rich draws it, without columns that it can do without where a terminal has not so many characters."""
    return _drawn(_fitting(table, width))


def _fitting(table: Table, width: int) -> Table:
    for header in table.spare:
        if _width(table) > width:
            table = table.without(header)
    return table


def _drawn(table: Table) -> RichTable:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    drawn = RichTable(title=table.title or None)
    if table.compact:
        drawn.box, drawn.padding, drawn.pad_edge = SIMPLE_HEAD, (0, 1, 0, 0), False
    for header, numeric in zip(table.headers, table.numeric, strict=True):
        drawn.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


def _widths(table: Table) -> list[int]:
    return [
        max(len(line) for text in column for line in text.split("\n")) for column in zip(table.headers, *table.rows, strict=True)
    ]


def _width(table: Table) -> int:
    """Characters of a line, with the lines between columns."""
    between, around = (2, 2) if table.compact else (3, 1)
    return sum(_widths(table)) + between * len(table.headers) + around


def _is_plain(table: Table) -> bool:
    """Whether nothing has to be folded or measured, for which Rich takes longer to import than some networks to compile."""
    width = _width(table)
    texts = (table.title, *table.headers, *(text for row in table.rows for text in row))
    # Rich takes off spaces at the end before it aligns.
    simple = all(text.isascii() and text.isprintable() and text == text.rstrip() for text in texts)
    return simple and not table.compact and len(table.title) <= width <= _WIDE


def _plain_lines(table: Table) -> Iterator[str]:
    """The lines that Rich writes."""
    widths = _widths(table)
    if table.title:
        room = _width(table)
        yield table.title.rjust((room + len(table.title)) // 2).ljust(room)
    yield _rule("┏━┳┓", widths)
    yield _row("┃", table.headers, widths, table.numeric)
    yield _rule("┡━╇┩", widths)
    for row in table.rows:
        yield _row("│", row, widths, table.numeric)
    yield _rule("└─┴┘", widths)


def _rule(pieces: str, widths: Sequence[int]) -> str:
    left, line, middle, right = tuple(pieces)
    return left + middle.join(line * (width + 2) for width in widths) + right


def _row(bar: str, texts: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = zip(texts, widths, numeric, strict=True)
    cells = (text.rjust(width) if right else text.ljust(width) for text, width, right in aligned)
    return f"{bar} {f' {bar} '.join(cells)} {bar}"
