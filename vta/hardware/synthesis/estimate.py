"""What a core is likely to take of an FPGA, without synthesis.

DSP blocks and block memories are counted (`vta.hardware.need`); look-up tables and flip-flops are those of a report, or
estimated from all reports (`vta.hardware.synthesis.terms`).
"""

from __future__ import annotations

from functools import cache

from vta.boards.description import Board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.need import fabric_of, logic_name, need_of, shortfalls
from vta.hardware.synthesis.report import SynthesisReport, reported_cores
from vta.hardware.synthesis.resources import Resources, family_of
from vta.hardware.synthesis.terms import Estimator

__all__ = ["base_of", "estimate", "estimator_of", "known_logic", "reports_of", "synthesized", "too_much"]

_BASES = {"ultrascale": "xilinx", "ecp5": "xilinx", "cyclone-v": "ecp5"}
"""Whose proportions are taken where the reports of a family do not tell. A Cyclone V and an ECP5 have the same Verilog."""
_SAME_LOGIC = ("ultrascale",)
"""Families whose look-up tables and flip-flops are those of their base, so that its estimates are theirs."""


def reports_of(family: str) -> list[SynthesisReport]:
    """The reports of one of `FAMILIES`."""
    return [report for report in reported_cores() if report.family == family]


@cache
def estimator_of(family: str) -> Estimator | None:
    """The estimates for one of `FAMILIES`; None without reports."""
    base, reports = base_of(family), reports_of(family)
    if not reports and (base is None or family not in _SAME_LOGIC):
        return None
    return Estimator(reports, base)


def base_of(family: str) -> Estimator | None:
    """What tells where the reports of a family do not."""
    return estimator_of(_BASES[family]) if family in _BASES else None


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
    estimator = estimator_of(family_of(board.family))
    if estimator is None or not estimator.knows(hw):
        return None
    timing = timing or TimingParameters(bus_bits=board.core_design().bus_bits)
    fabric = fabric_of(hw, timing, board.family, board.capacity)
    logic = sum(estimator.logic(hw, timing, fabric).values(), Resources())
    need = need_of(hw, timing, board.family, board.capacity)
    return Resources(lut=logic.lut, ff=logic.ff, dsp=need.dsp, bram=need.block_memories)
