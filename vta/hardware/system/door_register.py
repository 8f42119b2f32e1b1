"""The register through which the bytes of a simulated system go, as data for its hardware and for who drives it."""

from __future__ import annotations

__all__ = ["BYTE_VALID"]

BYTE_VALID = 1 << 8
"""In what is read: there was a byte, in the lowest bits, and it is taken."""
