"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["format_table"]


def format_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with aligned columns: numbers to the right, with thousands separators, the rest to the left.

    Floats are printed as `str` gives them; round them first.
    """
    values = [list(row) for row in rows]
    cells = [list(headers), *([_text(value) for value in row] for row in values)]
    columns = range(len(headers))
    widths = [max(len(line[column]) for line in cells) for column in columns]
    right = [any(isinstance(row[column], (int, float)) for row in values) for column in columns]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(_line(line, widths, right) for line in cells)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(padded).rstrip()


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
