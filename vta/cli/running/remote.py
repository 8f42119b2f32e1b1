"""The options of commands that use devices on other machines, and what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vta.cli.options import positive

if TYPE_CHECKING:
    from vta.rpc.client.session import Session
    from vta.rpc.wire.security import Security

__all__ = ["add_remote", "add_security", "add_tracker", "check_remote_options", "open_session", "security_of"]


def add_security(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --certs and --insecure."""
    parser.add_argument(
        "--certs", type=Path, metavar="DIR", help="certificates that 'vta rpc certs' made: both sides prove who they are"
    )
    parser.add_argument("--insecure", action="store_true", help="talk to other machines without certificates")


def security_of(options: argparse.Namespace) -> Security:
    """What --certs and --insecure ask for."""
    from vta.rpc.wire.security import Security

    return Security(options.certs, options.insecure)


def add_tracker(parser: argparse.ArgumentParser) -> None:
    """Add --tracker and what belongs to it."""
    group = parser.add_argument_group("remote devices")
    group.add_argument("--tracker", metavar="HOST:PORT", help="measure on devices of this tracker, on all at once")
    group.add_argument("--key", metavar="KEY", help="which devices of the tracker")
    group.add_argument("--priority", type=int, default=0, metavar="N", help="in the queue, higher goes first (default: 0)")
    group.add_argument(
        "--timeout", type=positive, default=10.0, metavar="SECONDS", help="longest trial on a device (default: %(default)g)"
    )
    add_security(group)


def add_remote(parser: argparse.ArgumentParser, limit: bool = True) -> None:
    """Add --remote and what belongs to it, with `limit` that of a run."""
    group = parser.add_argument_group("remote devices")
    group.add_argument("--remote", metavar="HOST:PORT", help="run on a device of this tracker; without --key, of this server")
    group.add_argument("--key", metavar="KEY", help="which devices of the tracker will do")
    group.add_argument("--priority", type=int, default=0, metavar="N", help="in the queue, higher goes first (default: 0)")
    group.add_argument(
        "--wait", type=positive, default=60.0, metavar="SECONDS", help="longest wait for a free device (default: %(default)g)"
    )
    if limit:
        group.add_argument("--limit", type=positive, metavar="SECONDS", help="longest run (default: the server's limit)")
    add_security(group)


def check_remote_options(options: argparse.Namespace) -> None:
    """Raise `UsageError` for options that exclude each other."""
    from vta.errors import UsageError

    if options.remote is None:
        # What limits a run of 'vta run' counts samples elsewhere.
        limit = ("limit",) if options.command == "run" else ()
        for name in ("key", "certs", "insecure", *limit):
            if getattr(options, name):
                raise UsageError(f"--{name} needs --remote")
        return
    if getattr(options, "check", False) and options.order is not None:
        raise UsageError("--check with --remote runs in program order: leave --order out")
    host = getattr(options, "host", None)
    if host not in (None, "reference"):
        raise UsageError(f"--host {host} is for devices of this machine: with --remote the server computes the host part")
    given = ("device_config", "timing", "bus_bits", "preset", "trace", "timing_only", "kernel", "platform")
    for name in (*given, "design", "bitstream", "bitstreams", "link"):
        if getattr(options, name, None):
            option = name.removeprefix("device_").replace("_", "-")
            raise UsageError(f"--{option} is the server's to say: it has the device")


def open_session(options: argparse.Namespace) -> Session:
    """Lease the device that `options` ask for."""
    from vta.rpc.client.connect import connect, lease

    security = security_of(options)
    if options.key is None:
        return connect(options.remote, security=security)
    return lease(options.remote, options.key, options.wait, options.priority, security=security)
