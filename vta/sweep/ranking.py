"""Which designs of a sweep are good: a ranking, and the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.report.table import make_table
from vta.support.atomic_file import whole_file
from vta.sweep.table import Row, Status

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Entry", "draw", "rank", "ranking_table"]


@dataclass(frozen=True)
class Entry:
    """A design with what it takes to run everything once."""

    config: str
    bus_bits: int
    read_latency: int
    cycles: int
    roofline_cycles: int
    macs: int
    onchip_bytes: int
    peak_macs: int
    energy_pj: int
    area_um2: int
    pareto: bool = False
    """No other design is at least as good in cycles, bytes and MACs a cycle, and better in one."""

    @property
    def macs_per_cycle(self) -> float:
        """Multiply-accumulates a cycle that were done."""
        return self.macs / self.cycles if self.cycles else 0.0

    @property
    def share(self) -> float:
        """Roofline over cycles."""
        return self.roofline_cycles / self.cycles if self.cycles else 0.0

    @property
    def costs(self) -> tuple[int, int, int]:
        """What is to be small."""
        return self.cycles, self.onchip_bytes, self.peak_macs


def rank(rows: Sequence[Row]) -> list[Entry]:
    """The designs on which everything ran, fewest cycles first, then fewest bytes."""
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.config, row.bus_bits, row.read_latency), []).append(row)
    entries = [_entry(group, False) for group in groups.values() if all(row.status is Status.OK for row in group)]
    costs = [entry.costs for entry in entries]
    marked = [
        _entry(
            groups[entry.config, entry.bus_bits, entry.read_latency], not any(_dominates(other, entry.costs) for other in costs)
        )
        for entry in entries
    ]
    return sorted(marked, key=lambda entry: (entry.costs, entry.config))


def _entry(group: Sequence[Row], pareto: bool) -> Entry:
    first = group[0]
    sums = {name: sum(getattr(row, name) for row in group) for name in ("cycles", "roofline_cycles", "macs", "energy_pj")}
    same = {
        name: getattr(first, name) for name in ("config", "bus_bits", "read_latency", "onchip_bytes", "peak_macs", "area_um2")
    }
    return Entry(**same, **sums, pareto=pareto)


def _dominates(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def ranking_table(entries: Sequence[Entry]) -> Table:
    """One row a design, best first."""
    headers = (
        "rank",
        "config",
        "bus bits",
        "latency",
        "cycles",
        "on-chip bytes",
        "MACs/cycle",
        "of peak",
        "of roofline",
        "energy, uJ",
        "area, mm2",
        "Pareto",
    )
    return make_table(headers, [_line(place, entry) for place, entry in enumerate(entries, 1)])


def _line(place: int, entry: Entry) -> tuple[object, ...]:
    return (
        place,
        entry.config,
        entry.bus_bits,
        entry.read_latency,
        entry.cycles,
        entry.onchip_bytes,
        f"{entry.macs_per_cycle:.1f}",
        f"{entry.macs_per_cycle / entry.peak_macs:.1%}",
        f"{entry.share:.1%}",
        f"{entry.energy_pj / 1e6:,.0f}",
        f"{entry.area_um2 / 1e6:.2f}",
        "*" if entry.pareto else "",
    )


def draw(entries: Sequence[Entry], path: Path) -> None:
    """Draw cycles against on-chip bytes and against the size of the matrix unit, the Pareto front marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, entries, [entry.onchip_bytes / 1024 for entry in entries], "on-chip buffers, KiB")
    _panel(right, entries, [entry.peak_macs for entry in entries], "multiply-accumulates a cycle at most")
    left.set_ylabel("cycles")
    left.legend()
    with whole_file(path, "the picture") as beside:
        figure.savefig(beside)


def _panel(axes: Any, entries: Sequence[Entry], sizes: Sequence[float], label: str) -> None:
    for front, marker, text in ((False, "o", "other designs"), (True, "*", "Pareto front in cycles, bytes and MACs")):
        group = [(size, entry.cycles) for size, entry in zip(sizes, entries, strict=True) if entry.pareto is front]
        axes.scatter([size for size, _ in group], [cycles for _, cycles in group], marker=marker, label=text)
    # A logarithmic axis that spans less than a power of its base would have no tick.
    if entries and max(sizes) >= 4 * min(sizes):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(label)
    axes.grid(alpha=0.3)
