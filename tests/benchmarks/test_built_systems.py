"""The tables of the document are those that the benchmark prints."""

from pathlib import Path

import pytest

from benchmarks.built_systems import clock_rows, error_words, second_rows
from benchmarks.core_resources import markdown
from vta.bitstream.placement.path_timing import GRADES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "bitstreams.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rows", [clock_rows, second_rows])
def test_the_document_has_the_tables(rows):
    assert markdown(rows()) in TEXT


def test_the_document_says_how_far_estimates_are_off():
    assert error_words() in TEXT


def test_the_document_says_how_slow_a_slow_grade_is():
    slow = GRADES["6"]
    words = f"for grade 6 of an ECP5 {slow.slower:g} times those of a 5G, and {slow.memories:.1f} times for memories"
    assert words in " ".join(TEXT.split())
