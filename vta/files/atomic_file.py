"""Files that appear whole or not at all, and what is said when one cannot be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import resource
import signal
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import FrameType

from vta.errors import WriteError

__all__ = [
    "make_folder",
    "reason_of",
    "remove_unfinished",
    "unfinished",
    "whole_file",
    "write_together",
    "write_whole",
    "writing",
]

_FULL = (errno.ENOSPC, errno.EDQUOT, None)
"""None is what NumPy leaves of the cause when a file takes only a part of an array."""

_KEPT_OF_NAMES = 40
"""Characters of a name in that of the file beside it, which may not be longer than the system allows."""

_ENDING = tuple(number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP"))
"""What ends a process without a word to it, unless somebody handles it."""

_FILES: list[tuple[int, Path]] = []
"""With the process that writes it: one that was forked off has nothing to do with those of its parent."""


@contextlib.contextmanager
def whole_file(path: str | Path, what: str = "the file") -> Iterator[Path]:
    """Give a path beside `path`, of the same suffix, to write to: the file there becomes `path` when the block ends.

    If the block raises, or the process is asked to end, `path` stays as it was and nothing is left beside it. The disk has the
    file before it takes its name, so that a machine that loses its power keeps the old one or the new one. What is no regular
    file, such as /dev/null, is written to directly; a symbolic link stays and the file that it names is replaced. Raises
    `WriteError` naming `path` and `what` was being written, in words, if it cannot be.
    """
    given = Path(path)
    with writing(given, what, given):
        direct = given.exists() and not given.is_file()
    if direct:
        with writing(given, what, given):
            yield given
        return
    target = Path(os.path.realpath(given))
    temporary = target.with_name(f".{target.stem[:_KEPT_OF_NAMES]}.{os.urandom(6).hex()}{target.suffix}")
    with unfinished(temporary), writing(given, what, temporary):
        yield temporary
        _reach_the_disk(temporary)
        os.replace(temporary, target)


def _reach_the_disk(path: Path) -> None:
    """Wait until the disk has a file; most take 5 to 25 ms."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: str | Path, content: str | bytes, what: str = "the file") -> None:
    """Write `content`, text as UTF-8, to `path`, which a reader never sees half written. Raises like `whole_file`.

    Names of files may have bytes that are no UTF-8; in a text they are shown as escapes.
    """
    with whole_file(path, what) as temporary:
        temporary.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


def write_together(directory: Path, contents: Mapping[str, bytes], private: Collection[str] = ()) -> None:
    """Write files that are of use only together, by name, into `directory`: all of them or none.

    The directory is made if it is not there, and is then as it was before if that fails. Those in `private` only their owner
    may read. Raises `FileExistsError` if one is there already, and `WriteError` if they cannot be written.
    """
    # The modules behind this one take a moment to import.
    import tempfile

    given = Path(os.path.realpath(directory))
    missing = [parent for parent in (given, *given.parents) if not parent.exists()]
    placed: list[Path] = []
    try:
        make_folder(given)
        with tempfile.TemporaryDirectory(prefix=".together-", dir=given) as beside, unfinished(Path(beside)):
            for name, content in contents.items():
                mode = 0o600 if name in private else 0o666
                with open(os.open(Path(beside) / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                    stream.write(content)
            for name in contents:
                if os.path.lexists(given / name):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(given / name))
                os.rename(Path(beside) / name, given / name)
                placed.append(given / name)
    except BaseException as error:
        for path in placed:
            with contextlib.suppress(OSError):
                path.unlink()
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError) and not isinstance(error, (WriteError, FileExistsError)):
            raise _refused(directory, "the files in it", error, reason_of(error, given)) from None
        raise


def make_folder(path: str | Path) -> None:
    """Make a folder, and those above it, unless it is there. Raises `WriteError` naming it if that cannot be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "there is a file of this name" if isinstance(error, FileExistsError) else reason_of(error, folder)
        raise _refused(path, "the folder", error, reason) from None


@contextlib.contextmanager
def writing(path: str | Path, what: str, own: str | Path | None = None) -> Iterator[None]:
    """Turn what the system raises while the block writes `what` to `path` into a `WriteError` that names `path`.

    `own` is the file that is written in the place of `path`; errors that name another file pass, and so does a broken pipe.
    """
    try:
        yield
    except (WriteError, BrokenPipeError):
        raise
    except OSError as error:
        # A copy that fails names its source, and then its target.
        named = error.filename if error.filename2 is None else error.filename2
        if named is not None and os.fspath(named) not in (str(path), str(own)):
            raise
        raise _refused(path, what, error, reason_of(error, Path(own or path))) from None


def _refused(path: str | Path, what: str, error: OSError, reason: str) -> WriteError:
    return WriteError(f"{path}: {what} cannot be written: {reason}", error.errno, reason, str(path))


def reason_of(error: OSError, path: Path) -> str:
    """Why a file cannot be written, in words: with the bytes that are free, or the limit, where there is no room."""
    reason = error.strerror or str(error)
    if error.errno in _FULL and (path.is_file() or not path.exists()):
        return f"{reason}; {_free_bytes(path)} bytes are free there"
    if error.errno == errno.EFBIG:
        return f"{reason}; files may have {resource.getrlimit(resource.RLIMIT_FSIZE)[0]} bytes here (ulimit -f)"
    return reason


def _free_bytes(path: Path) -> int:
    """Of the file system that `path` is on, or would be."""
    for place in (path, *path.absolute().parents):
        with contextlib.suppress(OSError):
            system = os.statvfs(place)
            return system.f_bavail * system.f_frsize
    return 0


@contextlib.contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Remove the file or folder `path`, which need not be there, when the block ends, however it or the process does.

    Only a process that is killed outright, or has handlers of its own for the signals that end it, leaves it; so may a
    second thread, as threads cannot wait for signals.
    """
    entry = (os.getpid(), path)
    _FILES.append(entry)
    ours = _take_signals()
    try:
        yield
    finally:
        _remove(path)
        _FILES.remove(entry)
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def remove_unfinished() -> None:
    """Remove what this process is writing, as it ends now."""
    for process, path in _FILES:
        if process == os.getpid():
            _remove(path)


def _take_signals() -> list[signal.Signals]:
    """Handle the signals that nobody handles; returns them."""
    if threading.current_thread() is not threading.main_thread():
        return []
    found = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in found:
        signal.signal(number, _end)
    return found


def _end(number: int, frame: FrameType | None) -> None:
    remove_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            # Takes a moment to import.
            import shutil

            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


atexit.register(remove_unfinished)
