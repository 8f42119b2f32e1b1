"""What comparing two runs found."""

from __future__ import annotations

from typing import Any

from vta.difference.cause import Cause
from vta.support.dataclass import dataclass
from vta.support.table import Table, html_lines, make_table

__all__ = ["Difference", "FirstDifference"]


@dataclass(frozen=True)
class FirstDifference:
    """The first value that differs."""

    layer: str
    tensor: str
    """What computes it on the left, and its type."""
    index: tuple[int, ...]
    """The first element that differs, in the layout of the graph."""
    left: int | float | bool
    right: int | float | bool
    differing: int
    total: int
    made_by: Cause | None
    """None if it could not be found out."""
    why_not: str = ""
    """Why not, where that is known."""

    @property
    def cause_text(self) -> str:
        """What made it, or why that is not known."""
        return str(self.made_by or f"not known{self.why_not and ': '}{self.why_not}")


@dataclass(frozen=True, repr=False)
class Difference:
    """Whether two runs are the same, and where they first differ."""

    left: str
    right: str
    compared: int
    """Values that both have."""
    first: FirstDifference | None = None

    @property
    def equal(self) -> bool:
        """Whether all that was compared is the same, to the bit."""
        return self.first is None

    def table(self) -> Table:
        """The first difference, line by line."""
        first = self.first
        if first is None:
            return make_table(("compared", "differ"), [(self.compared, 0)])
        rows = [
            ("layer", first.layer),
            ("tensor", first.tensor),
            ("element", str(list(first.index))),
            (self.left, str(first.left)),
            (self.right, str(first.right)),
            ("differ", f"{first.differing:,} of {first.total:,} elements"),
            ("made by", first.cause_text),
        ]
        return make_table(("first difference", ""), rows)

    def to_json(self) -> dict[str, Any]:
        """The same under names for scripts."""
        first = self.first
        return {
            "equal": self.equal,
            "left": self.left,
            "right": self.right,
            "compared": self.compared,
            "first": None
            if first is None
            else {
                "layer": first.layer,
                "tensor": first.tensor,
                "index": list(first.index),
                "left": first.left,
                "right": first.right,
                "differing": first.differing,
                "total": first.total,
                "made_by": None if first.made_by is None else first.made_by.to_json(),
                "why_not": first.why_not,
            },
        }

    def __repr__(self) -> str:
        if self.first is None:
            return f"Difference: none; {self.compared} values of {self.left} and {self.right} are the same"
        first = self.first
        return f"Difference: first in {first.layer!r} ({first.tensor}) at {list(first.index)}; made by: {first.cause_text}"

    def _repr_html_(self) -> str:
        return html_lines(repr(self), self.table())
