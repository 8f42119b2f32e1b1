"""What an operator spends its time on."""

import pytest

from vta.devices.device import Counters
from vta.report.costs.bottlenecks import BOTTLENECKS, bottleneck
from vta.runtime.operator_cycles import OperatorCycles, TileCycles

NONE = {"load": 0, "compute": 0, "store": 0}


def timed(**busy):
    return OperatorCycles("region0", "conv", TileCycles(-1, 0, 100, {**NONE, **busy}, NONE, NONE), ())


@pytest.mark.parametrize(
    ("busy", "counters", "macs", "rule"),
    [
        ({"load": 90, "compute": 50}, Counters(gemm_uops=40), 40 * 256, "loads"),
        ({"store": 90, "compute": 50}, Counters(gemm_uops=40), 40 * 256, "stores"),
        ({"compute": 90}, Counters(gemm_uops=40, alu_uops=50), 40 * 256, "alu_steps"),
        ({"compute": 90}, Counters(gemm_uops=80, alu_uops=10), 80 * 16, "blocks_not_full"),
        ({"compute": 90}, Counters(gemm_uops=80, alu_uops=10), 80 * 256, "products"),
    ],
)
def test_the_slowest_unit_and_its_micro_ops_decide(busy, counters, macs, rule):
    assert bottleneck(timed(**busy), macs, counters, 256)[0] == rule
    assert rule in BOTTLENECKS
