"""A tracker or a server in a process of its own: ``tracker PORT`` or ``server TRACKER KEY COMMAND...``."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL
from vta.devices.open_device import DeviceSpec
from vta.rpc.daemon import run_daemon
from vta.rpc.server.process import WORKER_COMMAND
from vta.rpc.server.server import DeviceServer
from vta.rpc.server.worker import end_with_parent
from vta.rpc.tracker.tracker import Tracker
from vta.rpc.wire.address import Address, parse_address


def make():
    if sys.argv[1] == "tracker":
        # A tracker that restarts must not give up on a key before its servers are back.
        return Tracker(Address(LOCAL.host, int(sys.argv[2])), limits=replace(FAST, unknown_key_seconds=20.0))
    tracker, key, *command = sys.argv[2:]
    spec = DeviceSpec("sim", 1 << 22)
    command = command or WORKER_COMMAND
    return DeviceServer(LOCAL, BASELINE, spec, parse_address(tracker), key, limits=FAST, worker_command=command)


end_with_parent()
run_daemon(make, lambda daemon: print(daemon.address, flush=True), idle_seconds=120)
