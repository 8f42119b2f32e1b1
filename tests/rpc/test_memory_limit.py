"""A worker has so much memory and no more: what needs more is an error, and the session goes on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL
from vta.compiler.compile import compile_graph
from vta.devices.open_device import DeviceSpec
from vta.errors import VTAError
from vta.ir.graph import Graph, graph_input
from vta.rpc.client.connect import connect
from vta.rpc.server.server import DeviceServer
from vta.rpc.server.worker import Worker

LITTLE = replace(FAST, process_bytes=48 << 20, upload_bytes=1 << 26)
SAID = r"out of memory; this server gives a session 50331648 bytes"


@pytest.fixture
def little(background):
    spec = DeviceSpec("sim", 1 << 27)
    return background.start(lambda: DeviceServer(LOCAL, BASELINE, spec, limits=LITTLE))


def large_module(megabytes):
    """A network whose input is so large; its run needs copies of it."""
    from tests.integer_graphs import int8_clip, widened

    side = 256
    data = graph_input("data", (1, megabytes << 4, side, side), "int8")
    return compile_graph(Graph((data,), (int8_clip(widened(data), "copy"),), "large"), BASELINE)


def test_what_needs_more_is_an_error_and_the_session_goes_on(little, artifact, sample):
    compiled = large_module(24)
    with connect(little.address, limits=LITTLE) as session:
        inputs = {"data": np.zeros((1, 24 << 4, 256, 256), np.int8)}
        with pytest.raises(VTAError, match=SAID), session.load(compiled) as module:
            module.run(inputs)
        with session.load(artifact) as module:
            module.run(sample)


def test_errors_of_memory_say_what_the_limit_is():
    def short(hw, spec):
        raise MemoryError

    from vta.rpc.wire import vta_rpc_pb2 as pb

    request = pb.WorkerRequest(open=pb.WorkerOpen(device="sim", config_json="{}"))
    reply = Worker(short).answer(request)
    assert reply.error.kind
    assert "\n" not in reply.error.message
