"""Which designs of a sweep are good: a ranking, and the Pareto front."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.files.atomic_file import write_whole
from vta.support.dataclass import dataclass
from vta.support.table import make_table
from vta.sweep.accuracy import Errors
from vta.sweep.points import Design
from vta.sweep.table import Row, Status

if TYPE_CHECKING:
    from vta.support.table import Table
    from vta.sweep.session import SweepResult

__all__ = ["Entry", "entry_json", "entry_of", "rank", "ranking_table", "write_ranking"]


@dataclass(frozen=True)
class Entry:
    """A design with what it takes to run everything once, or as often as the weights say."""

    design: Design
    cycles: int
    roofline_cycles: int
    macs: int
    energy_pj: int
    arithmetic_pj: int
    sram_pj: int
    dram_pj: int
    error: float = 0.0
    """The share of samples whose class is not found, where accuracy is a criterion."""
    whole: bool = True
    """All runs here that runs on any other design; layers that do not fit are left to the host, whose time is not counted."""
    pareto: bool = False
    """It is whole, and no other design is at least as good in all criteria, and better in one."""

    @property
    def values(self) -> Mapping[str, Any]:
        """Of the keys that the sweep varies."""
        return self.design.values

    @property
    def area_um2(self) -> int:
        """Of arithmetic and memories."""
        return self.design.area_um2

    @property
    def milliseconds(self) -> float:
        """At the clock of the design."""
        return self.cycles / self.design.clock_mhz / 1000

    @property
    def macs_per_cycle(self) -> float:
        """Multiply-accumulates a cycle that were done."""
        return self.macs / self.cycles if self.cycles else 0.0

    @property
    def busy(self) -> float:
        """Of what the matrix unit can do."""
        return self.macs_per_cycle / self.design.peak_macs

    @property
    def share(self) -> float:
        """Roofline over cycles."""
        return self.roofline_cycles / self.cycles if self.cycles else 0.0

    @property
    def tops_per_watt(self) -> float:
        """10^12 operations, two a multiply-accumulate, for a joule."""
        return 2 * self.macs / self.energy_pj if self.energy_pj else 0.0

    def costs(self, criteria: Sequence[str]) -> tuple[float, ...]:
        """What is to be small, by the names in `CRITERIA`."""
        known = {
            "cycles": self.cycles,
            "energy": self.energy_pj,
            "area": self.area_um2,
            "bus": self.design.timing.bus_bits,
            "bytes": self.design.onchip_bytes,
            "macs": self.design.peak_macs,
            "time": self.milliseconds,
            "accuracy": self.error,
        }
        return tuple(known[name] for name in criteria)


_MANY_MS = 100.0
_LEAST_COST = 1e-9
_SUMS = ("cycles", "roofline_cycles", "macs", "energy_pj", "arithmetic_pj", "sram_pj", "dram_pj")


def rank(result: SweepResult) -> list[Entry]:
    """The designs on which everything ran, the best by the sweep's objective first; last those that leave layers to the host."""
    works, errors = len(result.spec.works), Errors(result.spec)
    groups = [result.rows[index * works : (index + 1) * works] for index in range(len(result.designs))]
    entries = [
        entry_of(design, rows, result.spec.weights, errors.of(design))
        for design, rows in zip(result.designs, groups, strict=True)
        if all(row.status is Status.OK for row in rows)
    ]
    most = max((entry.macs for entry in entries), default=0)
    costs = [entry.costs(result.spec.pareto) for entry in entries if entry.macs == most]
    marked = [
        replace(entry, whole=False)
        if entry.macs < most
        else replace(entry, pareto=not any(_dominates(other, entry.costs(result.spec.pareto)) for other in costs))
        for entry in entries
    ]
    return sorted(marked, key=lambda entry: _place(entry, result.spec.objective))


def _place(entry: Entry, objective: Mapping[str, float]) -> tuple[bool, float, int, int, str]:
    costs = zip(objective.values(), entry.costs(tuple(objective)), strict=True)
    product = sum(power * log(max(cost, _LEAST_COST)) for power, cost in costs)
    return not entry.whole, product, entry.area_um2, entry.design.timing.bus_bits, entry.design.hw.model


def entry_of(design: Design, rows: Sequence[Row], weights: Mapping[str, float], error: float = 0.0) -> Entry:
    """A design with the results of all that ran on it, each as often as its weight says, and how often it is wrong."""
    sums = {name: round(sum(weights.get(row.workload, 1) * getattr(row, name) for row in rows)) for name in _SUMS}
    return Entry(design, **sums, error=error)


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


_SPARE = ("MACs\nbusy", "FF\nestim.", "LUT\nestim.", "TOPS\n/W", "of roof-\nline", "ms")


def ranking_table(entries: Sequence[Entry]) -> Table:
    """One row a design, best first; names of keys are broken at underscores, so that a row fits 100 columns."""
    keys = tuple(entries[0].values) if entries else ()
    headers = (
        "rank",
        *(key.replace("_", "_\n") for key in keys),
        "cycles",
        "ms",
        "MACs\nbusy",
        "of roof-\nline",
        "energy\nuJ",
        "TOPS\n/W",
        "area\nmm2",
        *(("wrong",) if _judges_accuracy(entries) else ()),
        *(_resource_headers(entries)),
        "Pareto",
    )
    rows = [_line(place, entry, keys) for place, entry in enumerate(entries, 1)]
    return replace(make_table(headers, rows), compact=True, spare=_SPARE)


def _judges_accuracy(entries: Sequence[Entry]) -> bool:
    """Whether errors are known: then they are above 0."""
    return any(entry.error for entry in entries)


def _resource_headers(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Of what designs take of the board's FPGA, where there is one."""
    return ("LUT\nestim.", "FF\nestim.", "DSP", "block\nRAM") if entries and entries[0].design.fit is not None else ()


def _resources(entry: Entry) -> tuple[str, ...]:
    fit = entry.design.fit
    if fit is None:
        return ()
    logic = (fit.resources.lut, fit.resources.ff)
    mark = "*" if fit.source == "synthesised" else ""
    texts = ("-", "-") if fit.source == "counted" else tuple(f"{value:,.0f}{mark}" for value in logic)
    return (*texts, f"{fit.resources.dsp:,}", f"{fit.resources.bram:g}")


def _line(place: int, entry: Entry, keys: Sequence[str]) -> tuple[object, ...]:
    return (
        place,
        *(entry.values[key] for key in keys),
        entry.cycles,
        f"{entry.milliseconds:,.3f}" if entry.milliseconds < _MANY_MS else f"{entry.milliseconds:,.0f}",
        f"{entry.busy:.1%}",
        f"{entry.share:.1%}",
        f"{entry.energy_pj / 1e6:,.1f}",
        f"{entry.tops_per_watt:.3f}",
        f"{entry.area_um2 / 1e6:.2f}",
        *((f"{entry.error:.2%}",) if entry.error else ()),
        *_resources(entry),
        "*" if entry.pareto else "" if entry.whole else "in part",
    )


def entry_json(place: int, entry: Entry) -> dict[str, Any]:
    """All of an entry as JSON values."""
    design = entry.design
    return {
        "rank": place,
        "config": design.hw.model,
        "bus_bits": design.timing.bus_bits,
        "read_latency": design.timing.read_latency,
        **entry.values,
        "cycles": entry.cycles,
        "roofline_cycles": entry.roofline_cycles,
        "macs": entry.macs,
        "milliseconds": entry.milliseconds,
        "clock_mhz": design.clock_mhz,
        "macs_per_cycle": entry.macs_per_cycle,
        "onchip_bytes": design.onchip_bytes,
        "peak_macs": design.peak_macs,
        "energy_pj": entry.energy_pj,
        "arithmetic_pj": entry.arithmetic_pj,
        "sram_pj": entry.sram_pj,
        "dram_pj": entry.dram_pj,
        "tops_per_watt": entry.tops_per_watt,
        "area_um2": entry.area_um2,
        "error": entry.error,
        "pareto": entry.pareto,
        "whole": entry.whole,
        **_resources_json(design),
    }


def _resources_json(design: Design) -> dict[str, Any]:
    """What a design takes of the board's FPGA; logic is None where it is neither synthesised nor estimated."""
    fit = design.fit
    if fit is None:
        return {}
    lut, ff = (None, None) if fit.source == "counted" else (fit.resources.lut, fit.resources.ff)
    clock = fit.clock
    return {
        "lut": lut,
        "ff": ff,
        "lut_source": fit.source,
        "dsp": fit.resources.dsp,
        "block_memories": fit.resources.bram,
        "fmax_mhz": clock.mhz if clock else None,
        "fmax_source": clock.source if clock else None,
        "fmax_error": clock.error if clock else None,
    }


def write_ranking(entries: Sequence[Entry], path: Path) -> None:
    """Write the entries as CSV, with a column for each key that the sweep varies. Raises `WriteError`."""
    rows = [entry_json(place, entry) for place, entry in enumerate(entries, 1)]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["rank"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, out.getvalue(), "the ranking of the sweep")
