"""`vta rpc`: trackers, servers, their queue and their certificates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.background import add_background, run_or_detach
from vta.cli.options import (
    HelpFormatter,
    add_config,
    add_debug,
    add_device,
    add_json,
    byte_count,
    existing_file,
    integer,
    positive,
)
from vta.cli.running.cycles import add_cycle_device
from vta.cli.running.remote import add_security, security_of
from vta.cli.terminal.output import Output

if TYPE_CHECKING:
    from vta.rpc.client.session import DeviceDescription
    from vta.rpc.wire.limits import Limits

__all__ = ["register"]

TRACKER_PORT = 9190
SERVER_PORT = 9091

_EXAMPLES = """\
examples:
  vta rpc tracker                                           on 127.0.0.1:9190
  vta rpc server --tracker 127.0.0.1:9190 --key sim         a functional simulator, for who asks for 'sim'
  vta rpc server --device pynq --bitstreams bits            on a board: the board itself
  vta rpc program made.bit --host board.lan --config sim_4x8 --certs certs
  vta rpc query                                             who has what
  vta run net.vta --remote 127.0.0.1:9190 --key sim --check
  vta rpc certs certs --host board.lan                      for other machines than this one
  vta rpc tracker --host 0.0.0.0 --certs certs
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "rpc",
        help=summary,
        description="A tracker knows servers, and each server has a device. Clients lease devices from the tracker by key.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_tracker(actions)
    _add_server(actions)
    query = _add(actions, "query", "print how many devices there are of each key, and who waits", _query)
    _add_address(query, TRACKER_PORT, "the tracker")
    add_security(query)
    add_json(query)
    describe = _add(actions, "describe", "print which device a server has", _describe)
    _add_address(describe, SERVER_PORT, "the server")
    add_security(describe)
    add_json(describe)
    _add_program(actions)
    certs = _add(actions, "certs", "make certificates for trackers and servers, and for clients", _certs)
    certs.add_argument("directory", type=Path, metavar="DIR", help="where to write them")
    certs.add_argument(
        "--host", action="append", default=[], metavar="NAME", help="a tracker's or server's name or IP address (repeat)"
    )
    certs.add_argument("--days", type=integer(1, 36500), default=365, metavar="N", help="how long they are good (default: 365)")


def _add_tracker(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tracker = _add(actions, "tracker", "run a tracker", _tracker)
    _add_address(tracker, TRACKER_PORT, "where it listens")
    _add_common(tracker)


def _add_server(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    server = _add(actions, "server", "run a server, which has one device", _server)
    _add_address(server, 0, "where it listens", "any free one")
    server.add_argument("--tracker", metavar="HOST:PORT", help="tracker to register with (default: none; clients come directly)")
    server.add_argument("--key", default="", metavar="KEY", help="what clients of the tracker ask for")
    server.add_argument("--advertise", default="", metavar="HOST", help="host that clients reach it by (default: that of --host)")
    add_config(server, required=False)
    add_device(server)
    add_cycle_device(server)
    server.add_argument(
        "--allow-host-code",
        action="store_true",
        help="run Python code that clients send, in the process that has the device; without it only compiled networks run",
    )
    limits = server.add_argument_group("limits")
    limits.add_argument(
        "--session-limit", type=positive, default=3600.0, metavar="SECONDS", help="longest session (default: %(default)g)"
    )
    limits.add_argument("--run-limit", type=positive, default=600.0, metavar="SECONDS", help="longest run (default: %(default)g)")
    limits.add_argument(
        "--process-memory",
        type=byte_count,
        default=2 << 30,
        metavar="BYTES",
        help="memory of the process with the device, for the files and runs of a client (default: 2G)",
    )
    limits.add_argument(
        "--code-memory", type=byte_count, default=1 << 30, metavar="BYTES", help="memory for the code of a client (default: 1G)"
    )
    limits.add_argument(
        "--upload-limit", type=byte_count, default=1 << 30, metavar="BYTES", help="largest file or inputs (default: 1G)"
    )
    _add_common(server)


def _add_program(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    program = _add(actions, "program", "put a bitstream into the fabric of a board", _program)
    program.add_argument("bitstream", type=existing_file, metavar="FILE", help="the bitstream: a .bit or .rbf file")
    _add_address(program, SERVER_PORT, "the server")
    program.add_argument("--tracker", metavar="HOST:PORT", help="lease the board from this tracker instead")
    program.add_argument("--key", default="", metavar="KEY", help="what to ask the tracker for")
    program.add_argument(
        "--wait", type=positive, default=60.0, metavar="SECONDS", help="longest wait for a free board (default: %(default)g)"
    )
    add_config(program, required=False)
    program.add_argument(
        "--design", default="", metavar="NAME", help="the board's design that it is (default: what it says, or the server's)"
    )
    add_security(program)
    add_json(program)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--heartbeat", type=positive, default=2.0, metavar="SECONDS", help="between two signs of life (default: %(default)g)"
    )
    parser.add_argument(
        "--silence", type=positive, default=10.0, metavar="SECONDS", help="silence that counts as death (default: %(default)g)"
    )
    add_security(parser)
    add_background(parser)


def _add(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    run: Callable[[argparse.Namespace], None],
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text, description=text.capitalize() + ".", formatter_class=HelpFormatter)
    add_debug(parser)
    parser.set_defaults(run=run)
    return parser


def _add_address(parser: argparse.ArgumentParser, port: int, what: str, default: str = "") -> None:
    parser.add_argument("--host", default="127.0.0.1", help=f"{what} (default: %(default)s)")
    shown = default or "%(default)s"
    parser.add_argument("--port", type=integer(0, 65535), default=port, metavar="N", help=f"its port (default: {shown})")


def _tracker(options: argparse.Namespace) -> None:
    def make() -> Any:
        from vta.rpc.tracker.tracker import Tracker
        from vta.rpc.wire.address import Address

        return Tracker(Address(options.host, options.port), security_of(options), _limits(options))

    run_or_detach(options, "tracker", make)


def _server(options: argparse.Namespace) -> None:
    def say(line: str) -> None:
        print(f"server: {line}", file=sys.stderr, flush=True)

    def make() -> Any:
        from vta.cli.running.session import default_config, device_spec
        from vta.config.hardware import HardwareConfig
        from vta.errors import UsageError
        from vta.rpc.server.server import DeviceServer
        from vta.rpc.wire.address import Address, parse_address

        if bool(options.tracker) != bool(options.key):
            raise UsageError("--tracker and --key go together")
        hw = HardwareConfig.named(options.config or default_config(options))
        return DeviceServer(
            Address(options.host, options.port),
            hw,
            device_spec(hw, options),
            parse_address(options.tracker) if options.tracker else None,
            options.key,
            security_of(options),
            _limits(options),
            options.advertise,
            allow_host_code=options.allow_host_code,
            say=say,
        )

    run_or_detach(options, "server", make)


def _query(options: argparse.Namespace) -> None:
    from vta.rpc.client.connect import query
    from vta.rpc.wire.address import Address
    from vta.support.table import make_table

    output = Output(options.json)
    queue = query(Address(options.host, options.port), security_of(options))
    rows = [(row.key, row.total, row.free, row.pending) for row in queue.rows]
    output.show(make_table(("key", "total", "free", "pending"), rows))
    for server in queue.servers:
        if server.reason:
            output.line(f"{server.address} ({server.key}) is down: {server.reason}")
    output.result(
        {
            "keys": {row.key: {"total": row.total, "free": row.free, "pending": row.pending} for row in queue.rows},
            "servers": [
                {"address": s.address, "key": s.key, "state": s.state.value, "reason": s.reason, "device": s.device}
                for s in queue.servers
            ],
        }
    )


def _describe(options: argparse.Namespace) -> None:
    from vta.cli.terminal.output import size
    from vta.rpc.client.connect import describe_device
    from vta.rpc.wire.address import Address

    output = Output(options.json)
    found = describe_device(Address(options.host, options.port), security_of(options))
    output.line(f"device {found.device} with {size(found.memory_bytes)} of memory, {'in use' if found.busy else 'free'}")
    for name, value in found.hw.to_json().items():
        output.line(f"  {name}: {value}")
    if found.timing is not None:
        output.line("timing: " + ", ".join(f"{name} {value}" for name, value in found.timing.to_json().items()))
    if found.host_code:
        output.line("runs code of its clients")
    if found.board is not None:
        held = f"bitstream {found.board.sha256[:12]}" if found.board.sha256 else "a bitstream that somebody else put there"
        output.line(f"board {found.board.board}, design {found.board.design} at {found.board.clock_mhz:g} MHz, {held}")
    output.result(_described(found))


def _described(found: DeviceDescription) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "device": found.device,
        "config": found.hw.to_json(),
        "timing": None if found.timing is None else found.timing.to_json(),
        "memory_bytes": found.memory_bytes,
        "busy": found.busy,
        "host_code": found.host_code,
        "board": None if found.board is None else asdict(found.board),
    }


def _program(options: argparse.Namespace) -> None:
    from vta.config.hardware import HardwareConfig
    from vta.errors import UsageError
    from vta.rpc.client.connect import connect, lease
    from vta.rpc.wire.address import Address

    if bool(options.tracker) != bool(options.key):
        raise UsageError("--tracker and --key go together")
    output = Output(options.json)
    security = security_of(options)
    hw = HardwareConfig.named(options.config) if options.config else None
    if options.tracker:
        session = lease(options.tracker, options.key, options.wait, security=security)
    else:
        session = connect(Address(options.host, options.port), security=security)
    with session, output.progress() as progress:
        progress("programming")
        session.program(options.bitstream, hw, keep=True, design=options.design)
        found = session.description
    assert found.board is not None, "only a board takes a bitstream"
    output.line(f"{session.peer.address}: {found.board.board} holds {found.board.design} {found.hw.bitstream}")
    output.result({"address": str(session.peer.address), **_described(found)})


def _certs(options: argparse.Namespace) -> None:
    from vta.rpc.certificates import write_certificates

    output = Output(False)
    for path in write_certificates(options.directory, options.host, options.days):
        output.line(str(path))
    output.line("trackers and servers need ca.pem, server.pem and server.key, clients ca.pem, client.pem and client.key")


def _limits(options: argparse.Namespace) -> Limits:
    from vta.errors import UsageError
    from vta.rpc.wire.limits import Limits

    if options.silence < 2 * options.heartbeat:
        raise UsageError(f"--silence {options.silence:g} must be at least twice --heartbeat {options.heartbeat:g}")
    limits = Limits(heartbeat_seconds=options.heartbeat, silence_seconds=options.silence, grant_seconds=options.silence)
    if hasattr(options, "run_limit"):
        from dataclasses import replace

        limits = replace(
            limits,
            session_seconds=options.session_limit,
            run_seconds=options.run_limit,
            upload_bytes=options.upload_limit,
            process_bytes=options.process_memory,
            code_bytes=options.code_memory,
        )
    return limits
