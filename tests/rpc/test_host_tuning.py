"""Kernels of processors of other machines: compiled here, timed there by servers that run code of their clients."""

import json

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.autotune.host.measure import HostJob
from vta.autotune.host.remote import host_module
from vta.autotune.host.task import host_tasks
from vta.cli.main import main
from vta.errors import ArtifactError, RemoteError
from vta.host.llvm.target import cpu_target, host_target
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input


def candidate(target=None):
    weights = np.random.default_rng(0).standard_normal((32, 32, 3, 3)).astype(np.float32)
    data = graph_input("data", (1, 32, 8, 8), "float32")
    (task,) = host_tasks(Graph((data,), (call(ops.CONV2D, [data, constant(weights)]),)), target or host_target())
    return host_module((HostJob(task.workload, task.target, task.default()), BASELINE))


def test_a_server_that_runs_code_times_the_kernel(serve, take):
    serve(allow_host_code=True)
    with take() as session, session.load(candidate()) as module:
        found = module.measure(3, 2, 0.0, 30.0, True)
    assert not found.mismatch
    assert len(found.costs) == 2
    assert 0 < min(found.costs) < 0.1


def test_a_library_for_another_processor_is_refused(serve, take):
    serve(allow_host_code=True)
    other = candidate(cpu_target("aarch64-linux-gnu"))
    with take() as session, pytest.raises(ArtifactError, match=r"compiled for aarch64 .*; this machine is"):
        session.load(other)


def test_other_servers_compute_by_the_references(serve, take):
    serve()
    with take() as session, session.load(candidate()) as module:
        assert module.check(np.zeros((1, 32, 8, 8), np.float32)).bit_exact
        with pytest.raises(RemoteError, match="runs no code of its clients"):
            module.measure(1, 1, 0.0, 30.0, False)


def test_tuning_on_the_machines_of_a_tracker(serve, tracker, tmp_path, capsys):
    serve(allow_host_code=True)
    command = ["tune", "resnet8", "--target", "llvm", "--trials", "1", "--records", str(tmp_path / "log"), "--check"]
    command += ["--tuner", "random", "--workload", "1", "--number", "1", "--timeout", "60"]
    assert main([*command, "--tracker", str(tracker.address), "--key", "sim", "--insecure", "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["failed"] == {}
    assert task["best_seconds"] > 0
