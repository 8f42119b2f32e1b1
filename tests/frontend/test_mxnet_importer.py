"""Inputs, parameters, names and refusals of a whole symbol."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import ImportModelError
from vta.frontend.mxnet import SeededParameters, StoredParameters, SymbolNode, import_symbol
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.mxnet.symbol import Symbol
from vta.frontend.zoo import resnet_symbol


def conv_symbol(name="conv", **attrs):
    text = {"kernel": "(3, 3)", "num_filter": "4", "no_bias": "True", **attrs}
    nodes = (
        SymbolNode("null", "data"),
        SymbolNode("null", "w"),
        SymbolNode("Convolution", name, ((0, 0), (1, 0)), Attributes(text)),
    )
    return Symbol(nodes, ((2, 0),))


def stored(**arrays):
    return StoredParameters({name: np.asarray(value) for name, value in arrays.items()}, "net-0000.params")


@pytest.mark.parametrize(
    ("name", "weight", "attrs", "shape"),
    [
        ("conv", (4, 3, 3, 3), {}, (1, 3, 224, 224)),
        ("conv", (4, 1, 3, 3), {"num_group": "2"}, (1, 2, 224, 224)),
        ("cifarresnet0_conv0", (4, 3, 3, 3), {}, (1, 3, 32, 32)),
        ("inception30_conv0", (4, 3, 3, 3), {}, (1, 3, 299, 299)),
    ],
)
def test_an_input_without_shape_gets_the_one_that_gluon_trains_with(name, weight, attrs, shape):
    graph = import_symbol(conv_symbol(name, **attrs), stored(w=np.zeros(weight, np.float32)))
    assert graph.inputs[0].shape == shape


def test_a_dense_first_layer_tells_the_input_shape(symbol):
    graph = import_symbol(
        symbol("FullyConnected", ["data", "w"], num_hidden=2, no_bias=True), stored(w=np.zeros((2, 7), np.float32))
    )
    assert graph.inputs[0].shape == (1, 7)


def test_a_declared_shape_is_taken(symbol):
    net = symbol("relu", ["data"])
    declared = SymbolNode("null", "data", (), Attributes({"__shape__": "(2, 5)"}))
    assert import_symbol(Symbol((declared, net.nodes[1]), net.heads), stored()).inputs[0].shape == (2, 5)


def test_a_shape_that_nothing_tells_is_asked_for(symbol):
    with pytest.raises(
        ImportModelError, match=r"relu 'layer': the shape of input 'data' is not in the file; give shapes=\{'data'"
    ):
        import_symbol(symbol("relu", ["data"]), stored())


def test_an_assumed_shape_is_mentioned_when_it_does_not_work():
    nodes = conv_symbol().nodes
    dense = SymbolNode("FullyConnected", "fc", ((2, 0), (3, 0)), Attributes({"num_hidden": "2", "no_bias": "True"}))
    net = Symbol((*nodes, SymbolNode("null", "fw"), dense), ((4, 0),))
    arrays = {"w": np.zeros((4, 3, 3, 3), np.float32), "fw": np.zeros((2, 144), np.float32)}
    with pytest.raises(
        ImportModelError, match=r"'fc': weight 'fw' has shape .* input 'data' was given no shape, \(1, 3, 224, 224\)"
    ):
        import_symbol(net, stored(**arrays))
    assert import_symbol(net, stored(**arrays), {"data": (1, 3, 8, 8)}).outputs[0].shape == (1, 2)


def test_parameters_are_checked():
    shapes = {"data": (1, 3, 8, 8)}
    with pytest.raises(ImportModelError, match=r"Convolution 'conv': weight 'w' is not in net-0000.params"):
        import_symbol(conv_symbol(), stored(), shapes)
    with pytest.raises(ImportModelError, match=r"weight 'w' has shape \(4, 2, 3, 3\) in .*, the layer needs \(4, 3, 3, 3\)"):
        import_symbol(conv_symbol(), stored(w=np.zeros((4, 2, 3, 3), np.float32)), shapes)


def test_shapes_must_name_variables():
    with pytest.raises(ImportModelError, match="no input is called image; inputs are data"):
        import_symbol(conv_symbol(), SeededParameters(0), {"image": (1, 3, 8, 8)})


def test_half_precision_becomes_single():
    graph = import_symbol(conv_symbol(), stored(w=np.ones((4, 3, 3, 3), np.float16)), {"data": (1, 3, 8, 8)})
    assert graph.outputs[0].dtype == "float32"


def test_outputs_must_be_there(symbol):
    with pytest.raises(ImportModelError, match="net: an output of the symbol: reads output 1 of layer"):
        import_symbol(symbol("relu", ["data"], head=1), stored(), {"data": (1,)}, "net")
    with pytest.raises(ImportModelError, match="net: an output of the symbol: the shape of input 'data' is not in the file"):
        import_symbol(Symbol((SymbolNode("null", "data"),), ((0, 0),)), stored(), path="net")


def test_every_unsupported_node_is_listed():
    nodes = (
        SymbolNode("null", "data"),
        SymbolNode("_contrib_quantized_conv", "q", ((0, 0),)),
        SymbolNode("relu", "fine", ((1, 0),)),
        SymbolNode("RNN", "rnn", ((2, 0),)),
        SymbolNode("Activation", "act", ((0, 0),), Attributes({"act_type": "odd"})),
        SymbolNode("elemwise_add", "sum", ((3, 0), (4, 0))),
    )
    with pytest.raises(ImportModelError) as caught:
        import_symbol(Symbol(nodes, ((5, 0),)), stored(), {"data": (1, 2)}, "net-symbol.json")
    assert str(caught.value).splitlines()[:4] == [
        "net-symbol.json: cannot import 3 nodes:",
        "  _contrib_quantized_conv: not a supported operator: 1 node: q (node 1)",
        "  RNN: not a supported operator: 1 node: rnn (node 3)",
        "  Activation: act_type odd: 1 node: act (node 4)",
    ]


def test_seeded_parameters_depend_on_seed_and_name_only():
    one, other = SeededParameters(1), SeededParameters(1)
    shapes = {"data": (1, 3, 64, 64)}
    import_symbol(resnet_symbol(18, 1), one, shapes)
    import_symbol(resnet_symbol(34, 1), other, shapes)
    name = "resnetv10_stage1_conv1_weight"
    assert np.array_equal(one.made[name], other.made[name])
    import_symbol(resnet_symbol(18, 1), different := SeededParameters(2), shapes)
    assert not np.array_equal(one.made[name], different.made[name])
    assert all(array.dtype == np.float32 for array in one.made.values())


def test_seeded_parameters_of_absurd_size_are_refused():
    with pytest.raises(ImportModelError, match="weight 'w' would have shape"):
        import_symbol(conv_symbol(num_filter="4000000000"), SeededParameters(0), {"data": (1, 3, 8, 8)})
