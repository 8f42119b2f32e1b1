"""Trackers, servers and a small module for the tests of remote devices. Everything listens on free loopback ports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("grpc", reason="needs the packages of the extra rpc")

from tests.integer_graphs import BASELINE, conv, int8_clip
from tests.rpc.support import FAST, HERE, LIMIT_SECONDS, LOCAL, ROOT, until
from vta.compiler.compile import compile_graph
from vta.devices.open_device import DeviceSpec
from vta.ir.graph import Graph, graph_input
from vta.rpc.client.connect import lease, query
from vta.rpc.daemon import Background
from vta.rpc.server.process import WORKER_COMMAND
from vta.rpc.server.server import DeviceServer
from vta.rpc.tracker.tracker import Tracker
from vta.rpc.wire.address import parse_address
from vta.runtime.compiled_module import save


@pytest.fixture(scope="session")
def compiled():
    """One convolution with saturation, for the device `sim`."""
    rng = np.random.default_rng(3)
    data = graph_input("data", (1, 16, 6, 6), "int8")
    output = int8_clip(conv(data, rng.integers(-4, 4, (16, 16, 3, 3))), "conv")
    return compile_graph(Graph((data,), (output,), "small"), BASELINE)


@pytest.fixture(scope="session")
def artifact(compiled, tmp_path_factory):
    """The same as a file."""
    path = tmp_path_factory.mktemp("artifact") / "small.vta"
    save(compiled, path)
    return path


@pytest.fixture(scope="session")
def sample():
    """Inputs for the module."""
    return {"data": np.random.default_rng(5).integers(-128, 128, (1, 16, 6, 6)).astype(np.int8)}


@pytest.fixture
def background():
    """An event loop for daemons; whatever was started ends with it."""
    with Background() as background:
        yield background


@pytest.fixture
def tracker(background):
    """A tracker in this process."""
    return background.start(lambda: Tracker(LOCAL, limits=FAST))


@pytest.fixture
def serve(background, tracker):
    """Starts a server in this process, by default with the tracker and the key ``sim``, and waits until it is free."""

    def start(kind="sim", key="sim", limits=FAST, command=WORKER_COMMAND, hw=BASELINE, **options):
        def make():
            spec, keywords = DeviceSpec(kind, 1 << 22), {"limits": limits, "worker_command": command, **options}
            return DeviceServer(LOCAL, hw, spec, tracker.address, key, **keywords)

        server = background.start(make)
        wait_for_server(tracker.address, server.address)
        return server

    return start


@pytest.fixture
def devices(tracker):
    """The line of a key in the tracker's table, awaited until it is as expected."""

    def expect(total, free, pending=0, key="sim", at=tracker.address):
        def line():
            return next(((row.total, row.free, row.pending) for row in query(at).rows if row.key == key), (0, 0, 0))

        until(lambda: line() == (total, free, pending), lambda: f"the table says {line()}")

    return expect


@pytest.fixture
def take(tracker):
    """Leases a device with a key."""

    def take(key="sim", timeout=LIMIT_SECONDS, **options):
        return lease(tracker.address, key, timeout, **{"limits": FAST, **options})

    return take


@pytest.fixture
def gate(tmp_path):
    """A worker whose runs wait while the file ``closed`` exists, and that does not start while ``broken`` does."""
    return Gate(tmp_path / "gate")


class Gate:
    """Controls a worker from outside."""

    def __init__(self, directory):
        directory.mkdir()
        self.directory = directory
        self.command = (sys.executable, str(HERE / "gated_worker.py"), str(directory))
        self.closed = directory / "closed"
        self.broken = directory / "broken"
        self.running = directory / "running"

    def wait_for_run(self):
        """Return when a run waits at the gate."""
        until(self.running.exists, lambda: "no run has started")


@pytest.fixture
def spawn(tmp_path):
    """Starts a tracker or server in a process of its own; returns the process and its address."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, str(HERE / "daemon_process.py"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        processes.append(process)
        return process, parse_address(process.stdout.readline().strip())

    yield start
    for process in processes:
        process.kill()
        process.wait(LIMIT_SECONDS)
        process.stdout.close()


def wait_for_server(tracker, address):
    """Return when the tracker has the server as free."""
    until(
        lambda: any(s.address == str(address) and s.state.value == "free" for s in query(tracker).servers),
        lambda: f"{address} is not free: {query(tracker).servers}",
    )


@pytest.fixture
def spawn_client():
    """Starts a client in a process of its own, which leases a device and holds on to it, or runs a module there."""
    processes = []

    def start(*arguments):
        command = [sys.executable, str(HERE / "client_process.py"), *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait(LIMIT_SECONDS)
