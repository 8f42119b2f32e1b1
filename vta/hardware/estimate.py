"""What a core is likely to take of an FPGA, without synthesis: terms for each unit, fitted to synthesised cores.

DSP blocks and block memories are counted (`vta.hardware.need`); look-up tables and flip-flops are estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np

from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.need import need_of
from vta.hardware.synthesis import Resources
from vta.hardware.synthesis_report import SynthesisReport, reported_cores
from vta.support.dataclass import dataclass

__all__ = ["UNITS", "Estimator", "estimate", "synthesized"]

_FAMILY_OF = {"zynq-7000": "xilinx", "zynq-ultrascale+": "xilinx", "ecp5": "ecp5"}
"""The family of synthesis that stands for one of boards."""


@dataclass(frozen=True)
class _Sizes:
    """What the size of units follows from."""

    hw: HardwareConfig
    timing: TimingParameters

    @property
    def lanes(self) -> int:
        """Scalars of an accumulator row."""
        return self.hw.batch * self.hw.block

    @property
    def products(self) -> int:
        """Multiply-accumulates of a cycle."""
        return self.lanes * self.hw.block

    @property
    def word(self) -> int:
        """Bits of a beat."""
        return self.timing.bus_bits

    def span(self, memory: MemoryType) -> int:
        """Bits of a beat or of an element of `memory`, whichever is larger."""
        return max(self.word, 8 * self.hw.elem_bytes(memory))


UNITS: Mapping[str, Callable[[_Sizes], tuple[float, ...]]] = {
    "gemm": lambda sizes: (sizes.products, sizes.lanes),
    "alu": lambda sizes: (sizes.lanes,),
    "acc memory": lambda sizes: (sizes.lanes, max(32 * sizes.lanes, 4 * sizes.word)),
    "uop memory": lambda sizes: (1, sizes.word),
    "compute": lambda sizes: (1, sizes.lanes, sizes.word),
    "control": lambda sizes: (1,),
    "inp memory": lambda sizes: (1, sizes.span(MemoryType.INP)),
    "wgt memory": lambda sizes: (1, sizes.span(MemoryType.WGT)),
    "out memory": lambda sizes: (1, sizes.span(MemoryType.OUT)),
    "fetch": lambda sizes: (1, sizes.word),
    "load": lambda sizes: (1, sizes.word, sizes.span(MemoryType.WGT)),
    "store": lambda sizes: (1, sizes.word),
    "read port": lambda sizes: (1, sizes.word),
}
"""Of each unit, what its look-up tables and flip-flops are sums of."""


class Estimator:
    """Estimates for one family of synthesis, from `reports` of it."""

    def __init__(self, reports: Iterable[SynthesisReport]) -> None:
        reports = list(reports)
        self._terms = {unit: {kind: _fitted(reports, unit, kind) for kind in ("lut", "ff")} for unit in UNITS}

    def logic(self, hw: HardwareConfig, timing: TimingParameters) -> dict[str, Resources]:
        """Look-up tables and flip-flops of each unit."""
        sizes = _Sizes(hw, timing)
        found = {}
        for unit, terms in self._terms.items():
            lut, ff = (round(float(np.dot(terms[kind], UNITS[unit](sizes)))) for kind in ("lut", "ff"))
            found[unit] = Resources(lut=lut, ff=ff)
        return found


def _fitted(reports: list[SynthesisReport], unit: str, kind: str) -> np.ndarray:
    """The terms, none of them negative, that come nearest to what was found, in shares of it."""
    rows = np.array([UNITS[unit](_Sizes(report.config, report.timing)) for report in reports], float)
    found = np.array([getattr(report.units[unit], kind) for report in reports], float)
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
    reports = [report for report in reported_cores() if report.family == family and not _has_options(report.config)]
    return Estimator(reports) if reports else None


def _has_options(hw: HardwareConfig) -> bool:
    """Whether a core has units that the terms do not know."""
    return bool(hw.requantize_unit or hw.depthwise_unit)


def synthesized(hw: HardwareConfig, family: str, timing: TimingParameters) -> Resources | None:
    """What the core takes of an FPGA of a board's `family` by the report of its synthesis, if there is one."""
    for report in reported_cores():
        same = report.config.bitstream == hw.bitstream and report.timing == timing
        if same and report.family == _FAMILY_OF.get(family):
            return report.total
    return None


def estimate(hw: HardwareConfig, board: Board, timing: TimingParameters | None = None) -> Resources | None:
    """What the core of `hw` takes of the FPGA of `board`: LUT and FF estimated, DSP and block memories counted.

    None where no synthesised cores are at hand for the board's family (Cyclone V), or the core has options that none of them
    has. The host's link and the memory controller of a board without a processor are not in it.
    """
    estimator = _estimator(_FAMILY_OF.get(board.family, ""))
    if estimator is None or _has_options(hw):
        return None
    timing = timing or TimingParameters(bus_bits=board.core_design().bus_bits)
    logic = sum(estimator.logic(hw, timing).values(), Resources())
    need = need_of(hw, timing, board.family, board.capacity)
    return Resources(lut=logic.lut, ff=logic.ff, dsp=need.dsp, bram=need.block_memories)
