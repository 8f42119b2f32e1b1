"""Tables of texts: plain, and as HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from vta.support.dataclass import dataclass

__all__ = ["Rows", "Table", "html_lines", "make_table"]

T = TypeVar("T")

_MOST_ROWS = 60
"""Of a table in a notebook or at a prompt."""
_MOST_CHARACTERS = 160
"""Of a cell there."""


@dataclass(frozen=True)
class Table:
    """The texts of a table."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    """Which columns are of numbers, and stand to the right."""
    title: str = ""
    compact: bool = False
    """Written without lines between its columns."""
    spare: tuple[str, ...] = ()
    """Headers of columns that a terminal which is too narrow for all does without, the first one first."""

    def without(self, header: str) -> Table:
        """The same without a column, if there is one of that header."""
        kept = [column for column, known in enumerate(self.headers) if known != header]
        rows = tuple(tuple(row[column] for column in kept) for row in self.rows)
        headers, numeric = tuple(self.headers[column] for column in kept), tuple(self.numeric[column] for column in kept)
        return Table(headers, rows, numeric, self.title, self.compact)

    def __str__(self) -> str:
        """All rows, in columns."""
        return "\n".join(_plain_lines(self))

    def shortened(self) -> Table:
        """The same with its first rows and short cells, and a row that says how many more there are."""
        rows = tuple(tuple(_cut(text) for text in row) for row in self.rows[:_MOST_ROWS])
        left = len(self.rows) - len(rows)
        more = ((f"... and {left:,} more", *[""] * (len(self.headers) - 1)),) if left else ()
        return Table(self.headers, (*rows, *more), self.numeric, self.title)

    def _repr_html_(self) -> str:
        """A table of bounded size, in which no text is markup."""
        table = self.shortened()
        head = "".join(f"<th>{html.escape(header)}</th>" for header in table.headers)
        body = "".join(f"<tr>{_html_row(row, table.numeric)}</tr>" for row in table.rows)
        caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def make_table(headers: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", spare: tuple[str, ...] = ()) -> Table:
    """Return a table whose columns of numbers are to the right, with thousands separators.

    Floats are shown as `str` gives them; round them first. `spare` is that of the table.
    """
    values = [list(row) for row in rows]
    numeric = tuple(any(isinstance(row[column], (int, float)) for row in values) for column in range(len(headers)))
    texts = tuple(tuple(f"{value:,}" if isinstance(value, int) else str(value) for value in row) for row in values)
    return Table(tuple(headers), texts, numeric, title, spare=spare)


class Rows(tuple[T, ...]):
    """Data classes of one kind in order, which show as a table of their fields."""

    __slots__ = ()

    def table(self) -> Table:
        """All of them, a column for each field."""
        if not self:
            return Table((), (), ())
        names = [field.name for field in fields(self[0])]  # type: ignore[arg-type]
        return make_table(
            [name.replace("_", " ") for name in names], ([_cell(getattr(row, name)) for name in names] for row in self)
        )

    def __repr__(self) -> str:
        return str(self.table().shortened()) if self else "none"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_() if self else "none"


def html_lines(*parts: str | Table | Rows[Any]) -> str:
    """Lines of text and tables, one below the other, as HTML."""
    return "".join(f"<div>{html.escape(part) if isinstance(part, str) else part._repr_html_()}</div>" for part in parts)


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def _html_row(row: Sequence[str], numeric: Sequence[bool]) -> str:
    sides = ("right" if right else "left" for right in numeric)
    return "".join(f'<td style="text-align: {side}">{html.escape(text)}</td>' for text, side in zip(row, sides, strict=True))


def _plain_lines(table: Table) -> Iterator[str]:
    if table.title:
        yield table.title
    widths = [max(map(len, column)) for column in zip(table.headers, *table.rows, strict=True)]
    for row in (table.headers, tuple("-" * width for width in widths), *table.rows):
        aligned = zip(row, widths, table.numeric, strict=True)
        yield "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in aligned).rstrip()
