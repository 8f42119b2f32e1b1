"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

__all__ = ["whole_file", "write_whole"]


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a path beside `path`, of the same suffix, to write to: the file there becomes `path` when the block ends.

    If the block raises, `path` stays as it was and nothing is left beside it. What is no regular file, such as /dev/null, is
    written to directly; a symbolic link stays and the file that it names is replaced.
    """
    given = Path(path)
    if given.exists() and not given.is_file():
        yield given
        return
    target = Path(os.path.realpath(given))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content`, text as UTF-8, to `path`, which a reader never sees half written."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
