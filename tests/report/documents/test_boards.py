"""Which config fits which board, in the document as the count says."""

from pathlib import Path

from vta.boards.files import shipped_boards
from vta.report.documents.boards import fit_table, fits

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "boards-day-one.md"


def test_the_document_has_the_table_of_the_count():
    assert fit_table() in DOCUMENT.read_text(encoding="utf-8"), "python -m vta.report.documents.boards prints the table"


def test_every_shipped_board_has_a_column_and_fits_something():
    found = fits()
    assert {fit.board for fit in found} == set(shipped_boards())
    assert {fit.board for fit in found if not fit.shortfalls} == set(shipped_boards())


def test_what_does_not_fit_says_what_there_is_too_little_of():
    words = {(fit.board, fit.bitstream): fit.words for fit in fits()}
    assert words["pynq-z2", "1x32_i8w8a32_15_15_18_17"] == "no: 608 DSP of 220, 188.5 BRAM36 of 140"
    assert words["pynq-z2", "1x16_i8w8a32_15_15_18_17"] == "yes: 176 DSP, 131.5 BRAM36"
