"""Tables of what cores take of FPGAs: those of docs/bitstreams.md and docs/rtl.md, from the reports in bitstreams/reports.

    python -m benchmarks.core_resources

Nothing is synthesised. The first table has look-up tables (ALMs of Cyclone V), DSP blocks and block memories of the shipped
configs on boards, the second how far estimates are off for cores that they are not fitted to, the others each unit of cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vta.bitstream.fits import CoreFit, core_fits
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.hardware.synthesis.estimate import base_of, reports_of
from vta.hardware.synthesis.report import SynthesisReport
from vta.hardware.synthesis.resources import FAMILIES
from vta.hardware.synthesis.terms import left_out_errors
from vta.hardware.synthesis.units import UNITS

__all__ = ["error_rows", "fit_rows", "markdown", "small_rows", "unit_rows"]

BOARDS = ("pynq-z1", "ultra96", "zcu104", "de10-nano", "ecpix5")
CONFIGS = ("sim_1x4", "sim_1x8", "sim", "sim_4x8", "sim_1x32", "sim_rq_1x8", "sim_rq")
_PLAIN = "1x4_i8w8a32_12_12_13_14"
_SMALL = (("xilinx", _PLAIN), ("xilinx", f"{_PLAIN}_rq_tab"), ("cyclone-v", _PLAIN))
_BITS = 64


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a table of Markdown; the first one is its head."""
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *others))


def fit_rows() -> list[list[str]]:
    """A row a config, a column a board."""
    boards = [find_board(name) for name in BOARDS]
    found = {(fit.config, fit.board): fit for fit in core_fits({name: HardwareConfig.named(name) for name in CONFIGS}, boards)}
    rows = [[f"`{config}`", *(_fit_text(found[config, board]) for board in BOARDS)] for config in CONFIGS]
    return [["config", *BOARDS], *rows]


def _fit_text(fit: CoreFit) -> str:
    known = {"synthesised": f"{fit.resources.lut:,.0f}", "estimated": f"{fit.resources.lut:,.0f} est."}
    text = f"{known.get(fit.source, '?')} / {fit.resources.dsp:g} / {fit.resources.bram:g}"
    return text if fit.fits else f"{text} **no**"


def error_rows() -> list[list[str]]:
    """A row a family: how many cores, and the errors of estimates that are fitted to all others."""
    rows = []
    for family in FAMILIES:
        reports = reports_of(family)
        errors = left_out_errors(reports, base_of(family))
        for kind, column in (("look-up tables", 0), ("flip-flops", 1)):
            if errors:
                found = {name: pair[column] for name, pair in errors.items()}
                worst = max(found, key=lambda name: abs(found[name]))
                mean = sum(map(abs, found.values())) / len(found)
                rows.append([family, str(len(reports)), kind, f"{mean:.1%}", f"{found[worst]:+.1%}", f"`{worst}`"])
    return [["family", "cores", "of", "mean error", "largest", "of the core"], *rows]


def unit_rows(reports: Sequence[SynthesisReport]) -> list[list[str]]:
    """A row a unit, a column a core: look-up tables / flip-flops / DSP blocks / block memories."""
    rows = [[unit, *(_unit_text(report, unit) for report in reports)] for unit in UNITS]
    return [["unit", *(report.config.bitstream for report in reports)], *rows, ["total", *map(_total_text, reports)]]


def _unit_text(report: SynthesisReport, unit: str) -> str:
    found = report.units.get(unit)
    return "" if found is None else f"{found.lut:,.0f} / {found.ff:,.0f} / {found.dsp:g} / {found.bram:g}"


def _total_text(report: SynthesisReport) -> str:
    total = report.total
    return f"{total.lut:,.0f} / {total.ff:,.0f} / {total.dsp:g} / {total.bram:g}"


def small_rows() -> list[list[str]]:
    """The units of the smallest core: plain, with units that requantize and look up, and for a Cyclone V."""
    reports = [
        next(
            report
            for report in reports_of(family)
            if (report.config.bitstream, report.timing.bus_bits) == (bitstream, _BITS) and not report.fabric.split_products
        )
        for family, bitstream in _SMALL
    ]
    _, *rows = unit_rows(reports)
    return [["unit", *(f"`{bitstream}`, {family}" for family, bitstream in _SMALL)], *rows]


def main() -> None:
    """Print all tables."""
    print(markdown(fit_rows()), markdown(error_rows()), markdown(small_rows()), sep="\n\n")
    for family in FAMILIES:
        if reports := reports_of(family):
            print(f"\n{family}\n\n{markdown(unit_rows(reports))}")


if __name__ == "__main__":
    main()
