"""Archives are judged by their list of members, before anything is unpacked."""

import io
import struct
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.files.zip_file import check_members, most_unpacked

NAMES = st.text(st.characters(codec="ascii", min_codepoint=48), min_size=1, max_size=8)
MEMBERS = st.dictionaries(NAMES, st.tuples(st.binary(max_size=300), st.booleans()), max_size=5)


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, (content, packed) in members.items():
            archive.writestr(name, content, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)
    return out.getvalue()


def check(content, *methods):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_members(archive, len(content), *methods)


def overlapping(count, nbytes):
    """Nested members: the content of each is the head and the content of the next."""
    data, entries = b"\0" * nbytes, []
    for index in reversed(range(count)):
        name = b"m%05d" % index
        fields = struct.pack("<IHHHIIIHH", 20 | 0 << 16, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(name), 0)
        entries.append((name, fields))
        data = b"PK\3\4" + fields + name + data
    head = 30 + len(entries[0][0])
    listed = b"".join(
        b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, index * head) + name
        for index, (name, fields) in enumerate(reversed(entries))
    )
    return data + listed + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(listed), len(data), 0)


@given(MEMBERS)
def test_good_archives_pass(members):
    check(zipped(members))


@given(MEMBERS.filter(bool), st.data())
def test_lists_that_claim_more_are_refused(members, data):
    content = bytearray(zipped({name: (value, False) for name, (value, _) in members.items()}))
    at = int.from_bytes(content[-6:-2], "little")  # of the list, as the end of the archive says
    field = data.draw(st.sampled_from([20, 24]), "packed or unpacked size")
    claimed = int.from_bytes(content[at + field : at + field + 4], "little") + data.draw(st.integers(1, 1 << 30), "more")
    content[at + field : at + field + 4] = claimed.to_bytes(4, "little")
    with pytest.raises(zipfile.BadZipFile, match=r"claims \d+ bytes; \d+ are stored"):
        check(bytes(content))


def test_members_inside_members_are_refused():
    with pytest.raises(zipfile.BadZipFile, match=r"'m00001' at byte 36 lies inside member 'm00000', which ends at byte \d+"):
        check(overlapping(150, 1 << 16))


def test_what_unpacks_to_far_more_is_refused():
    content = zipped({"a": (b"\0" * (most_unpacked(0) + 1), True)})
    assert len(content) < 1 << 20
    with pytest.raises(zipfile.BadZipFile, match=r"claim 268435457 bytes, from a file of \d+; the limit is 268435456 bytes"):
        check(content)


def test_methods_and_names():
    with pytest.raises(zipfile.BadZipFile, match="compressed by method 8; allowed: stored"):
        check(zipped({"a": (b"abc", True)}), (zipfile.ZIP_STORED,))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"abc" * 100, zipfile.ZIP_LZMA)
    with pytest.raises(zipfile.BadZipFile, match="compressed by method 14; allowed: stored or deflated"):
        check(out.getvalue())
