"""Every kind of kernel on random shapes, by compiled kernels and by onnxruntime, against the references."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.random_kernels import RANDOM_KERNELS, RANDOM_PROCEDURES, RANDOM_ROWS, graph_of, inputs_of, require_same
from vta.ir.interpreter import evaluate
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep

BOUND = 1e-5


KINDS = RANDOM_KERNELS | RANDOM_ROWS | RANDOM_PROCEDURES


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), st.integers(0, 99))
@settings(max_examples=4)
def test_kernels(kind, data, seed):
    graph = graph_of(data.draw(KINDS[kind]))
    inputs = inputs_of(graph, seed)
    compiled = host_graph(graph)
    assert not any(isinstance(step, HostStep) for step in compiled.plan.steps)
    require_same(compiled.run(inputs)[0], evaluate(graph, inputs)[0], BOUND)


@pytest.mark.parametrize("kind", RANDOM_KERNELS)
@given(st.data(), st.integers(0, 99))
@settings(max_examples=4)
def test_sessions(kind, data, seed):
    pytest.importorskip("onnxruntime", minversion="1.24")
    graph = graph_of(data.draw(RANDOM_KERNELS[kind]))
    inputs = inputs_of(graph, seed)
    require_same(host_graph(graph, HostOptions(onnxruntime=True)).run(inputs)[0], evaluate(graph, inputs)[0], BOUND)
