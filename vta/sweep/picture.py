"""A sweep as a picture: cycles against area and against energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vta.files.atomic_file import whole_file
from vta.support.shorten import printable
from vta.sweep.ranking import Entry
from vta.sweep.spec import Spec

__all__ = ["draw"]

_MOST_LABELS = 40
"""Beyond which only the designs of the front have their rank beside them."""
_CELLS = 30
"""Parts of an axis, in one of which labels would overlap."""
_LONGEST_TITLE = 100


def draw(entries: Sequence[Entry], spec: Spec, path: Path) -> None:
    """Draw each design, under its rank, by area and cycles, and by energy and cycles; the Pareto front is marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    figure.suptitle(title_of(entries, spec))
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, entries, spec, [entry.area_um2 / 1e6 for entry in entries], "area of arithmetic and memories, mm2")
    _panel(right, entries, spec, [entry.energy_pj / 1e6 for entry in entries], "energy, uJ")
    left.set_ylabel("cycles (the axis does not begin at 0)")
    left.legend()
    with whole_file(path, "the picture") as beside:
        figure.savefig(beside)


def title_of(entries: Sequence[Entry], spec: Spec) -> str:
    """What ran, and at which clock."""
    names = [net.name for net in spec.nets]
    if spec.workloads:
        names.append(f"{len(spec.workloads)} workload" + "s" * (len(spec.workloads) > 1))
    clocks = sorted({entry.design.clock_mhz for entry in entries})
    at = f" at {' and '.join(f'{clock:g}' for clock in clocks)} MHz" if clocks else ""
    return f"{printable(', '.join(names), _LONGEST_TITLE)}{at}; {spec.technology.name}"


def _panel(axes: Any, entries: Sequence[Entry], spec: Spec, sizes: Sequence[float], label: str) -> None:
    front_name = f"Pareto front in {', '.join(spec.pareto)}"
    for front, marker, text in ((False, "o", "other designs"), (True, "*", front_name)):
        group = [(size, entry.cycles) for size, entry in zip(sizes, entries, strict=True) if entry.pareto is front]
        axes.scatter([size for size, _ in group], [cycles for _, cycles in group], marker=marker, label=text)
    for text, point in _labels(entries, sizes):
        axes.annotate(text, point, xytext=(5, 4), textcoords="offset points", fontsize="small")
    axes.set_xlabel(label)
    axes.grid(alpha=0.3)


def _labels(entries: Sequence[Entry], sizes: Sequence[float]) -> list[tuple[str, tuple[float, int]]]:
    """The ranks of the designs, those that lie on top of each other together, and where they are written."""
    width, height = (max(axis, default=1.0) - min(axis, default=0.0) or 1.0 for axis in (sizes, [it.cycles for it in entries]))
    places: dict[tuple[int, int], list[int]] = {}
    for index, (size, entry) in enumerate(zip(sizes, entries, strict=True)):
        if entry.pareto or len(entries) <= _MOST_LABELS:
            places.setdefault((round(_CELLS * size / width), round(_CELLS * entry.cycles / height)), []).append(index)
    return [
        (", ".join(str(index + 1) for index in indices), (sizes[indices[0]], entries[indices[0]].cycles))
        for indices in places.values()
    ]
