"""Shapes of inputs that a model leaves open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from vta.errors import ImportModelError, OpenShapesError
from vta.frontend.onnx import import_onnx

FLOAT = 1


def model(**inputs):
    """A model that reads every input; dimensions are numbers or symbols, None stands for no shape at all."""
    nodes = [helper.make_node("Relu", [name], [f"{name}_y"]) for name in inputs]
    infos = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(f"{name}_y", FLOAT, None) for name in inputs]
    graph = helper.make_graph(nodes, "net", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def shapes(network, given=None, batch=1):
    return [node.shape for node in import_onnx(network, given, batch=batch).inputs]


@given(first=st.sampled_from([-1, 0, None, "", "N", "batch_size"]), batch=st.integers(1, 9))
def test_an_open_batch_in_every_spelling(first, batch):
    network = model(x=(first, 3))
    dim = network.graph.input[0].type.tensor_type.shape.dim[0]
    if first == 0:
        dim.dim_value = 0
    assert shapes(network, batch=batch) == [(batch, 3)]
    assert shapes(network, {"x": (7, 3)}, batch) == [(7, 3)]


def test_what_shares_a_symbol_has_one_size():
    network = model(x=("N", "T", 4), y=("N", "T"), z=("T", "N"))
    assert shapes(network, {"x": (2, 5, 4)}) == [(2, 5, 4), (2, 5), (5, 2)]
    assert shapes(network, {"y": (1, 6)}, batch=3) == [(1, 6, 4), (1, 6), (6, 1)]
    assert shapes(model(x=("N", 4), y=(2, "N")), batch=3) == [(3, 4), (2, 3)]


def test_a_later_dimension_is_no_batch():
    """Though the first one of another input shares its symbol."""
    for network in (model(x=(-1, 3, "H"), y=("H", 4)), model(x=("N", "H"), y=("H",))):
        with pytest.raises(OpenShapesError) as caught:
            import_onnx(network)
        assert list(caught.value.shapes) == ["x", "y"]
    assert shapes(model(x=("N", 4), y=("T", "N")), batch=3) == [(3, 4), (3, 3)]


def test_shapes_that_disagree_are_taken_as_they_are():
    network = model(x=("N", 4), y=("N", 2), z=("N",))
    assert shapes(network, {"x": (2, 4), "y": (3, 2)}, batch=5) == [(2, 4), (3, 2), (5,)]


def test_all_open_dimensions_are_asked_for_at_once():
    network = model(x=("N", 3, "height", "width"), y=("N", "height"), z=None, fine=(2, 2), w=(1, -1))
    with pytest.raises(OpenShapesError) as caught:
        import_onnx(network, path="net.onnx", batch=4)
    assert caught.value.shapes == {"x": (4, 3, "height", "width"), "y": (4, "height"), "z": None, "w": (1, "?")}
    assert str(caught.value) == (
        "net.onnx: dimensions of inputs are open: 'x' (4, 3, height, width); 'y' (4, height); 'z' (...); 'w' (1, ?); "
        "give shapes={'x': (4, 3, height, width), 'y': (4, height), 'z': (...), 'w': (1, ?)} with numbers for them"
    )
    given = {"x": (4, 3, 8, 9), "z": (1,), "w": (1, 6)}
    assert shapes(network, given) == [(4, 3, 8, 9), (4, 8), (1,), (2, 2), (1, 6)]


@pytest.mark.parametrize("shape", [(-1, 3), (2, -5)])
def test_a_given_shape_is_not_open(shape):
    with pytest.raises(ImportModelError, match=r"input 'x': dimensions of the given shape \(.*\) must not be negative"):
        import_onnx(model(x=("N", "M")), {"x": shape})
