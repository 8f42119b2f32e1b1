"""The script `vta`: the command line in a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn

from vta.support.code_archive import CodeArchive, archive_path
from vta.support.without_collection import without_collection

__all__ = ["script"]


def script() -> NoReturn:
    """Run the command line of the process, and end the process with its status."""
    path = archive_path()
    archive = None if path is None else CodeArchive(path)
    if archive is not None:
        archive.install()
    with without_collection():
        from vta.cli.main import main

    status = main()
    if archive is not None:
        archive.save()
    if threading.active_count() > 1:
        sys.exit(status)
    # What is registered for the end runs, and nothing is left to write. To take every module apart besides, as the interpreter
    # would, takes 20 ms after NumPy: as much as compiling some layers.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)
