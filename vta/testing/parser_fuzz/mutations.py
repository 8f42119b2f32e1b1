"""Random damage to bytes and to text, whatever they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

__all__ = ["Mutation", "mutate_bytes", "mutate_lines", "mutate_text", "mutate_words"]

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""Damages bytes; the third argument are other whole files of the same kind."""

_MOST_BYTES = 1 << 20
_INTERESTING = (0, 1, 2, 3, 4, 7, 8, 16, 127, 128, 255, 256, 1 << 15, (1 << 16) - 1, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31)
_WIDE = (*_INTERESTING, (1 << 32) - 1, 1 << 32, 10**12, (1 << 62), (1 << 63) - 1, (1 << 64) - 1)
_NUMBERS = (
    b"0", b"-1", b"1", b"2", b"3", b"7", b"1e400", b"-1e400", b"NaN", b"0.5", b"1e9", b"1000000000", b"1000000000000", b"65536",
    b"4294967296", b"9223372036854775807", b"18446744073709551616", b"9" * 400, b"9" * 5000, b"1_0", b"0x10", b"",
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def mutate_bytes(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Flip, overwrite, insert, remove or repeat some bytes, cut the end off, or go on as another file."""
    changed = bytearray(data)
    at = rng.randrange(len(changed) + 1)
    length = min(len(changed) - at, rng.choice((1, 1, 2, 4, 8, 16, 64, 1024)))
    match rng.randrange(9):
        case 0 if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        case 1 if changed:
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x7B, 0x5B, 0x0A))
        case 2:
            changed[at:at] = rng.randbytes(rng.choice((1, 2, 4, 8, 100)))
        case 3:
            del changed[at : at + length]
        case 4:
            changed[at:at] = changed[at : at + length]
        case 5:
            changed[at:at] = bytes(changed[at : at + length]) * min(10_000, _MOST_BYTES // (length + 1))
        case 6:
            del changed[at:]
        case 7:
            other = rng.choice(others)
            changed[at:] = other[rng.randrange(len(other) + 1) :]
        case _:
            return mutate_words(data, rng, others)
    return bytes(changed[:_MOST_BYTES])


def mutate_words(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Overwrite a number of one to eight bytes, mostly at a multiple of its size: lengths, offsets and counts look like that."""
    size = rng.choice((1, 2, 4, 4, 4, 8))
    if len(data) < size:
        return data
    at = rng.randrange(len(data) - size + 1)
    at -= at % size if rng.random() < 0.8 else 0
    order: str = rng.choice(("little", "little", "big"))
    old = int.from_bytes(data[at : at + size], order)  # type: ignore[arg-type]
    new = rng.choice((rng.choice(_WIDE), old + rng.choice((-8, -4, -1, 1, 4, 8)), len(data), len(data) - at, -old))
    return data[:at] + (new % (1 << 8 * size)).to_bytes(size, order) + data[at + size :]  # type: ignore[arg-type]


def mutate_text(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace one of the numbers, or put one word in the place of another."""
    numbers = list(_NUMBER.finditer(data))
    if numbers and rng.random() < 0.6:
        found = rng.choice(numbers)
        return data[: found.start()] + rng.choice(_NUMBERS) + data[found.end() :]
    words = list(re.finditer(rb"[\w.-]+|[^\w\s]", data))
    if not words:
        return data
    found, taken = rng.choice(words), rng.choice(words)
    word = rng.choice((taken[0], b"", taken[0] * 5000, b"\xff", b"\x00", b"\xed\xa0\x80", b"\x1b[31m", "é☃".encode()))
    return data[: found.start()] + word + data[found.end() :]


def mutate_lines(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Remove, repeat, swap, cut, join or empty lines, or take one of another file."""
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(7):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines[first] = lines[first][: rng.randrange(len(lines[first]) + 1)]
        case 4:
            lines[first : first + 2] = [b"".join(lines[first : first + 2])]
        case 5:
            lines[first] = rng.choice((b"", b" ", b"\t", b"#", b";", b"\r", b"-", b"," * 50, b'"', b"a" * 100_000))
        case _:
            lines[first] = rng.choice(rng.choice(others).split(b"\n"))
    return b"\n".join(lines)
