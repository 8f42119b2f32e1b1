"""Symbols that MXNet's quantisation left."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import ImportModelError
from vta.frontend.mxnet import StoredParameters, Symbol, SymbolNode, import_symbol
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.mxnet.int8 import without_quantization
from vta.ir.interpreter import evaluate

RNG = np.random.default_rng(5)
CONVOLUTION = {"kernel": "(3, 3)", "num_filter": "4", "pad": "(1, 1)", "no_bias": "True"}


def node(op, name, *inputs, subgraph=None, **attrs):
    return SymbolNode(op, name, inputs, Attributes(attrs), () if subgraph is None else (subgraph,))


def fused_residual():
    """A convolution, an addition and a ReLU, fused."""
    return Symbol(
        (
            node("null", "data0"),
            node("null", "weight0"),
            node("Convolution", "conv", (0, 0), (1, 0), **CONVOLUTION),
            node("null", "other0"),
            node("elemwise_add", "plus", (2, 0), (3, 0)),
            node("Activation", "act", (4, 0), act_type="relu"),
        ),
        ((5, 0),),
    )


def quantized():
    return Symbol(
        (
            node("null", "data"),
            node("_contrib_quantize_v2", "quantize", (0, 0)),
            node("null", "weight"),
            node("_contrib_quantized_pooling", "pool", (1, 0), (1, 1), (1, 2), kernel="(3, 3)", pad="(1, 1)", pool_type="max"),
            node("_sg_mkldnn_conv", "fused", (3, 0), (2, 0), (1, 0), (3, 1), (3, 2), (1, 1), (1, 2), subgraph=fused_residual()),
            node("_contrib_dequantize", "dequantize", (4, 0), (4, 1), (4, 2)),
            node("Flatten", "flat", (5, 0)),
        ),
        ((6, 0),),
    )


def plain():
    return Symbol(
        (
            node("null", "data"),
            node("null", "weight"),
            node("Pooling", "pool", (0, 0), kernel="(3, 3)", pad="(1, 1)", pool_type="max"),
            node("Convolution", "conv", (2, 0), (1, 0), **CONVOLUTION),
            node("elemwise_add", "plus", (3, 0), (0, 0)),
            node("Activation", "act", (4, 0), act_type="relu"),
            node("Flatten", "flat", (5, 0)),
        ),
        ((6, 0),),
    )


def test_it_is_the_float_network():
    weight = RNG.standard_normal((4, 4, 3, 3)).astype(np.float32)
    data = RNG.standard_normal((1, 4, 5, 5)).astype(np.float32)
    values = []
    for symbol in (quantized(), plain()):
        graph = import_symbol(symbol, StoredParameters({"weight": weight}, "net.params"), {"data": data.shape})
        values.append(evaluate(graph, {"data": data})[0])
    np.testing.assert_array_equal(*values)


def test_it_is_said(caplog):
    without_quantization(quantized(), "net-symbol.json")
    assert "net-symbol.json: quantised by MXNet" in caplog.text


def test_a_float_symbol_stays_as_it_is():
    symbol = plain()
    assert without_quantization(symbol, "net") is symbol


def test_weights_that_are_stored_as_int8_are_refused_by_name():
    nodes = list(quantized().nodes)
    nodes[4] = node("_contrib_quantized_conv", "int8", (3, 0), (2, 0), (3, 1), (3, 2))
    with pytest.raises(ImportModelError, match=r"_contrib_quantized_conv: not a supported operator: 1 node: int8"):
        import_symbol(Symbol(tuple(nodes), ((6, 0),)), StoredParameters({}, "p"), {"data": (1, 4, 5, 5)}, "net-symbol.json")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (node("Flatten", "flat", (4, 1)), r"net: Flatten 'flat' \(node 6\): reads the range of a quantised value"),
        (node("_sg_mkldnn_conv", "few", (3, 0), subgraph=fused_residual()), r"'few' \(node 6\): its subgraph has more variables"),
    ],
)
def test_a_malformed_symbol_is_named(broken, message):
    symbol = Symbol((*quantized().nodes[:6], broken), ((6, 0),))
    with pytest.raises(ImportModelError, match=message):
        without_quantization(symbol, "net")
