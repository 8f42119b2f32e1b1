"""Command line of the stand-ins: `python -m vta.testing.boards`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from vta.boards.files import find_board
from vta.cli.background import add_background, run_or_detach
from vta.cli.options import config_name, existing_file, integer
from vta.cli.terminal.output import count
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import UsageError, VTAError
from vta.files.atomic_file import write_whole
from vta.testing.boards.bench import make_stand_in, stand_in_opener, stand_in_worker
from vta.testing.boards.model import write_bitstream


def main() -> int:
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m vta.testing.boards", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run = commands.add_parser("run", help="run a compiled network through a board's driver, against a stand-in for the board")
    run.add_argument("artifact", type=existing_file, metavar="OUT.vta")
    _add_board(run)
    run.set_defaults(run=_run)
    bitstream = commands.add_parser("bitstream", help="write a file that stands for a bitstream")
    bitstream.add_argument("output", type=Path, metavar="FILE", help="the file: .bit, or .rbf for the DE10-Nano")
    bitstream.add_argument("--config", type=config_name, required=True, metavar="CONFIG")
    _add_board(bitstream)
    bitstream.set_defaults(run=_bitstream)
    server = commands.add_parser("server", help="a server whose device is a stand-in, like 'vta rpc server'")
    server.add_argument("--port", type=integer(0, 65535), default=0, metavar="N")
    server.add_argument("--config", type=config_name, required=True, metavar="CONFIG")
    server.add_argument("--directory", type=Path, required=True, metavar="DIR", help="what the stand-in's fabric holds")
    server.add_argument("--tracker", metavar="HOST:PORT", help="register here, under --key")
    server.add_argument("--key", default="", metavar="KEY", help="what clients ask the tracker for")
    _add_board(server)
    add_background(server)
    server.set_defaults(run=_server)
    system = commands.add_parser("system", help="the RTL of a board's system in simulation, behind the link of its driver")
    system.add_argument("--config", type=config_name, required=True, metavar="CONFIG")
    system.add_argument("--board", required=True, metavar="BOARD")
    system.add_argument("--port", type=integer(0, 65535), default=0, metavar="N", help="of the loopback interface (default: any)")
    system.add_argument(
        "--link", choices=("serial", "network"), default="serial", help="over TCP, or over UDP (default: %(default)s)"
    )
    system.add_argument("--address-file", type=Path, metavar="FILE", help="write here where it listens, as HOST:PORT")
    system.set_defaults(run=_system)
    worker = commands.add_parser("worker", help="the process of such a server that has the device")
    worker.add_argument("directory", type=Path)
    worker.set_defaults(run=_worker)
    options = parser.parse_args()
    try:
        options.run(options)
    except VTAError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _add_board(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--board", required=True, metavar="BOARD")
    parser.add_argument("--design", default="", metavar="NAME")


def _run(options: argparse.Namespace) -> None:
    from vta.runtime import Module, load
    from vta.runtime.evaluation.random_inputs import any_value, random_inputs

    compiled = load(options.artifact)
    with tempfile.TemporaryDirectory(prefix="vta-board-") as directory:
        stand_in = make_stand_in(options.board, options.design, compiled.hw, Path(directory), memory_bytes=1 << 26)
        with Module(compiled, stand_in.open()) as module:
            check = module.check(random_inputs(compiled.graph, 0, any_value))
    if not check.bit_exact:
        raise VTAError(f"differs from the reference, first in {check.mismatch}")
    print(f"{stand_in.board.name}, design {stand_in.design.name}: {count(check.run.device_runs, 'run')}, bit-exact")


def _bitstream(options: argparse.Namespace) -> None:
    board = find_board(options.board)
    write_bitstream(options.output, board, board.design(options.design), HardwareConfig.named(options.config))


def _server(options: argparse.Namespace) -> None:
    if bool(options.tracker) != bool(options.key):
        raise UsageError("--tracker and --key go together")

    def make() -> Any:
        from vta.devices.open_device import DeviceSpec
        from vta.rpc.server.server import DeviceServer
        from vta.rpc.wire.address import Address, parse_address

        options.directory.mkdir(parents=True, exist_ok=True)
        return DeviceServer(
            Address("127.0.0.1", options.port),
            HardwareConfig.named(options.config),
            DeviceSpec(options.board, 1 << 25, design=options.design),
            tracker=parse_address(options.tracker) if options.tracker else None,
            key=options.key,
            worker_command=stand_in_worker(options.directory.resolve()),
        )

    run_or_detach(options, "server", make, "vta.testing.boards")


def _system(options: argparse.Namespace) -> None:
    from vta.bitstream.ethernet import packets_verilog
    from vta.testing.boards.link_server import LinkServer, NetworkServer
    from vta.testing.boards.system import SimulatedSystem

    board, hw = find_board(options.board), HardwareConfig.named(options.config)
    timing = TimingParameters(bus_bits=board.core_design().bus_bits)
    on_network = options.link == "network"
    network = packets_verilog() if on_network else ""
    system = SimulatedSystem(board.core_design().hardware(hw), timing, board.memory.nbytes, network=network)
    server = NetworkServer(system, options.port) if on_network else LinkServer(system, options.port)
    address = f"127.0.0.1:{server.port}" if on_network else f"tcp:127.0.0.1:{server.port}"
    if options.address_file is not None:
        write_whole(options.address_file, f"{address}\n")
    print(f"system of {hw.bitstream} on {address}", flush=True)
    server.wait()


def _worker(options: argparse.Namespace) -> None:
    from vta.rpc.server.worker import serve

    serve(stand_in_opener(options.directory))


if __name__ == "__main__":
    sys.exit(main())
