"""Damage to JSON, YAML, protocol buffers, archives and arrays that leaves their outer form whole: it is met further in."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from vta.testing.parser_fuzz.mutations import mutate_bytes, mutate_text, mutate_words

__all__ = ["mutate_json", "mutate_messages", "mutate_npy", "mutate_vta", "mutate_yaml", "mutate_zip"]

_MARK = "\x00number\x00"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 1 << 31, 1 << 40, 1 << 63, 1 << 64, 0.5, -0.0, float("inf"), float("nan"), "", "a",
    "x" * 5000,    "\x1b[31m", "é", "\ud800", "0", "None", "(1, 1)", "(1000000, 1000000)", "(0, 0)",
    "float64", "bool", [], {}, [[]], [0, 0],
    [1, 1, 1000000, 1000000], [1 << 62], {"float": "nan"}, {"function": 0}, {"a": 1}, "../../etc/passwd", "/dev/zero",
)  # fmt: skip
_RAW = ("1e400", "9" * 5000, "[" * 5000 + "]" * 5000, "-", "0x1", '{"a": 1, "a": 2}', "NaN", "01")
_YAML = (
    b"2020-13-45", b"!!bool x", b"!!int ''", b"!!float x", b"!!binary '*'", b"!!timestamp x", b"!!python/object:os.x {}",
    b"*a", b"&a [*a]", b"&a {b: *a}", b"{<<: 3}", b"{<<: [1]}", b"? [1]", b"{[1]: 2}", b"[" * 2000, b"{a: " * 500, b"'",
    b"|", b">-", b"!<x> 1", b"0x" + b"f" * 5000, b"1:59:59:59", b"1" + b":59" * 3000, b".inf", b"-.nan", b"%", b"@", b"`",
    b"\t", b"[&b [1,1],*b,*b]", b"!!set {a}", b"!!omap [a]", b"!!pairs [1]", b"~", b"2001-01-01T00:00:00+99:99", b"9" * 5000,
    b"\x00", b"null: null", b"!!str {a: b}", b"!!seq a", b"!!map a", b"!!null x", b"---", b"...", b"0b2", b"0o9",
    b"190:20:30.15", b"!!binary YQ==",
)  # fmt: skip


def mutate_json(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change, remove, repeat or move one value of a JSON text."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_text(data, rng, others)
    places = _places(document)
    if not places:
        return mutate_text(data, rng, others)
    holder, key = rng.choice(places)
    raw = ""
    match rng.randrange(7):
        case 0:
            del holder[key]
        case 1:
            _, _ = holder, key
            other, there = rng.choice(places)
            holder[key] = other[there]
        case 2 if isinstance(holder, dict):
            holder[rng.choice(("", "a", "x" * 5000, f"{key}x", "\ud800"))] = holder.pop(key)
        case 3 if isinstance(holder, list):
            holder[key:key] = [holder[key]] * rng.choice((1, 2, 1000))
        case 4:
            raw = rng.choice(_RAW)
            holder[key] = _MARK
        case 5 if isinstance(holder[key], int):
            holder[key] += rng.choice((-1, 1, 2, 1 << 16))
        case _:
            holder[key] = rng.choice(_VALUES)
    try:
        text = json.dumps(document)
    except (ValueError, RecursionError):
        return data
    return text.replace(json.dumps(_MARK), raw).encode() if raw else text.encode()


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every value of a document, as what holds it and the key or index there."""
    places: list[tuple[Any, Any]] = []
    pending = [document]
    while pending:
        holder = pending.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        places += ((holder, key) for key in keys)
        pending += (holder[key] for key in keys)
    return places


def mutate_yaml(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Put something that YAML reads in its own way in the place of a value, or before all."""
    lines = data.split(b"\n")
    index = rng.randrange(len(lines))
    value = rng.choice(_YAML)
    key, colon, _ = lines[index].partition(b": ")
    match rng.randrange(4):
        case 0:
            lines[index] = key + (colon or b": ") + value
        case 1:
            lines.insert(index, b"k: " + value)
        case 2:
            lines[index] = lines[index].replace(key, value, 1)
        case _:
            depth = rng.choice((3, 8, 30))
            inner = [b"&l0 [x,x,x,x,x,x,x,x,x]"]
            inner += (b"&l%d [%s]" % (level, b",".join([b"*l%d" % (level - 1)] * 9)) for level in range(1, depth))
            lines.insert(index, b"z: [" + b",".join(inner) + b"]")
    return b"\n".join(lines)


def mutate_messages(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Change, remove, repeat or move one field of a protocol buffer, however deep; the lengths around it are made right."""
    fields = _fields(data)
    if not fields:
        return mutate_bytes(data, rng, others)
    index = rng.randrange(len(fields))
    number, kind, value = fields[index]
    inner = _fields(value) if isinstance(value, bytes) else None
    if inner and rng.random() < 0.85:
        assert isinstance(value, bytes)
        fields[index] = (number, kind, mutate_messages(value, rng, others))
        return _encoded(fields)
    match rng.randrange(7):
        case 0:
            del fields[index]
        case 1:
            fields[index:index] = [fields[index]] * rng.choice((1, 1, 2, 1000))
        case 2:
            fields[index] = (rng.randrange(1, 30), kind, value)
        case 3:
            other = rng.choice(fields)
            fields[index] = (number, other[1], other[2])
        case _:
            fields[index] = (number, kind, _other_value(value, rng, others))
    return _encoded(fields)


def _other_value(value: int | bytes, rng: Random, others: Sequence[bytes]) -> int | bytes:
    if isinstance(value, int):
        numbers = (0, 1, 2, 3, 5, 7, 11, 16, 255, 10**6, 1 << 31, 10**12, (1 << 63) - 1, (1 << 64) - 1, value + 1, value - 1)
        return rng.choice(numbers) % (1 << 64)
    if rng.random() < 0.3:
        return rng.choice((b"", b"x" * 5000, b"\xff", b"\x1b[31m", b"\x00", value + value))
    return mutate_bytes(value, rng, [value])


Field = tuple[int, int, "int | bytes"]
"""Number, wire type, and value: an integer for a varint, bytes for what follows in bytes."""


def _fields(data: bytes) -> list[Field]:
    """The fields of a message; empty if the bytes are none."""
    fields: list[Field] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        size = {1: 8, 5: 4}.get(kind, 0)
        value: int | bytes = b""
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
        elif not size:
            return []
        if at < 0 or tag < 8 or at + size > len(data):
            return []
        if kind:
            value = data[at : at + size]
        fields.append((tag >> 3, kind, value))
        at += size
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(10):
        if not 0 <= at + count < len(data):
            break
        value |= (data[at + count] & 0x7F) << 7 * count
        if data[at + count] < 0x80:
            return value, at + count + 1
    return 0, -1 << 40


def _encoded(fields: Sequence[Field]) -> bytes:
    parts = []
    for number, kind, value in fields:
        if isinstance(value, int):
            parts.append(_packed(number << 3) + _packed(value))
        else:
            parts.append(_packed(number << 3 | kind) + (_packed(len(value)) if kind == 2 else b"") + value)
    return b"".join(parts)


def _packed(value: int) -> bytes:
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def mutate_npy(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Let the header of an array claim something else, or damage the array."""
    end = data.find(b"\n")
    if rng.random() < 0.3 or end < 10:
        return mutate_bytes(data, rng, others)
    header = data[10:end]
    claims = (
        (b"'shape': (", b"'shape': (1000000000000, "), (b"'shape': (", b"'shape': (-1, "),
        (b"'shape': (", b"'shape': (0, 4611686018427387904, "), (b"'<f4'", b"'O'"), (b"'<f4'", b"'<f8'"),
        (b"'<f4'", b"'V0'"), (b"'<f4'", b"'<U100000000'"), (b"'<f4'", b"[('a', '<f4')]"), (b"'<f4'", b"'M8[ns]'"),
        (b"'<f4'", b"'>f4'"), (b"'<f4'", b"'|b1'"), (b"False", b"True"), (b"False", b"1"), (b"'shape'", b"'shap'"),
        (b"{", b"{" * 300), (b"(", b"(" * 3000), (b"'<f4'", b"'<c16'"), (b"'<f4'", b"'<i8'"),
    )  # fmt: skip
    old, new = rng.choice(claims)
    header = header.replace(old, new, 1) if rng.random() < 0.7 else mutate_text(header, rng, [header])
    return data[:8] + struct.pack("<H", (len(header) + 1) % (1 << 16)) + header + data[end:]


def mutate_zip(data: bytes, rng: Random, others: Sequence[bytes], member: Callable[..., bytes] = mutate_npy) -> bytes:
    """Damage a member of an archive, or its list of members; checksums of what is damaged inside are made right."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except Exception:
        return mutate_bytes(data, rng, others)
    if not members or rng.random() < 0.35:
        return _with_wrong_list(data, rng, others)
    index = rng.randrange(len(members))
    name, content = members[index]
    match rng.randrange(8):
        case 0:
            del members[index]
        case 1:
            members.append((rng.choice((name, "x", "../x", "x" * 5000, "é", "x.npy")), content))
        case 2:
            members[index] = (members[rng.randrange(len(members))][0], content)
        case 3 if rng.random() < 0.02:
            members[index] = (name, b"\0" * (300 << 20))
        case _:
            members[index] = (name, member(content, rng, [other for _, other in members]))
    return _zipped(members, zipfile.ZIP_DEFLATED if rng.random() < 0.3 or len(content) > 1 << 24 else zipfile.ZIP_STORED)


def _zipped(members: Sequence[tuple[str, bytes]], method: int) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


_ENTRY_FIELDS = ((8, "H"), (10, "H"), (16, "I"), (20, "I"), (24, "I"), (28, "H"), (30, "H"), (32, "H"), (42, "I"))
"""Places in an entry of the list: flags, method, checksum, sizes, lengths, offset."""


def _with_wrong_list(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    starts = [at for at in range(len(data) - 45) if data[at : at + 4] == b"PK\1\2"] if len(data) < 1 << 18 else []
    end = data.rfind(b"PK\5\6")
    if rng.random() < 0.3 and 0 <= end <= len(data) - 22:
        at, kind = rng.choice(((8, "H"), (10, "H"), (12, "I"), (16, "I"), (20, "H")))
        at += end
    elif starts:
        at, kind = rng.choice(_ENTRY_FIELDS)
        at += rng.choice(starts)
    else:
        return mutate_words(data, rng, others)
    size = struct.calcsize(kind)
    value = rng.choice((0, 1, 8, 12, 14, 65535, (1 << 31) - 1, (1 << 32) - 1, int.from_bytes(data[at : at + size], "little") + 1))
    return data[:at] + struct.pack(f"<{kind}", value % (1 << 8 * size)) + data[at + size :]


def mutate_vta(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Damage a member of a `.vta` file; its list of checksums is made right."""

    def member(content: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
        return mutate_json(content, rng, others) if content[:1] == b"{" else mutate_bytes(content, rng, others)

    changed = mutate_zip(data, rng, others, member)
    try:
        with zipfile.ZipFile(io.BytesIO(changed)) as archive:
            names = archive.namelist()
            members = [(name, archive.read(name)) for name in names if name != "sha256"]
    except Exception:
        return changed
    if len(set(names)) < len(names) or rng.random() < 0.1:
        return changed
    lines = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in members)
    return _zipped([("sha256", lines.encode()), *members], zipfile.ZIP_STORED)
