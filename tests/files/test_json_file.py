"""JSON of users: values that all code can work with, or one error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refusal
from vta.errors import ConfigError
from vta.files.json_file import parse_json, read_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**512) + 1, 2**512 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_what_was_written_is_read(value):
    assert parse_json(json.dumps(value), "a.json", ConfigError) == value


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_is_a_value_or_one_error(text):
    error = refusal(lambda: parse_json(text, "a.json", ConfigError), ConfigError)
    assert not error or (error.startswith("a.json: ") and "\n" not in error)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON: Expecting"),
        ("", "not JSON: Expecting value"),
        ("[" * 100_000, "not JSON: nested too deeply"),
        ("9" * 5000, "not JSON that can be used: an integer has thousands of digits"),
        ("[" + "9" * 1000 + "]", "holds an integer of 3322 bits; allowed: up to 512"),
        ('{"a": {"b": 1, "b": "' + "x" * 5000 + '"}}', r"key b is given twice: 1 and 'xx[^ ]{0,60}\.\.\.[^ ]{0,60}'$"),
        (r'["\ud800"]', r"half a character, '\\ud800'"),
        (r'{"\udfff": 1}', "half a character"),
        (b"\xff\xfe\xfd", "not JSON"),
    ],
)
def test_what_is_no_json(text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        parse_json(text, "a.json", ConfigError)
    assert len(str(caught.value)) < 300


def test_files_hold_objects(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert read_object(tmp_path / "a.json") == {"a": 1}
    (tmp_path / "a.json").write_text("[1]")
    with pytest.raises(ConfigError, match=r"a\.json: a JSON object is needed, not list"):
        read_object(tmp_path / "a.json")
