"""Networks that join, cut and enlarge tensors are one region, on every shipped config."""

import numpy as np
import pytest

from tests.cases._nets import SHIPPED
from tests.engines import open_engine
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.frontend import built_in
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig
from vta.runtime import Module

SMALL = {"squeezenet1.1": (1, 3, 64, 64), "u_net": (1, 3, 32, 32), "tiny_yolo": (1, 3, 64, 64)}
ALLOWED = {"qnn.quantize", "qnn.dequantize", "nn.conv2d", "nn.bias_add", "nn.relu", "nn.leaky_relu", "nn.max_pool2d"}
"""What the host does: the first convolution with what follows in float, the borders between float and integers."""


def compiled_on(name, hw, **options):
    return compile_model(built_in(name, {"data": SMALL[name]}), hw, **options)


def data_of(name):
    return {"data": np.random.default_rng(1).standard_normal(SMALL[name]).astype(np.float32)}


@pytest.mark.parametrize("config", SHIPPED)
@pytest.mark.parametrize("name", SMALL)
def test_it_is_one_region_and_exact(name, config):
    hw = HardwareConfig.named(config)
    compiled = compiled_on(name, hw)
    assert len(compiled.regions) == 1
    left = {placement.op for placement in compiled.placements if placement.where == "host"}
    assert left <= ALLOWED | {"reshape", "nn.batch_flatten", "nn.windows"}
    with Module(compiled, open_engine("sim", hw)) as module:
        report = module.check(data_of(name))
    assert report.bit_exact, str(report.mismatch)
    assert not [record.kind for record in compiled.regions[0].operators if record.kind == "copy" and hw.block <= 16]


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
@pytest.mark.parametrize("name", ["u_net", "tiny_yolo"])
def test_engines_that_count_cycles_give_the_same(name, engine):
    compiled = compiled_on(name, HardwareConfig.named("sim"))
    wanted = evaluate(compiled.graph, data_of(name))
    with Module(compiled, open_engine(engine, compiled.hw)) as module:
        for want, got in zip(wanted, module.run(data_of(name)).outputs, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("config", ["sim", "pynq"])
@pytest.mark.parametrize("name", SMALL)
def test_quantized_results_follow_the_float_ones(name, config):
    graph = canonicalize(built_in(name, {"data": SMALL[name]}))
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((8, *SMALL[name][1:])).astype(np.float32)
    compiled = compile_model(graph, HardwareConfig.named(config), calibration={"data": samples}, quantize=QuantizeConfig())
    for want, got in zip(evaluate(graph, data_of(name)), evaluate(compiled.graph, data_of(name)), strict=True):
        noise = np.sqrt(np.mean((want - got) ** 2) / np.mean(want**2))
        assert noise < 0.2
