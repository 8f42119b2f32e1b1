"""The passes that estimates count are the micro-ops that streams have."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel, widened
from vta.autotune.task import task_of_graph
from vta.codegen.timing import TimingEmitter
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.ir.graph import Graph, call, constant, graph_input
from vta.schedule.choose import choose_schedule
from vta.schedule.cost import passes_per_row

RNG = np.random.default_rng(0)


def image(channels=64, size=6):
    return graph_input("x", (1, channels, size, size), "int8")


def shifted(value):
    return call("right_shift", [value, constant(np.int32(5))], "c")


def weights(outputs, inputs, kernel, most=128):
    return RNG.integers(-most, most, (outputs, inputs, kernel, kernel)).astype(np.int8 if most <= 128 else np.int16)


def wide_conv(data, values, **attributes):
    return call("nn.conv2d", [data, constant(values)], "c", **attributes)


def two_terms():
    """3 x 3 over 4 input blocks with weights of 9 bits: 36 products of the one term, and 36 of the other."""
    data = image()
    return Graph((data,), (int8_clip(shifted(wide_conv(data, weights(64, 64, 3, 256))), "c"),), "c")


def two_terms_by_channel():
    data = image()
    return Graph((data,), (int8_clip(shifted(wide_conv(data, weights(64, 1, 3, 256), groups=64)), "c"),), "c")


def two_terms_one_block():
    """Of the second term one block of weights is not zero."""
    data, values = image(), weights(16, 64, 3)
    values = values.astype(np.int16)
    values[0, 0, 0, 0] = 300
    values = np.clip(values, -128, 255)
    return Graph((data,), (int8_clip(wide_conv(data, values), "c"),), "c")


def plain():
    data = image()
    return Graph((data,), (int8_clip(shifted(conv(data, weights(32, 64, 3), "c")), "c"),), "c")


def with_bias():
    data = image()
    value = call("add", [conv(data, weights(32, 64, 3), "c"), per_channel(np.arange(32))], "c")
    return Graph((data,), (int8_clip(shifted(value), "c"),), "c")


def wide_result():
    data = image()
    return Graph((data,), (conv(data, weights(32, 64, 3), "c"),), "c")


def residual():
    data = image()
    return Graph((data,), (int8_clip(shifted(call("add", [conv(data, weights(64, 64, 1), "c"), widened(data)], "c")), "c"),), "c")


def late_residual():
    data = image()
    return Graph((data,), (int8_clip(call("add", [shifted(conv(data, weights(64, 64, 1), "c")), widened(data)], "c"), "c"),), "c")


@pytest.mark.parametrize(
    "graph", [plain, with_bias, wide_result, residual, late_residual, two_terms, two_terms_by_channel, two_terms_one_block]
)
def test_passes_are_those_of_the_stream(graph):
    task = task_of_graph(graph(), BASELINE)
    operator = task.operator
    stream = TimingEmitter(operator, BASELINE).stream(choose_schedule(operator, BASELINE))
    did = CycleDevice(BASELINE, timing_only=True).run(stream, RunOptions()).counters
    main = operator.main_term.products_per_row * operator.output.elements
    # Rows that start from a bias are reset once, before they are first used, and not for each output.
    resets = did.reset_uops if operator.accumulator_init is None else 0
    passes = (did.gemm_uops + resets + did.alu_uops - main) / operator.output.elements
    assert passes_per_row(operator) == -(-passes // 1)


def test_two_terms_by_hand():
    operator = task_of_graph(two_terms(), BASELINE).operator
    assert len(operator.terms) == 2
    assert passes_per_row(operator) == 1 + 36 + len(operator.epilogue)
