"""The tables of documents are those that the benchmark prints."""

from pathlib import Path

import pytest

from benchmarks.core_resources import (
    design_rows,
    error_rows,
    fit_rows,
    markdown,
    option_rows,
    shipped_rows,
    small_rows,
    unit_rows,
)
from vta.config.hardware import HardwareConfig
from vta.hardware.synthesis.estimate import base_of, reports_of
from vta.hardware.synthesis.terms import left_out_errors

DOCS = Path(__file__).resolve().parents[2] / "docs"


OF_SYNTHESIS = (error_rows, shipped_rows, small_rows, option_rows)


@pytest.mark.parametrize(("document", "rows"), [("bitstreams.md", fit_rows), *(("rtl.md", rows) for rows in OF_SYNTHESIS)])
def test_documents_have_the_tables(document, rows):
    assert markdown(rows()) in (DOCS / document).read_text(encoding="utf-8")


def test_the_sweep_over_options_has_the_logic_of_its_designs():
    text = (DOCS / "sweep.md").read_text(encoding="utf-8")
    (head, *designs) = design_rows()
    table = text[text.index(f"| {' | '.join(head[:3])} | cycles") :].splitlines()
    columns = [name.strip() for name in table[0].split("|")[1:-1]]
    for line, design in zip(table[2:], designs, strict=False):
        cells = dict(zip(columns, (cell.strip() for cell in line.split("|")[1:-1]), strict=True))
        assert [cells[name] for name in head] == design


def test_the_requantize_unit_takes_few_tables_of_a_large_core():
    """At most 15 % more than without, and no more than 16 DSP slices."""
    reports = {report.config.bitstream: report for report in reports_of("xilinx") if report.timing.bus_bits == 64}
    plain, rich = (reports[HardwareConfig.named(name).bitstream] for name in ("sim", "sim_rq"))
    units = ("alu", "compute", "control")
    assert sum(rich.units[unit].lut - plain.units[unit].lut for unit in units) <= 0.15 * plain.total.lut
    assert rich.total.dsp - plain.total.dsp <= 16


def test_what_borrowed_terms_are_off_by():
    """Of the core of 8 x 8 with all units, where no other report of its family knows of DEPTHWISE."""
    known = [report for report in reports_of("ecp5") if not report.config.depthwise_unit or report.config.block == 8]
    errors = left_out_errors(known, base_of("ecp5"))
    (lut, ff) = next(found for name, found in errors.items() if "rq_tab_dw" in name)
    words = f"{lut:.1%} too many look-up tables, and {-ff:.1%} too few flip-flops".replace("%", " %")
    assert words in (DOCS / "rtl.md").read_text(encoding="utf-8")


def test_nothing_is_unknown():
    assert not any("?" in cell for row in fit_rows() for cell in row)


def test_units_add_up():
    reports = [report for report in reports_of("xilinx") if report.config.requantize_unit]
    head, *units, total = unit_rows(reports)
    assert head[1:] == [report.config.bitstream for report in reports]
    for column, report in enumerate(reports, 1):
        luts = [float(row[column].split(" / ")[0].replace(",", "")) for row in (*units, total)]
        assert sum(luts[:-1]) == luts[-1] == report.total.lut
