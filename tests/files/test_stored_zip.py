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


LARGE = {"a": b"small", "b": bytes(range(256)) * 40, "c": bytearray(4), "d": b"x" * 9000, "e": b"end"}


@pytest.mark.parametrize("seekable", [True, False])
def test_large_members_are_written_while_other_work_is_done(seekable, monkeypatch):
    monkeypatch.setattr(stored_zip, "_LARGE", 8000)
    members, stream = dict(LARGE), io.BytesIO()
    members["c"] = bytearray(4)

    def fill():
        members["c"][:] = b"done"

    target = stream if seekable else Unseekable(stream)
    write_stored(target, members, [fill, lambda: None])
    assert stream.getvalue() == by_library({**LARGE, "c": b"done"})


class Unseekable:
    """A pipe."""

    def __init__(self, stream):
        self.write = stream.write

    def seekable(self):
        return False


def test_what_fails_meanwhile_is_raised(monkeypatch):
    monkeypatch.setattr(stored_zip, "_LARGE", 8000)

    def fail():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write_stored(io.BytesIO(), LARGE, [fail])
