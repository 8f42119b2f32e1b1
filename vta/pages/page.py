"""A page: what stands in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from vta.pages.figure import Figure
from vta.support.dataclass import dataclass

__all__ = ["ABOUT_ADVICE", "Fact", "GraphPart", "Note", "Page", "Part", "Section", "TablePart"]


@dataclass(frozen=True)
class Fact:
    """A number of the page's head."""

    name: str
    value: str
    about: str = ""


@dataclass(frozen=True)
class GraphPart:
    """The graph of a network."""

    drawing: str
    details: tuple[Mapping[str, str], ...]
    """For each box what is shown when it is chosen, by name; a value may be empty."""
    layers: tuple[str, ...]
    """For each box the layer that other figures know it by; "" if none does."""
    about: str


@dataclass(frozen=True)
class TablePart:
    """A table that can be sorted and searched."""

    name: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    """Texts, whole numbers and numbers; numbers stand to the right."""
    keys: tuple[object, ...] = ()
    """For each row what brushes choose it by; () if they do not."""
    about: str = ""


@dataclass(frozen=True)
class Note:
    """A list of sentences."""

    title: str
    lines: tuple[str, ...]
    about: str = ""


ABOUT_ADVICE = "Shares are of all cycles: those of the accelerator, and what the host takes in cycles of the accelerator's clock."
Part = Figure | GraphPart | TablePart | Note


@dataclass(frozen=True)
class Section:
    """Parts under a heading."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    title: str
    kind: str
    """What it is of, in a word or two."""
    about: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    made_by: str = field(default="")
    """What made it, for the foot."""

    @property
    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [part for section in self.sections for part in section.parts if isinstance(part, Figure)]

    @property
    def graphs(self) -> list[GraphPart]:
        """All graphs, in order."""
        return [part for section in self.sections for part in section.parts if isinstance(part, GraphPart)]
