"""Values in messages: one printable line, bounded in length and in time."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.support.shorten import printable, shown

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner))


@pytest.mark.parametrize("value", [None, True, 7, -1.5, "abc", b"abc", [1, 2], {"a": [1]}, (1,), datetime.date(2020, 1, 13)])
def test_short_values_are_their_repr(value):
    assert shown(value) == repr(value)


@given(VALUES, st.integers(20, 200))
def test_every_value_is_one_printable_line(value, limit):
    text = shown(value, limit)
    assert len(text) <= limit
    assert text.isprintable()


@given(st.text(), st.integers(10, 100))
def test_words_of_others_are_one_printable_line(text, limit):
    line = printable(text, limit)
    assert len(line) <= limit
    assert line.isprintable()


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=40))
def test_short_printable_words_stay(text):
    assert printable(text, 40) == text


def test_line_ends_become_blanks_and_controls_are_escaped():
    assert printable("one\n  two\tthree\x1b[31m\udcff") == r"one two three\x1b[31m\udcff"


def test_the_ends_of_long_words_stay():
    line = printable("a" * 1000 + "b" * 1000, 30)
    assert (len(line), line[0], line[-1]) == (30, "a", "b")


def test_integers_of_many_digits_are_told_by_their_size():
    assert shown(10**5000) == "<integer of 16,610 bits>"
    assert shown([-(10**5000)]) == "[<integer of 16,610 bits>]"


def test_shared_parts_are_not_written_out():
    laughs = ["ha"] * 9
    for _ in range(40):
        laughs = [laughs] * 9
    assert len(shown(laughs)) <= 80


def test_deep_nesting_ends():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "[[[[...]]]]"


def test_large_texts_are_not_copied():
    assert len(shown("x" * 50_000_000)) <= 80
    assert shown(b"x" * 50_000_000).endswith("(50,000,000 bytes)")
