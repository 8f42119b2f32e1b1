"""Tables of what cores take of FPGAs: those of docs/bitstreams.md and docs/rtl.md, from the reports in bitstreams/reports.

    python -m benchmarks.core_resources

Nothing is synthesised. The first table has look-up tables (ALMs of Cyclone V), DSP blocks and block memories of the shipped
configs on boards, the second how far estimates are off for cores that they are not fitted to. Then come units of shipped cores
and of the smallest, what options of the hardware add, the logic of designs with them, and each unit of all cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vta.bitstream.fits import CoreFit, core_fits
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.synthesis.estimate import base_of, known_logic, reports_of
from vta.hardware.synthesis.report import SynthesisReport
from vta.hardware.synthesis.resources import FAMILIES, Resources
from vta.hardware.synthesis.terms import left_out_errors
from vta.hardware.synthesis.units import UNITS

__all__ = ["design_rows", "error_rows", "fit_rows", "markdown", "option_rows", "shipped_rows", "small_rows", "unit_rows"]

BOARDS = ("pynq-z1", "ultra96", "zcu104", "de10-nano", "ecpix5")
CONFIGS = ("sim_1x4", "sim_1x8", "sim", "sim_4x8", "sim_1x32", "sim_rq_1x8", "sim_rq")
_PLAIN = "1x4_i8w8a32_12_12_13_14"
_SMALL = (("xilinx", _PLAIN), ("xilinx", f"{_PLAIN}_rq_tab"), ("cyclone-v", _PLAIN))
_SHIPPED = (
    ("1x16, 7-series", "xilinx", "sim"),
    ("with all options", "xilinx", "sim_rq"),
    ("1x8, 7-series", "xilinx", "sim_1x8"),
    ("with all options", "xilinx", "sim_rq_1x8"),
    ("1x8, ECP5", "ecp5", "sim_1x8"),
)
_PAIRS = (("8 x 8", "sim_1x8", "sim_rq_1x8"), ("16 x 16", "sim", "sim_rq"))
"""A core without options, and with all, by the size of its array."""
_OPTIONS = (
    ("requantize unit", "alu", ("alu",)),
    ("", "compute: stages, slots, bytes to the output, with what the tables read and load", ("compute",)),
    ("", "control", ("control",)),
    ("table unit", "table memory, load", ("table memory", "load")),
    ("DEPTHWISE", "gemm, inp memory", ("gemm", "inp memory")),
)
"""Options, and what they add to: in words, and as units."""
_REQUANTIZING = ("alu", "compute", "control")
_DESIGNS = ((1, 0, 1), (1, 1, 1), (1, 0, 0), (1, 1, 0), (0, 0, 1), (0, 0, 0))
"""With or without the requantize, the table and the depthwise unit, in the order of the sweep's ranking."""
_BITS = 64
_FEW_BANKS = 2


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


def shipped_rows() -> list[list[str]]:
    """The units of shipped cores."""
    _, *rows = unit_rows([_report(family, HardwareConfig.named(config).bitstream) for _, family, config in _SHIPPED])
    return [["unit", *(name for name, _, _ in _SHIPPED)], *rows]


def option_rows() -> list[list[str]]:
    """Look-up tables of 7-series that options add, a column an array."""
    pairs = [[_report("xilinx", HardwareConfig.named(name).bitstream) for name in names] for _, *names in _PAIRS]
    added = [_added(*pair) for pair in pairs]
    rows = [
        [option, words, *(f"{sum(each[unit] for unit in units):,.0f}" for each in added)] for option, words, units in _OPTIONS
    ]
    requantizing = [sum(each[unit] for unit in _REQUANTIZING) for each in added]
    together = ["", "together, of a plain core"]
    together += [f"{more / plain.total.lut:.0%}" for more, (plain, _) in zip(requantizing, pairs, strict=True)]
    of_all = [f"{rich.total.lut - plain.total.lut:,.0f}, {rich.total.lut / plain.total.lut - 1:.0%}" for plain, rich in pairs]
    rows[len(_REQUANTIZING) : len(_REQUANTIZING)] = [together]
    return [["option", "in", *(name for name, _, _ in _PAIRS)], *rows, ["all", "", *of_all]]


def _added(plain: SynthesisReport, rich: SynthesisReport) -> dict[str, float]:
    """Look-up tables that each unit of `rich` has more than that of `plain`."""
    return {unit: rich.units[unit].lut - plain.units.get(unit, Resources()).lut for unit in rich.units}


def design_rows() -> list[list[str]]:
    """Look-up tables and flip-flops of `sim` on a Pynq with and without options; with a star those that were synthesised."""
    board = find_board("pynq-z1")
    rows = []
    for requantize, table, depthwise in _DESIGNS:
        options = {"requantize_unit": requantize, "table_unit": table, "depthwise_unit": depthwise}
        hw = replace(HardwareConfig.named("sim"), **options)
        source, found = known_logic(hw, board, TimingParameters(bus_bits=board.core_design().bus_bits))
        assert found is not None, "each option is in a report of the family"
        star = "*" if source == "synthesised" else ""
        rows.append([*map(str, (requantize, table, depthwise)), f"{found.lut:,.0f}{star}", f"{found.ff:,.0f}{star}"])
    return [["REQUANTIZE_UNIT", "TABLE_UNIT", "DEPTHWISE_UNIT", "LUT", "FF"], *rows]


def small_rows() -> list[list[str]]:
    """The units of the smallest core: plain, with units that requantize and look up, and for a Cyclone V."""
    _, *rows = unit_rows([_report(family, bitstream) for family, bitstream in _SMALL])
    return [["unit", *(f"`{bitstream}`, {family}" for family, bitstream in _SMALL)], *rows]


def _report(family: str, bitstream: str) -> SynthesisReport:
    """Of a core on the usual bus, that was not built small."""
    return next(
        report
        for report in reports_of(family)
        if (report.config.bitstream, report.timing.bus_bits) == (bitstream, _BITS)
        and not report.fabric.split_products
        and report.fabric.accumulator_banks <= _FEW_BANKS
    )


def main() -> None:
    """Print all tables."""
    tables = (fit_rows, error_rows, shipped_rows, small_rows, option_rows, design_rows)
    print(*(markdown(rows()) for rows in tables), sep="\n\n")
    for family in FAMILIES:
        if reports := reports_of(family):
            print(f"\n{family}\n\n{markdown(unit_rows(reports))}")


if __name__ == "__main__":
    main()
