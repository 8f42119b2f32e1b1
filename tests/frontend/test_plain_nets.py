"""Built-in networks besides the residual ones."""

import numpy as np
import pytest

from vta.errors import UsageError
from vta.frontend import built_in
from vta.frontend.plain_nets import PLAIN_NETS
from vta.ir.interpreter import walk

SMALL = {"squeezenet1.1": (1, 3, 64, 64), "u_net": (1, 3, 32, 32), "tiny_yolo": (1, 3, 64, 64)}


def parameters(graph):
    return sum(node.value.size for node in graph.nodes() if node.op == "constant")


@pytest.mark.parametrize("name", SMALL)
def test_activations_stay_in_range(name):
    graph = built_in(name, {"data": SMALL[name]})
    data = np.random.default_rng(0).standard_normal(SMALL[name]).astype(np.float32)
    for node, value in walk(graph, {"data": data}):
        if node.is_call:
            assert 0.02 < np.sqrt(np.mean(np.square(value))) < 50, node


def test_sizes_are_the_published_ones():
    squeezenet = built_in("squeezenet1.1")
    assert squeezenet.outputs[0].shape == (1, 1000)
    assert parameters(squeezenet) == 1_235_496
    yolo = built_in("tiny_yolo")
    assert [output.shape for output in yolo.outputs] == [(1, 3, 85, 13, 13), (1, 3, 85, 26, 26)]
    # With batch norms, which have three values more for each channel, there are 8,858,734.
    normed = 16 + 32 + 64 + 128 + 256 + 512 + 1024 + 256 + 512 + 128 + 256
    assert parameters(yolo) == 8_858_734 - 3 * normed
    assert built_in("u_net").outputs[0].shape == (1, 2, 128, 128)


def test_weights_depend_on_the_seed_only():
    first, again, other = (built_in("u_net", {"data": SMALL["u_net"]}, seed) for seed in (0, 0, 1))

    def weights(graph):
        return np.concatenate([node.value.reshape(-1) for node in graph.nodes() if node.op == "constant"])

    np.testing.assert_array_equal(weights(first), weights(again))
    assert (weights(first) != weights(other)).any()


def test_other_inputs_are_refused():
    assert set(SMALL) == set(PLAIN_NETS)
    with pytest.raises(UsageError, match="u_net has no input 'image'; its input is 'data'"):
        built_in("u_net", {"image": (1, 3, 32, 32)})
