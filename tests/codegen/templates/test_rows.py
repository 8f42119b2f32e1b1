"""Softmax and norms along the columns of images, on every engine."""

import numpy as np
import pytest

from tests.engines import open_engine
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.isa.verify import verify
from vta.quantization.float.plan.rows import longest_row
from vta.runtime.module import Module

SIM, NARROW = HardwareConfig.named("sim_rq"), HardwareConfig.named("sim_rq_1x8")
CASES = {
    "terms": (ops.QNN_SOFTMAX_TERMS, {"input_scale": 0.05}),
    "shares": (ops.QNN_SOFTMAX_SHARES, {"output_scale": 0.003}),
    "layer_norm": (ops.QNN_NORMALIZE, {"input_scale": 0.03, "output_scale": 0.03, "epsilon": 1e-5}),
    "rms_norm": (ops.QNN_NORMALIZE, {"input_scale": 0.03, "output_scale": 0.03, "epsilon": 1e-5, "center": False}),
}


def graph_of(case, channels, columns):
    op, attrs = CASES[case]
    x = graph_input("x", (1, channels, 1, columns), "int8")
    return Graph((x,), (call(op, [x], case, axis=3, **attrs),))


def values_of(case, channels, columns):
    """Rows of various spread, one of them constant; terms as a table gives them, of which the largest is the same in each row."""
    rng = np.random.default_rng(3)
    spread = rng.choice([0.5, 5, 30, 90], (channels, 1))
    values = np.clip(rng.standard_normal((channels, columns)) * spread + rng.integers(-40, 40, (channels, 1)), -128, 127)
    values[0] = 5
    if case == "shares":
        values[:, 0] = 127
    return values.astype(np.int8).reshape(1, channels, 1, columns)


def check(case, channels, columns, hw, engine="sim"):
    compiled = compile_graph(graph_of(case, channels, columns), hw)
    (region,) = compiled.regions
    assert verify(region.program) == []
    with Module(compiled, open_engine(engine, hw)) as module:
        report = module.check({"x": values_of(case, channels, columns)})
    assert report.bit_exact, str(report.mismatch)


@pytest.mark.parametrize("hw", [SIM, NARROW], ids=["1x16", "1x8"])
@pytest.mark.parametrize(("channels", "columns"), [(16, 1), (20, 7), (200, 64), (24, 300)])
@pytest.mark.parametrize("case", CASES)
def test_all_sizes_are_exact(case, channels, columns, hw):
    check(case, channels, columns, hw)


@pytest.mark.parametrize("engine", ["cycle", pytest.param("rtl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_every_engine_gives_the_same(case, engine):
    check(case, 40, 20, SIM, engine)


@pytest.mark.parametrize("case", ["shares", "layer_norm"])
def test_the_longest_row_fits(case):
    check(case, 16, longest_row(SIM), SIM)


def test_other_axes_and_configs_stay_on_the_host():
    x = graph_input("x", (1, 16, 4, 8), "int8")
    square = Graph((x,), (call(ops.QNN_SOFTMAX_TERMS, [x], "terms", axis=3, input_scale=0.1),))
    for graph, hw in ((square, SIM), (graph_of("terms", 16, 8), HardwareConfig.named("sim"))):
        (placement,) = compile_graph(graph, hw).placements
        assert (placement.where, placement.rule) == ("host", "rows_are_images")
