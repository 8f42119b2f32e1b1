"""Networks whose host part a GPU computes, on devices of a server; tiles for GPUs measured there."""

import json

import numpy as np
import pytest

from tests.engines import missing_for_opencl
from tests.integer_graphs import BASELINE
from vta.autotune.gpu.task import GpuTarget, gpu_task
from vta.cli.main import main
from vta.compiler.compile import compile_model
from vta.config.target_list import parse_targets
from vta.errors import DeviceError, RemoteError
from vta.host.gpu.description import GpuDescription
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.rpc.client.replies import gpu_from_reply
from vta.rpc.wire import vta_rpc_pb2 as pb

pytestmark = pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))


def small():
    """A convolution of floats that has tiles: its sums are short."""
    weights = np.random.default_rng(0).standard_normal((8, 2, 3, 3)).astype(np.float32)
    data = graph_input("data", (1, 2, 8, 8), "float32")
    return Graph((data,), (call(ops.CONV2D, [data, constant(weights)], padding=(1, 1, 1, 1)),), "small")


def test_a_server_runs_it_on_its_gpu(serve, take):
    graph = small()
    compiled = compile_model(graph, BASELINE, targets=parse_targets("opencl"))
    serve()
    data = np.random.default_rng(1).standard_normal((1, 2, 8, 8)).astype(np.float32)
    with take() as session, session.load(compiled) as module:
        check = module.check(data)
        assert check.bit_exact
        np.testing.assert_allclose(check.run.outputs[0], evaluate(graph, {"data": data})[0], rtol=1e-5, atol=1e-6)


def test_a_server_says_what_its_gpu_has_room_for(serve, take):
    from vta.host.gpu.drivers.open import shared_gpu

    here = shared_gpu("opencl")
    serve()
    with take() as session:
        assert session.describe_gpu("opencl") == GpuDescription(here.name, here.limits)
        with pytest.raises(DeviceError, match="there is no OpenCL device 99"):
            session.describe_gpu("opencl", 99)


def test_a_description_without_a_limit_is_none():
    with pytest.raises(RemoteError, match=r"describes its GPU in an unknown way: .*threads=7, block=\(1, 2\)"):
        gpu_from_reply(pb.GpuReply(name="any", threads=7, block=[1, 2]))


def test_tuning_on_the_devices_of_a_tracker(serve, tracker, tmp_path, capsys):
    assert gpu_task(small().outputs[0], GpuTarget("opencl", "any")).has_choice
    serve()
    from vta.demo import model_path

    command = ["tune", str(model_path()), "--target", "opencl", "--trials", "1", "--records", str(tmp_path / "log"), "--check"]
    command += ["--tuner", "random", "--no-records", "--workload", "0", "--number", "1", "--min-repeat-ms", "1"]
    assert main([*command, "--timeout", "60", "--tracker", str(tracker.address), "--key", "sim", "--insecure", "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["failed"] == {}
    assert task["best_ms"] > 0
