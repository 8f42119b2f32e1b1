"""Many samples at once give the bits that one at a time gives."""

import numpy as np
import pytest

from vta.errors import UsageError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime.values.batches import interpret_batches, interpret_widely, map_batches, sample_count


def mixed_network():
    """A float convolution whose result is compared, as floats, after an integer part."""
    rng = np.random.default_rng(5)
    x = graph_input("x", (1, 3, 8, 8))
    y = call("nn.conv2d", [x, constant(rng.normal(size=(5, 3, 3, 3)).astype(np.float32))], "conv")
    return Graph((x,), (call("nn.softmax", [call("nn.batch_flatten", [y], "flat")], "softmax"), y))


def test_floats_keep_their_bits():
    graph = mixed_network()
    x = np.random.default_rng(0).normal(size=(9, 3, 8, 8)).astype(np.float32)
    alone = [evaluate(graph, {"x": x[i : i + 1]}) for i in range(9)]
    for position, got in enumerate(interpret_batches(graph, {"x": x})):
        assert got.tobytes() == np.concatenate([outputs[position] for outputs in alone]).tobytes()
    for position, got in enumerate(interpret_widely(graph, {"x": x})):
        np.testing.assert_allclose(got, np.concatenate([outputs[position] for outputs in alone]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_integers_and_tails(module_builder, sampler, count):
    inputs, expected = sampler(count)
    ticks = []
    np.testing.assert_array_equal(interpret_batches(module_builder().graph, inputs, ticks.append)[0], expected)
    assert ticks[-1] == count


def test_a_graph_that_mixes_samples_runs_as_it_is():
    x = graph_input("x", (2, 3))
    graph = Graph((x,), (call("nn.softmax", [x], "mix", axis=0),))
    values = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    expected = np.concatenate([evaluate(graph, {"x": values[i : i + 2]})[0] for i in (0, 2)])
    np.testing.assert_array_equal(interpret_batches(graph, {"x": values})[0], expected)


def test_map_batches_fills_up_the_last_call():
    seen = []

    def run(chunk):
        seen.append(chunk["x"].copy())
        return [chunk["x"] * 2, chunk["x"][:, 0]]

    x = np.arange(10).reshape(5, 2)
    double, first = map_batches(run, {"x": x}, 3)
    np.testing.assert_array_equal(double, x * 2)
    np.testing.assert_array_equal(first, x[:, 0])
    assert [chunk.shape for chunk in seen] == [(3, 2), (3, 2)]
    assert not seen[1][2].any()


def test_sample_counts_must_agree():
    with pytest.raises(UsageError, match=r"got x 3, y 2"):
        sample_count({"x": np.zeros((3, 1)), "y": np.zeros((2, 1))})
    with pytest.raises(UsageError, match="got no inputs"):
        sample_count({})
    with pytest.raises(UsageError, match="got x 0"):
        sample_count({"x": np.zeros((0, 1))})
