"""Points and trials on a Dask cluster of two worker processes on loopback."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="needs the packages of the extra cluster")

import dask
import distributed
import psutil

from vta.autotune.cluster import cluster as module
from vta.autotune.cluster.cluster import Cluster, Lost
from vta.autotune.cluster.versions import Versions, own_versions
from vta.autotune.measure.away import on_cluster
from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import task_of_graph
from vta.cli.main import main
from vta.config.hardware import HardwareConfig
from vta.demo import model_path
from vta.errors import ClusterError
from vta.sweep.away import ClusterWorkplace
from vta.sweep.session import run_sweep
from vta.sweep.spec import Net, Spec
from vta.sweep.workloads import graph_of_identity

pytestmark = pytest.mark.filterwarnings("default")

HW = HardwareConfig.named("sim")
WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1"
NOTHING = WORKLOAD.replace("1x1x6x6", "1x1x1x1").replace("1x1x1x1:1x1", "0x0x0x0:1x1")
"""Cannot be compiled: the reason is a part of the table."""


@pytest.fixture(scope="module")
def workers():
    # One try again is enough to see.
    few = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with (
        few,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as found,
    ):
        yield found


@pytest.fixture
def spec(tmp_path):
    model = tmp_path / "here" / "digits.onnx"
    model.parent.mkdir()
    model.write_bytes(model_path().read_bytes())
    axes = {"LOG_INP_BUFF_SIZE": (13, 15)}
    return Spec(HW.to_json(), axes, {}, (Net(str(model)), Net("gone.onnx")), (WORKLOAD, NOTHING), "ga", 2)


def test_the_table_is_the_same_though_a_worker_is_killed_midway(workers, spec, tmp_path):
    here = run_sweep(spec, tmp_path / "one", jobs=1)
    killed = []

    def kill(row, done, total):
        if done == 2:
            killed.append(next(iter(workers.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    workplace = ClusterWorkplace(Cluster(workers.scheduler_address, idle_seconds=300))
    there = run_sweep(spec, tmp_path / "two", workplace=workplace, watch=kill)
    assert len(killed) == 1
    assert there.table.read_bytes() == here.table.read_bytes()
    logs = sorted(path.name for path in (tmp_path / "one" / "records").iterdir())
    assert sorted(path.name for path in (tmp_path / "two" / "records").iterdir()) == logs
    assert {row.laddr.ip for row in psutil.Process().net_connections() if row.status == "LISTEN"} <= {"127.0.0.1"}


def test_trials_are_those_of_this_machine(workers):
    task = task_of_graph(graph_of_identity(WORKLOAD), HW)
    options = TuneOptions("ga", trials=12)
    (here,) = tune([task], in_process(HW), options)
    with Cluster(workers.scheduler_address) as cluster:
        (there,) = tune([task], on_cluster(cluster, HW), options)
    assert (there.curve, there.best, there.trials) == (here.curve, here.best, here.trials)


def test_the_commands(workers, tmp_path, capsys):
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"workloads": [WORKLOAD]}))
    at = ["--cluster", workers.scheduler_address]
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), *at, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == 1
    log = tmp_path / "log"
    options = ["--config", "sim", "--tuner", "ga", "--trials", "4", "--no-records", "--workload", "0"]
    assert main(["tune", str(model_path()), *options, "--records", str(log), *at]) == 0
    assert log.read_text().count("\n") >= 5
    assert main(["sweep", str(path), "-o", str(tmp_path / "o"), *at, "--jobs", "2"]) == 2
    assert "--jobs is for this machine" in capsys.readouterr().err


def test_other_versions_are_refused_by_name(workers, monkeypatch):
    ours = own_versions()
    monkeypatch.setattr(module, "own_versions", lambda: replace(ours, vta="0.0.9", python="3.9"))
    with pytest.raises(ClusterError, match=r"the worker tcp://127\S+ has Python 3\.\d+ there and 3\.9 here; vta \S+ there and 0"):
        Cluster(workers.scheduler_address)
    monkeypatch.setattr(module, "own_versions", lambda: Versions(ours.vta, "0" * 12, ours.python))
    with (
        Cluster(workers.scheduler_address) as cluster,
        pytest.raises(ClusterError, match=f"the files of vta {'0' * 12} there and {ours.sources} on the worker"),
    ):
        list(cluster.map(len, [("ab",)]))


def test_results_and_what_kills_every_worker(workers):
    with Cluster(workers.scheduler_address, idle_seconds=300) as cluster:
        kept = cluster.kept(3)
        assert sorted(cluster.map(pow, [(2, kept), (5, kept)])) == [(0, 8), (1, 125)]
        (found,) = cluster.map(os._exit, [(1,)])
        assert isinstance(found[1], Lost)
        assert found[1].message.startswith("the workers that it ran on died")


def test_waiting_has_limits(workers):
    with pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler"):
        Cluster("tcp://127.0.0.1:9", answer_seconds=0.3)
    with pytest.raises(ClusterError, match="nonsense: no Dask scheduler"):
        Cluster("nonsense", answer_seconds=0.3)
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50) as empty,
        pytest.raises(ClusterError, match=r"no worker within 0\.2 s"),
    ):
        Cluster(empty.scheduler_address, idle_seconds=0.2)


def test_a_scheduler_that_asks_for_certificates(tmp_path):
    pytest.importorskip("cryptography", reason="makes the certificates")
    security = distributed.Security.temporary()
    texts = {"ca.pem": security.tls_ca_file, "client.pem": security.tls_client_cert, "client.key": security.tls_client_key}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="tls://127.0.0.1",
        dashboard_address="127.0.0.1:0",
        security=security,
        silence_logs=50,
    ) as workers:
        assert workers.scheduler_address.startswith("tls://")
        with Cluster(workers.scheduler_address, Path(tmp_path)) as cluster:
            assert list(cluster.map(abs, [(-3,)])) == [(0, 3)]
        with pytest.raises(ClusterError, match="no Dask scheduler"):
            Cluster(workers.scheduler_address, answer_seconds=0.5)
