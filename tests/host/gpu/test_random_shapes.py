"""Every kind of kernel on random shapes, on a device of OpenCL, against the references.

Few examples by default; ``VTA_EXAMPLES=200`` asks for as many of each kind.
"""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import missing_for_opencl
from tests.host.random_kernels import RANDOM_KERNELS, graph_of, inputs_of, require_same
from vta.ir.interpreter import evaluate
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep

BOUND = 1e-5
EXAMPLES = int(os.environ.get("VTA_EXAMPLES", "1"))


@pytest.mark.parametrize("kind", RANDOM_KERNELS)
@given(st.data(), st.integers(0, 99))
@settings(max_examples=EXAMPLES)
def test_kernels(kind, data, seed):
    if (reason := missing_for_opencl()) is not None:
        pytest.skip(reason)
    from vta.host.gpu.drivers.open import shared_gpu

    graph = graph_of(data.draw(RANDOM_KERNELS[kind]))
    inputs = inputs_of(graph, seed)
    compiled = host_graph(graph, HostOptions(gpu=shared_gpu("opencl")))
    assert not any(isinstance(step, HostStep) for step in compiled.plan.steps)
    require_same(compiled.run(inputs)[0], evaluate(graph, inputs)[0], BOUND)
