"""The convolutions of ResNet-18 behind its first layer on every shipped config."""

import numpy as np
import pytest

from tests.cases._nets import SHIPPED, assert_all_on_vta, config, run_verified
from tests.codegen._resnet18 import LAYERS, layer_case, mega_macs
from vta.compiler.compile import compile_graph


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("layer", LAYERS)
def test_convolution(layer, name):
    """As many images at a time as the hardware takes."""
    hw = config(name)
    graph, x, expected = layer_case(layer, hw.batch)
    compiled = compile_graph(graph, hw)
    assert_all_on_vta(compiled)
    assert compiled.total_macs / hw.batch / 1e6 == pytest.approx(mega_macs(layer), abs=0.05)
    for report in run_verified(compiled, {"x": x}):
        np.testing.assert_array_equal(report.outputs[0], expected)
        # With the requantize unit products with zero padding are left out.
        least = 0.8 if hw.capabilities.requantize else 1
        assert least * compiled.total_macs <= report.counters.macs <= compiled.total_macs
        assert report.device_runs == 1
