"""YAML of users: plain values of bounded size, or one error, in little time and memory."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refusal
from vta.errors import SweepError
from vta.files.yaml_file import parse_yaml

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="ascii"))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
)
PIECES = st.sampled_from(
    [
        "a",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&x ",
        "*x",
        "!!bool ",
        "!!int ",
        "2020-13-45",
        "<<",
        "? ",
        "|",
        "1:59",
    ]
)


def laughs(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += (f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels))
    return "\n".join(lines)


@given(VALUES)
def test_what_was_written_is_read(value):
    assert parse_yaml(yaml.safe_dump(value), "a.yaml", SweepError) == value


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_is_a_value_or_one_error(text):
    error = refusal(lambda: parse_yaml(text, "a.yaml", SweepError), SweepError)
    assert not error or (error.startswith("a.yaml: ") and "\n" not in error)


def test_anchors_and_merges_work():
    assert parse_yaml("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: *x", "a.yaml", SweepError) == {
        "a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}, "e": {"b": 1, "c": 2},
    }  # fmt: skip


def test_keys_are_texts():
    assert parse_yaml("{1: a, true: b, x: c}", "a.yaml", SweepError) == {"1": "a", "True": "b", "x": "c"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (laughs(9), "more than 100000 values, with aliases written out"),
        (laughs(60), "more than 100000 values, with aliases written out"),
        ("a: &a [*a]", "line 1: a value holds itself"),
        ("a: &a {b: [*a]}", "line 1: a value holds itself"),
        ("a: " + "[" * 3000, "not YAML"),
        ("a: 2020-13-45", "a value is not what its form or tag says: month must be in 1..12"),
        ("a: !!bool x", "a value is not what its form or tag says"),
        ("a: !!int ''", "not YAML"),
        ("a: !!python/object:os.system x", "unknown tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: 1\na: 2", "key a is given twice: in line 1 and in line 2"),
        ("? [1]\n: 2", "a key is a list; allowed: texts"),
        ("a: 0x" + "f" * 1000, "an integer of 4000 bits; allowed: up to 512"),
        ("a: 1" + ":59" * 4000, "line 1: a value of 12001 characters; the limit is 10000"),
        ("# " + "x" * (1 << 20), "has 1048578 characters; the limit for YAML is 1048576"),
        ("a: *b", "found undefined alias 'b'"),
        ('a: "\\ud800"', "half a character"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(SweepError, match=f"a.yaml: .*{words}") as caught:
        parse_yaml(text, "a.yaml", SweepError)
    assert len(str(caught.value)) < 500
