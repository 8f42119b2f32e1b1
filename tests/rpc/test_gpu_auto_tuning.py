"""Schedules of GPUs that are timed on the devices of a tracker: several at once, and others for those that go away."""

from contextlib import closing

import numpy as np
import pytest

from tests.autotune.auto.test_gpu import convolution
from tests.engines import missing_for_opencl
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.remote import RemoteGpuMeasure
from vta.autotune.gpu.task import GpuTarget
from vta.autotune.measure.remote import RPCRunner
from vta.config.hardware import HardwareConfig
from vta.host.loop.grid import GridLimits
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
