"""The tables of documents are those that the benchmark prints."""

from pathlib import Path

import pytest

from benchmarks.core_resources import error_rows, fit_rows, markdown, small_rows, unit_rows
from vta.hardware.synthesis.estimate import reports_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("document", "rows"), [("bitstreams.md", fit_rows), ("rtl.md", error_rows), ("rtl.md", small_rows)])
def test_documents_have_the_tables(document, rows):
    assert markdown(rows()) in (DOCS / document).read_text(encoding="utf-8")


def test_nothing_is_unknown():
    assert not any("?" in cell for row in fit_rows() for cell in row)


def test_units_add_up():
    reports = [report for report in reports_of("xilinx") if report.config.requantize_unit]
    head, *units, total = unit_rows(reports)
    assert head[1:] == [report.config.bitstream for report in reports]
    for column, report in enumerate(reports, 1):
        luts = [float(row[column].split(" / ")[0].replace(",", "")) for row in (*units, total)]
        assert sum(luts[:-1]) == luts[-1] == report.total.lut
