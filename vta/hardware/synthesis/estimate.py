"""What a core is likely to take of an FPGA, without synthesis: terms for each unit, fitted to synthesised cores.

DSP blocks and block memories are counted (`vta.hardware.need`); look-up tables and flip-flops are estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import Fabric
from vta.hardware.need import fabric_of, logic_name, need_of, shortfalls
from vta.hardware.synthesis.report import SynthesisReport, reported_cores
from vta.hardware.synthesis.resources import Resources, family_of
from vta.support.dataclass import dataclass

__all__ = ["UNITS", "Estimator", "estimate", "known_logic", "left_out_errors", "reports_for", "synthesized", "too_much"]

_USUAL_BITS = 64
"""Of a beat, on most boards."""
_OPTIONS = ("requantize_unit", "table_unit", "depthwise_unit")
_STANDS_IN = {"ultrascale": "xilinx"}
"""Whose reports serve for another family, too: both have the same look-up tables and the same registers."""
_FEW_BANKS = 2
"""Of the accumulator; with more there is more to choose among."""


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
    def products(self) -> int:
        """Multiply-accumulates of a cycle."""
        return self.lanes * self.hw.block

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
    "gemm": lambda sizes: (sizes.products, sizes.lanes, sizes.depthwise),
    "alu": lambda sizes: (sizes.lanes, sizes.requantizing, sizes.split),
    "acc memory": lambda sizes: (sizes.lanes, sizes.rotation(MemoryType.ACC, MemoryType.ACC_8BIT), sizes.banked),
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
    """Estimates for one family of synthesis, from `reports` of it."""

    def __init__(self, reports: Iterable[SynthesisReport]) -> None:
        reports = list(reports)
        self._known = {option for option in _OPTIONS if any(getattr(report.config, option) for report in reports)}
        self._terms = {unit: {kind: _fitted(reports, unit, kind) for kind in ("lut", "ff")} for unit in UNITS}

    def knows(self, hw: HardwareConfig) -> bool:
        """Whether each option of `hw` is in one of the reports."""
        return all(option in self._known for option in _OPTIONS if getattr(hw, option))

    def logic(self, hw: HardwareConfig, timing: TimingParameters, fabric: Fabric) -> dict[str, Resources]:
        """Look-up tables and flip-flops of each unit."""
        sizes = _Sizes(hw, timing, fabric)
        found = {}
        for unit, terms in self._terms.items():
            lut, ff = (round(float(np.dot(terms[kind], UNITS[unit](sizes)))) for kind in ("lut", "ff"))
            found[unit] = Resources(lut=lut, ff=ff)
        return found


def _fitted(reports: list[SynthesisReport], unit: str, kind: str) -> np.ndarray:
    """The terms, none of them negative, that come nearest to what was found, in shares of it."""
    rows = np.array([UNITS[unit](_Sizes(report.config, report.timing, report.fabric)) for report in reports], float)
    found = np.array([getattr(report.units.get(unit, Resources()), kind) for report in reports], float)
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


@cache
def _estimator(family: str) -> Estimator | None:
    """That of a family of synthesis; None without reports of it."""
    reports = reports_for(family)
    return Estimator(reports) if reports else None


def reports_for(family: str) -> list[SynthesisReport]:
    """The reports that estimates for a family of synthesis are fitted to."""
    return [report for report in reported_cores() if report.family in (family, _STANDS_IN.get(family))]


def left_out_errors(reports: Sequence[SynthesisReport]) -> dict[str, tuple[float, float]]:
    """How far estimates of LUT and FF are off, as shares of what was found, for each core estimated from all others.

    Those whose options no other report has, and which so have no estimate, are left out. The names are those of the bitstreams,
    with the bus.
    """
    errors = {}
    for report in reports:
        estimator = Estimator(other for other in reports if other is not report)
        if estimator.knows(report.config):
            found = sum(estimator.logic(report.config, report.timing, report.fabric).values(), Resources())
            total = report.total
            name = f"{report.config.bitstream}, {report.timing.bus_bits} bits"
            errors[name] = found.lut / total.lut - 1, found.ff / total.ff - 1
    return errors


def synthesized(hw: HardwareConfig, board: Board, timing: TimingParameters) -> Resources | None:
    """What the core takes of the FPGA of `board` by the report of its synthesis, if there is one."""
    fabric = fabric_of(hw, timing, board.family, board.capacity)
    for report in reported_cores():
        same = report.config.bitstream == hw.bitstream and report.timing == timing and report.fabric == fabric
        if same and report.family == family_of(board.family):
            return report.total
    return None


def known_logic(hw: HardwareConfig, board: Board, timing: TimingParameters) -> tuple[str, Resources | None]:
    """What the core takes of the FPGA of `board`, and where that comes from.

    That is ``synthesised``, ``estimated``, or ``counted``: look-up tables and flip-flops are not known, and None is returned.
    """
    found = synthesized(hw, board, timing)
    if found is not None:
        return "synthesised", found
    found = estimate(hw, board, timing)
    return ("counted" if found is None else "estimated"), found


def too_much(hw: HardwareConfig, board: Board, timing: TimingParameters) -> list[str]:
    """What the core of `hw` needs of which the FPGA of `board` has too little, in words with both numbers.

    [] where it fits, and where the board's description does not say what there is. Logic that is not known is none.
    """
    if board.capacity is None:
        return []
    short = shortfalls(need_of(hw, timing, board.family, board.capacity), board.capacity, board.family)
    source, found = known_logic(hw, board, timing)
    if found is not None and found.lut > board.capacity.luts:
        short.append(f"{found.lut:g} {logic_name(board.family)} ({source}) of {board.capacity.luts}")
    return short


def estimate(hw: HardwareConfig, board: Board, timing: TimingParameters | None = None) -> Resources | None:
    """What the core of `hw` takes of the FPGA of `board`: LUT and FF estimated, DSP and block memories counted.

    None where no synthesised cores are at hand for the board's family, or the core has options that none of them
    has. The host's link and the memory controller of a board without a processor are not in it.
    """
    estimator = _estimator(family_of(board.family))
    if estimator is None or not estimator.knows(hw):
        return None
    timing = timing or TimingParameters(bus_bits=board.core_design().bus_bits)
    fabric = fabric_of(hw, timing, board.family, board.capacity)
    logic = sum(estimator.logic(hw, timing, fabric).values(), Resources())
    need = need_of(hw, timing, board.family, board.capacity)
    return Resources(lut=logic.lut, ff=logic.ff, dsp=need.dsp, bram=need.block_memories)
