"""Zip files are those that the standard library writes, byte for byte."""

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.files import stored_zip
from vta.files.stored_zip import write_stored


def written(members):
    stream = io.BytesIO()
    write_stored(stream, members)
    return stream.getvalue()


def by_library(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return stream.getvalue()


names = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\\"), min_size=1, max_size=30)


@settings(max_examples=50)
@given(st.dictionaries(names, st.binary(max_size=200), max_size=8))
def test_bytes_are_those_of_the_standard_library(members):
    assert written(members) == by_library(members)
    with zipfile.ZipFile(io.BytesIO(written(members))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == members


def test_views_of_bytes_are_written():
    assert written({"a": memoryview(b"values")}) == by_library({"a": b"values"})


@pytest.mark.parametrize("members", [{"für": b"a"}, {"large": b"0123456789"}, {"one": b"", "two": b""}])
def test_what_takes_more_than_the_plain_layout(members, monkeypatch):
    monkeypatch.setattr(stored_zip, "_MOST_BYTES", 12)
    monkeypatch.setattr(stored_zip, "_MOST_MEMBERS", 4)
    assert written(members) == by_library(members)
