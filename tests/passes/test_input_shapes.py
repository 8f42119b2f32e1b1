from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.input_shapes import with_input_shapes


def net(newshape: tuple[int, ...]) -> Graph:
    x = graph_input("x", (1, 2, 4, 4))
    conv = call("nn.conv2d", [x, constant(np.ones((3, 2, 3, 3), np.float32))], "conv")
    return Graph((x,), (call("reshape", [conv], "flat", newshape=newshape),))


def test_types_are_inferred_anew():
    graph = with_input_shapes(net((0, -1)), {"x": (5, 2, 6, 4)})
    assert graph.inputs[0].shape == (5, 2, 6, 4)
    assert graph.outputs[0].shape == (5, 24)


def test_layer_that_cannot_take_the_shape_is_named():
    with pytest.raises(GraphError, match="flat: reshape"):
        with_input_shapes(net((1, 12)), {"x": (5, 2, 4, 4)})


def test_unknown_input():
    with pytest.raises(GraphError, match="'data' is no input of graph 'main'; its inputs are: x"):
        with_input_shapes(net((0, -1)), {"data": (1,)})
