"""Compiled layers and networks: the cycle engine and the hardware itself give the same bytes in the same cycles."""

import numpy as np
import pytest

from tests.cases._nets import config
from tests.codegen._resnet18 import LAYERS, layer_case, mega_macs
from tests.engines import assert_same_time, open_engine
from vta.compiler.compile import compile_graph, compile_model
from vta.demo import PIXEL_MAX, load_digits, model_path
from vta.frontend import load_model
from vta.runtime import Module, Preprocessing, prepare

HW = config("sim")


def run_both(compiled, inputs):
    """Reports of the cycle engine and the hardware, which must agree in everything."""
    reports = []
    for name in ("rtl", "cycle"):
        with Module(compiled, open_engine(name, compiled.hw)) as module:
            reports.append(module.run(inputs))
    rtl, cycle = reports
    assert rtl.cycles == cycle.cycles
    for (_, on_rtl), (_, on_cycle) in zip(rtl.results, cycle.results, strict=True):
        assert_same_time(on_cycle, on_rtl)
    for on_rtl, on_cycle in zip(rtl.outputs, cycle.outputs, strict=True):
        np.testing.assert_array_equal(on_rtl, on_cycle)
    return cycle, rtl


@pytest.mark.parametrize("layer", LAYERS)
def test_convolutions_of_resnet18(layer):
    graph, x, expected = layer_case(layer, HW.batch)
    _, rtl = run_both(compile_graph(graph, HW), {"x": x})
    np.testing.assert_array_equal(rtl.outputs[0], expected)
    assert rtl.cycles > mega_macs(layer) * 1e6 / (HW.batch * HW.block**2)


@pytest.fixture(scope="module")
def digits():
    graph = load_model(model_path())
    (image,) = graph.inputs
    preprocessing = Preprocessing(scale=PIXEL_MAX)
    data = load_digits()
    samples = {image.name: prepare(data.calibration, image, preprocessing)}
    compiled = compile_model(graph, HW, calibration=samples)
    return compiled, {image.name: prepare(data.x[:1], image, preprocessing)}


def test_the_demo_network_in_opencl(digits):
    compiled, inputs = digits
    with Module(compiled, open_engine("opencl", HW)) as module:
        check = module.check(inputs)
    with Module(compiled, open_engine("sim", HW)) as module:
        outputs = module.run(inputs).outputs
    assert check.bit_exact
    assert check.compared >= 5
    for ours, theirs in zip(check.run.outputs, outputs, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_demo_network(digits):
    compiled, inputs = digits
    cycle, _ = run_both(compiled, inputs)
    with Module(compiled, open_engine("rtl", HW)) as module:
        check = module.check(inputs)
    assert check.bit_exact
    assert check.compared >= 5
    assert check.run.cycles == cycle.cycles
