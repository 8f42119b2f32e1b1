"""Schedules of GPUs that are timed on the devices of a tracker: several at once, and others for those that go away."""

from contextlib import closing

import numpy as np
import pytest

from tests.autotune.auto.test_gpu import convolution
from tests.engines import missing_for_opencl
from tests.rpc.support import Attempt
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.remote import RemoteGpuMeasure
from vta.autotune.auto.session import AutoOptions, auto_tune
from vta.autotune.gpu.task import GpuTarget
from vta.autotune.measure.remote import RPCRunner
from vta.config.hardware import HardwareConfig
from vta.host.loop.grid import GridLimits
from vta.records.log import RecordLog, read_log
from vta.records.measurement import ErrorKind
from vta.runtime.artifact.gpu_host import GpuHost

pytestmark = pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
TARGET = GpuTarget("opencl", "any", GridLimits())


@pytest.fixture(name="measurer")
def _measurer(tracker):
    runner = RPCRunner(str(tracker.address), "sim", number=1, min_repeat_ms=0.1, timeout=60.0, check_correctness=True)
    with closing(RemoteGpuMeasure(runner, GpuHost("opencl"), HardwareConfig.named("sim"))) as found:
        yield found


def test_two_servers_share_the_trials_and_one_that_goes_away_is_replaced(serve, measurer, background):
    task = convolution(machine=GpuMachine(TARGET))
    first = serve()
    serve()
    assert measurer.default(task).error is ErrorKind.NONE
    rng = np.random.default_rng(2)
    made = task.space.make_all([task.space.random(rng) for _ in range(2)])
    results = measurer.measure(task, made)
    assert [result.error for result in results] == [ErrorKind.NONE] * len(made)
    background.stop(first)
    (again,) = measurer.measure(task, made[:1])
    assert again.error is ErrorKind.NONE
    assert again.cost > 0


def test_a_server_that_dies_in_the_middle_of_a_trial_is_replaced(spawn, tracker, serve, gate, devices, measurer, tmp_path):
    pytest.importorskip("xgboost")
    process, _ = spawn("server", tracker.address, "sim", *gate.command)
    devices(1, 1)
    task, log = convolution(machine=GpuMachine(TARGET)), tmp_path / "log"

    def search():
        options = AutoOptions(3, batch=3, population=4, device="opencl")
        return auto_tune([task], measurer, options, RecordLog(log), watch=lambda reports, last: None)

    assert measurer.default(task).error is ErrorKind.NONE
    gate.closed.touch()
    attempt = Attempt(search)
    gate.wait_for_run()
    serve()
    process.kill()
    assert attempt.wait() is None
    (report,) = attempt.result
    assert (report.trials, report.errors) == (3, {})
    assert all(line.record is not None for line in read_log(log))
