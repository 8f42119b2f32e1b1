"""No result is below the bound of its point."""

import pytest

from tests.tflite_models import small_net
from vta.config.hardware import HardwareConfig
from vta.demo import model_path
from vta.schedule.energy import energy_of
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.networks import Networks
from vta.sweep.points import expand, points_of
from vta.sweep.spec import Net, Spec
from vta.sweep.table import Status


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.tflite"
    path.write_bytes(small_net())
    axes = {"LOG_BLOCK": (3, 4), "LOG_ACC_BUFF_SIZE": (11, 17), "REQUANTIZE_UNIT": (0, 1), "DEPTHWISE_UNIT": (0, 1)}
    base = HardwareConfig.named("sim").to_json()
    spec = Spec(base, axes, {"bus_bits": (64, 256)}, (Net(str(path)), Net(str(model_path()))), ())
    return points_of(expand(spec)[0], spec.works)


def test_no_result_is_below_its_bound(points, tmp_path):
    networks = Networks()
    whole = 0
    for point in points:
        row = evaluate(Job(point, "ga", 0, 0, 60.0, tmp_path / "log"))
        assert row.status is Status.OK
        bound = networks.network(point.work, point.design.hw).bound(point.design.hw, point.design.timing.bus_bytes)
        assert row.macs <= bound.macs
        if row.macs == bound.macs:
            whole += 1
            assert bound.cycles <= row.cycles
            energy = energy_of(bound.counters, point.design.hw, point.design.technology)["total"]
            assert energy <= row.energy_pj + 1
    assert whole > len(points) // 2
