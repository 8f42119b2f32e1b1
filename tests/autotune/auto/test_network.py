"""Schedules that the network is faster without are the best of their kernels no more."""

import numpy as np
import pytest

from tests.autotune.auto.examples import convolutions
from tests.engines import missing_for_opencl
from vta.autotune.auto.network import confirm_in_network
from vta.autotune.auto.network_timers import CpuNetworkTimer, GpuNetworkTimer
from vta.autotune.auto.session import AutoReport
from vta.host.llvm.target import host_target
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.records.host.schedules import recorded_schedules
from vta.records.host.timed_again import is_default
from vta.records.log import RecordLog
from vta.records.measurement import Measurement


def reports():
    """Of three tasks, all with schedules that were faster than the default alone."""
    found = []
    for task in convolutions()[:3]:
        made = task.space.make(task.space.random(np.random.default_rng(1)))
        found.append(AutoReport(task, 1e-3, 0.5e-3, made))
    return found


class Times:
    """A network that takes a second, and for each schedule that it is run with less, or more."""

    def __init__(self, gains):
        self.gains = gains
        self.asked = 0

    def seconds(self, choices):
        self.asked += 1
        used = [{record.workload for record in records if not is_default(record)} for records in choices]
        return [1.0 - sum(self.gains[workload] for workload in workloads) for workloads in used]


def test_a_schedule_that_slows_the_network_down_is_dropped_and_recorded(tmp_path):
    log = tmp_path / "auto.log"
    first, second, third = given = reports()
    RecordLog(log).append([task.record(made, Measurement((cost,)), "llvm") for task, made, cost in (
        (report.task, made, cost) for report in given for made, cost in ((None, 1e-3), (report.best, 0.5e-3))
    )])  # fmt: skip
    gains = dict(zip((report.task.workload for report in given), (0.1, -0.2, 0.3), strict=True))
    found = confirm_in_network(given, Times(gains), RecordLog(log), "llvm", 60)
    assert found.dropped == (second.task.name,)
    assert (found.default_seconds, found.seconds) == (1.0, pytest.approx(0.6))
    assert second.best is None
    assert second.best_seconds == second.default_seconds
    schedules = recorded_schedules([log])
    assert schedules(second.task.kernel, host_target()) is None
    assert schedules(first.task.kernel, host_target()) == first.best.steps
    assert schedules(third.task.kernel, host_target()) == third.best.steps


def test_a_network_is_never_slower_than_by_default():
    given = reports()
    gains = {report.task.workload: -0.1 for report in given}
    timer = Times(gains)
    found = confirm_in_network(given, timer, None, "llvm", most_seconds=-1)
    assert timer.asked == 1
    assert len(found.dropped) == 3
    assert found.seconds == found.default_seconds


def test_a_search_that_found_nothing_times_no_network():
    given = [AutoReport(report.task, 1e-3, 1e-3) for report in reports()]
    assert confirm_in_network(given, Times({}), None, "llvm", 60) is None


def network():
    data = graph_input("data", (1, 4, 5, 5), "float32")
    weight = constant(np.ones((4, 4, 3, 3), np.float32))
    return Graph((data,), (call(ops.RELU, [call(ops.CONV2D, [data, weight])]),))


def test_networks_are_timed_here():
    one, two = CpuNetworkTimer(network(), 0.01).seconds([[], []])
    assert one > 0 < two


def test_networks_are_timed_on_a_device():
    if (reason := missing_for_opencl()) is not None:
        pytest.skip(reason)
    from vta.host.gpu.drivers.open import shared_gpu

    one, two = GpuNetworkTimer(network(), shared_gpu("opencl"), 0.01).seconds([[], []])
    assert one > 0 < two
