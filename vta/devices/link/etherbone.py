"""Packets of Etherbone, as bytes.

After the public specification (CERN, "EtherBone Core Functional Specification"), with addresses and words of 32 bits: a head of
8 bytes, and one record, that writes words to consecutive addresses or reads words at any addresses. What is read comes back as
a record that writes to the address that the question named; here that is a tag. A probe asks whether anyone is there. All
numbers begin with their highest byte.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass

__all__ = ["MOST_READS", "MOST_WRITES", "Answer", "ProbeAnswer", "parse_packet", "probe_packet", "read_packet", "write_packet"]

MOST_READS = 252
"""Words of a record: what LiteEth's core, which takes one record in a packet, has place for with its addresses."""
MOST_WRITES = 252

_MAGIC, _VERSION = 0x4E6F, 1
_PROBE, _PROBE_ANSWER, _NO_READS = 1, 2, 4
_SIZES = 0x44
"""Addresses and words of 4 bytes."""
_ALL_BYTES = 0xF
_PACKET, _RECORD = struct.Struct(">HBBI"), struct.Struct(">BBBBI")


@dataclass(frozen=True)
class Answer:
    """Words that were read."""

    tag: int
    words: NDArray[np.uint32]


@dataclass(frozen=True)
class ProbeAnswer:
    """Someone is there."""


def probe_packet(tag: int) -> bytes:
    """Ask whether anyone is there. What follows the head is sent back."""
    return _head(_PROBE) + tag.to_bytes(4, "big")


def read_packet(tag: int, addresses: NDArray[np.uint32]) -> bytes:
    """Ask for the words at byte addresses, shape (n,), at most `MOST_READS`; the answer has `tag`, of 32 bits."""
    return _head(0) + _RECORD.pack(0, _ALL_BYTES, 0, len(addresses), tag) + addresses.astype(">u4").tobytes()


def write_packet(address: int, words: NDArray[np.uint32]) -> bytes:
    """Write `words`, shape (n,), at most `MOST_WRITES`, from a byte address on. Nobody answers."""
    return _head(_NO_READS) + _RECORD.pack(0, _ALL_BYTES, len(words), 0, address) + words.astype(">u4").tobytes()


def parse_packet(data: bytes) -> Answer | ProbeAnswer:
    """What a board answered. Raises `ValueError` saying what is wrong, with the value and what is expected."""
    if len(data) < _PACKET.size:
        raise ValueError(f"a packet of {len(data)} bytes; Etherbone's have {_PACKET.size} or more")
    magic, flags, sizes, _ = _PACKET.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError(f"a packet that begins with {magic:#06x}; Etherbone's begin with {_MAGIC:#06x}")
    if flags >> 4 != _VERSION:
        raise ValueError(f"Etherbone of version {flags >> 4}; expected {_VERSION}")
    if sizes != _SIZES:
        raise ValueError(f"Etherbone with the widths {sizes:#04x}; expected {_SIZES:#04x}, for 32 bits")
    if flags & _PROBE_ANSWER:
        return ProbeAnswer()
    body = data[_PACKET.size :]
    if len(body) < _RECORD.size:
        raise ValueError(f"a record of {len(body)} bytes; allowed: {_RECORD.size} or more")
    _, _, writes, reads, tag = _RECORD.unpack_from(body)
    words = body[_RECORD.size :]
    if reads or len(words) != 4 * writes:
        raise ValueError(f"a record of {writes} words written and {reads} read in {len(words)} bytes")
    return Answer(tag, np.frombuffer(words, dtype=">u4").astype(np.uint32))


def _head(flags: int) -> bytes:
    return _PACKET.pack(_MAGIC, _VERSION << 4 | flags, _SIZES, 0)
