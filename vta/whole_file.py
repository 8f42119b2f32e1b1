"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

__all__ = ["whole_file", "write_together", "write_whole"]


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


def write_together(directory: Path, contents: Mapping[str, bytes], private: Collection[str] = ()) -> None:
    """Write files that are of use only together, by name, into `directory`: all of them or none.

    The directory is made if it is not there, and is then as it was before if that fails. Those in `private` only their owner
    may read. Raises `FileExistsError` if one is there already.
    """
    given = Path(os.path.realpath(directory))
    missing = [parent for parent in (given, *given.parents) if not parent.exists()]
    placed: list[Path] = []
    try:
        given.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".together-", dir=given) as beside:
            for name, content in contents.items():
                mode = 0o600 if name in private else 0o666
                with open(os.open(Path(beside) / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                    stream.write(content)
            for name in contents:
                if os.path.lexists(given / name):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(given / name))
                os.rename(Path(beside) / name, given / name)
                placed.append(given / name)
    except BaseException:
        for path in placed:
            with contextlib.suppress(OSError):
                path.unlink()
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise
