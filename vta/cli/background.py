"""Commands that run until they are stopped, in the foreground or detached."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from vta.cli.options import output_file, positive
from vta.errors import RemoteError
from vta.files.atomic_file import write_whole

__all__ = ["add_background", "run_or_detach"]

_READY = "VTA_READY_FD"


def add_background(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that runs until it is stopped."""
    group = parser.add_argument_group("running")
    group.add_argument("--detach", action="store_true", help="return when it listens, and let it run on by itself")
    group.add_argument("--pid-file", type=output_file, metavar="FILE", help="write its process number here; 'kill' ends it")
    group.add_argument("--address-file", type=output_file, metavar="FILE", help="write here where it listens, as HOST:PORT")
    group.add_argument(
        "--idle-limit", type=positive, metavar="SECONDS", help="end when nobody has asked for anything for so long"
    )


def run_or_detach(options: argparse.Namespace, what: str, make: Callable[[], Any], module: str = "vta.cli.main") -> None:
    """Run what `make` returns until it is stopped, or have another process do that.

    `what` names it, and `module` is the one whose command line this is.
    """
    if options.detach:
        _detach(what, module)
        return
    from vta.rpc.daemon import run_daemon

    def ready(daemon: Any) -> None:
        address = daemon.address
        if daemon.problem and _READY in os.environ:
            raise RemoteError(f"the {what} on {address} is not available: {daemon.problem}")
        # Whoever waits for one of these finds it listening.
        for path, text in ((options.pid_file, str(os.getpid())), (options.address_file, str(address))):
            if path is not None:
                write_whole(path, text + "\n")
        line = f"{what} on {address}, process {os.getpid()}"
        print(line, flush=True)
        _tell_starter(line)

    try:
        run_daemon(make, ready, options.idle_limit)
    finally:
        for path in (options.pid_file, options.address_file):
            if path is not None:
                path.unlink(missing_ok=True)


def _detach(what: str, module: str) -> None:
    """Start this command again without --detach, and return when it says that it listens."""
    reader, writer = os.pipe()
    arguments = [argument for argument in sys.argv[1:] if argument != "--detach"]
    command = [sys.executable, "-m", module, *arguments]
    environment = {**os.environ, _READY: str(writer)}
    with open(reader) as lines:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[writer],
            start_new_session=True,
            text=True,
        )
        os.close(writer)
        line = lines.readline().strip()
    if line:
        assert process.stderr is not None, "it is a pipe"
        process.stderr.close()
        print(line)
        return
    words = process.communicate()[1].strip().splitlines()
    raise RemoteError(words[-1].partition("error: ")[2] or words[-1] if words else f"the {what} ended without a word")


def _tell_starter(line: str) -> None:
    """Write `line` to the process that detached this one, if any, and let go of its standard error."""
    descriptor = os.environ.pop(_READY, None)
    if descriptor is not None:
        with open(int(descriptor), "w") as stream:
            stream.write(line + "\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
