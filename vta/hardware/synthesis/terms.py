"""Look-up tables and flip-flops as sums of terms for each unit, in its lanes, adders and bits of a beat, fitted to synthesised
cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import Fabric
from vta.hardware.synthesis.report import SynthesisReport
from vta.hardware.synthesis.resources import Resources
from vta.support.dataclass import dataclass

__all__ = ["UNITS", "Estimator", "left_out_errors"]

_USUAL_BITS = 64
"""Of a beat, on most boards."""
_OPTIONS = ("requantize_unit", "table_unit", "depthwise_unit")
_FEW_BANKS = 2
"""Of the accumulator; with more there is more to choose among."""


_ENOUGH = 5
"""Reports that terms are fitted to; with fewer, the proportions of another family's terms are taken."""
_KINDS = ("lut", "ff")
_HALF_A_CELL = 0.5
_Terms = NDArray[np.float64]


@dataclass(frozen=True)
class _Sizes:
    """What the size of units follows from."""

    hw: HardwareConfig
    timing: TimingParameters
    fabric: Fabric

    @property
    def lanes(self) -> int:
        """Scalars of an accumulator row."""
        return self.hw.batch * self.hw.block

    @property
    def adders(self) -> int:
        """Of the trees that add up the products of each lane."""
        return self.lanes * (self.hw.block - 1)

    @property
    def wider(self) -> float:
        """By how much a beat is wider than one of 64 bits, as a share of it; so that a term of it says nothing where none is."""
        return self.timing.bus_bits / _USUAL_BITS - 1

    def span(self, memory: MemoryType) -> int:
        """Bits of a beat or of an element of `memory`, whichever is larger."""
        return max(self.timing.bus_bits, 8 * self.hw.elem_bytes(memory))

    def rotation(self, memory: MemoryType, moved_as: MemoryType | None = None) -> int:
        """Bits that choose among banks, in as many steps as their number has bits; there is a bank for each element of a beat."""
        banks = max(1, self.timing.bus_bytes // self.hw.elem_bytes(moved_as or memory))
        return 8 * self.hw.elem_bytes(memory) * banks * (banks.bit_length() - 1)

    @property
    def rows(self) -> int:
        """Rows of the accumulator in a beat of bytes."""
        return max(1, self.timing.bus_bytes // self.hw.elem_bytes(MemoryType.ACC_8BIT))

    @property
    def crossing(self) -> tuple[int, int]:
        """Of lanes whose rows come several in a beat, each of which may go to any bank: steps of choices, and pairs of rows."""
        return self.lanes * (self.rows.bit_length() - 1), self.lanes * self.rows * (self.rows - 1) // 2

    @property
    def copied(self) -> int:
        """Lanes whose accumulator is there twice."""
        return self.lanes * (self.fabric.accumulator_banks == 0)

    @property
    def requantizing(self) -> int:
        """Lanes that requantize."""
        return self.lanes * self.hw.requantize_unit

    @property
    def looking_up(self) -> int:
        """Lanes that look up a table."""
        return self.lanes * self.hw.table_unit

    @property
    def depthwise(self) -> int:
        """Lanes that can have an input of their own."""
        return self.lanes * self.hw.depthwise_unit

    @property
    def split(self) -> int:
        """Lanes a part of whose product is made of logic."""
        return self.lanes * self.fabric.split_products

    @property
    def banked(self) -> int:
        """Lanes whose accumulator has many banks."""
        return self.lanes * (self.fabric.accumulator_banks > _FEW_BANKS)


UNITS: Mapping[str, Callable[[_Sizes], tuple[float, ...]]] = {
    "gemm": lambda sizes: (sizes.adders, sizes.lanes, sizes.depthwise),
    "alu": lambda sizes: (sizes.lanes, sizes.requantizing, sizes.split),
    "acc memory": lambda sizes: (sizes.lanes, sizes.copied, *sizes.crossing, sizes.banked),
    "uop memory": lambda sizes: (1, sizes.wider),
    "table memory": lambda sizes: (sizes.hw.table_unit, sizes.looking_up),
    "compute": lambda sizes: (1, sizes.lanes, sizes.wider, sizes.hw.requantize_unit, sizes.requantizing, sizes.depthwise),
    "control": lambda sizes: (1, sizes.hw.requantize_unit),
    "inp memory": lambda sizes: (1, sizes.rotation(MemoryType.INP), sizes.hw.depthwise_unit, sizes.depthwise),
    "wgt memory": lambda sizes: (1, sizes.span(MemoryType.WGT)),
    "out memory": lambda sizes: (1, sizes.span(MemoryType.OUT), sizes.rotation(MemoryType.OUT)),
    "fetch": lambda sizes: (1, sizes.wider),
    "load": lambda sizes: (1, sizes.wider, sizes.span(MemoryType.WGT), sizes.hw.depthwise_unit),
    "store": lambda sizes: (1, sizes.wider),
    "read port": lambda sizes: (1, sizes.wider),
}
"""Of each unit, what its look-up tables and flip-flops are sums of."""


class Estimator:
    """Estimates for one family of synthesis, from `reports` of it.

    What these do not tell is told by `base`, the estimates of another family: terms of options and ways to build that none of the
    reports has, and with few reports all terms. They are scaled unit by unit, as the reports differ from `base`.
    """

    def __init__(self, reports: Iterable[SynthesisReport], base: Estimator | None = None) -> None:
        reports = list(reports)
        own = {option for option in _OPTIONS if any(getattr(report.config, option) for report in reports)}
        self._known: set[str] = own | (base._known if base else set())
        self._terms = {unit: {kind: _terms(reports, unit, kind, base) for kind in _KINDS} for unit in UNITS}

    def knows(self, hw: HardwareConfig) -> bool:
        """Whether each option of `hw` is in one of the reports."""
        return all(option in self._known for option in _OPTIONS if getattr(hw, option))

    def logic(self, hw: HardwareConfig, timing: TimingParameters, fabric: Fabric) -> dict[str, Resources]:
        """Look-up tables and flip-flops of each unit."""
        sizes = _Sizes(hw, timing, fabric)
        found = {}
        for unit, terms in self._terms.items():
            lut, ff = (round(float(np.dot(terms[kind], UNITS[unit](sizes)))) for kind in _KINDS)
            found[unit] = Resources(lut=lut, ff=ff)
        return found


def left_out_errors(reports: Sequence[SynthesisReport], base: Estimator | None = None) -> dict[str, tuple[float, float]]:
    """How far estimates of LUT and FF are off, as shares of what was found, for each core estimated from all others.

    Those whose options are then not known are passed over, and the one that has most rows of the accumulator in a beat, of which
    nothing else tells. The names are those of the bitstreams, with the bus, and whether the core is built for an FPGA that has
    little.
    """
    errors = {}
    for report in reports:
        others = [other for other in reports if other is not report]
        estimator = Estimator(others, base)
        if any(_rows(other) >= _rows(report) for other in others) and estimator.knows(report.config):
            found = sum(estimator.logic(report.config, report.timing, report.fabric).values(), Resources())
            total = report.total
            small = ", built small" if report.fabric.split_products or report.fabric.accumulator_banks > _FEW_BANKS else ""
            name = f"{report.config.bitstream}, {report.timing.bus_bits} bits{small}"
            errors[name] = found.lut / total.lut - 1, found.ff / total.ff - 1
    return errors


def _rows(report: SynthesisReport) -> int:
    return _Sizes(report.config, report.timing, report.fabric).rows


def _terms(reports: Sequence[SynthesisReport], unit: str, kind: str, base: Estimator | None) -> _Terms:
    rows = np.array([UNITS[unit](_Sizes(report.config, report.timing, report.fabric)) for report in reports], float)
    found = np.array([getattr(report.units.get(unit, Resources()), kind) for report in reports], float)
    if base is None:
        return _fitted(rows, found)
    of_base = base._terms[unit][kind]
    if not reports:
        return of_base
    scaled = _scale(found, rows @ of_base, lambda: _scale_of_all(reports, kind, base)) * of_base
    if len(reports) < _ENOUGH:
        return scaled
    return np.where(rows.any(axis=0), _fitted(rows, found), scaled)


def _fitted(rows: _Terms, found: _Terms) -> _Terms:
    """The terms, none of them negative, whose sums in `rows` come nearest to `found`, in shares of it."""
    weights = 1 / np.maximum(found, 1)
    used = list(range(rows.shape[1]))
    while used:
        terms, *_ = np.linalg.lstsq(rows[:, used] * weights[:, None], found * weights, rcond=None)
        if (terms >= 0).all():
            break
        used.pop(int(np.argmin(terms)))
    whole = np.zeros(rows.shape[1])
    if used:
        whole[used] = terms
    return whole


def _scale(found: _Terms, estimated: _Terms, otherwise: Callable[[], float]) -> float:
    """The factor of what was estimated that comes nearest to what was found; `otherwise` where either is nothing.

    Terms that are fitted leave a trace of a cell where there is none: no factor follows from less than half of one.
    """
    there = (found > 0) & (estimated >= _HALF_A_CELL)
    if not there.any():
        return otherwise()
    shares = estimated[there] / found[there]
    return float(shares.sum() / (shares**2).sum())


def _scale_of_all(reports: Sequence[SynthesisReport], kind: str, base: Estimator) -> float:
    """The same for whole cores."""
    found = np.array([getattr(report.total, kind) for report in reports], float)
    logic = [base.logic(report.config, report.timing, report.fabric).values() for report in reports]
    return _scale(found, np.array([sum(getattr(each, kind) for each in units) for units in logic], float), lambda: 1.0)
