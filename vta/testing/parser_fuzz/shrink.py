"""Makes a failing file small."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["shrink"]


def shrink(content: bytes, fails: Callable[[bytes], bool], tries: int) -> bytes:
    """Remove ever smaller pieces of `content` as long as it `fails`, with at most `tries` questions."""
    size = max(1, len(content) // 2)
    while size and tries > 0:
        at = 0
        while at < len(content) and tries > 0:
            smaller = content[:at] + content[at + size :]
            tries -= 1
            if fails(smaller):
                content = smaller
            else:
                at += size
        size //= 2
    return content
