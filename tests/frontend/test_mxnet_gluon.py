"""Live Gluon blocks."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from vta.errors import ImportModelError
from vta.frontend import from_gluon
from vta.ir.interpreter import evaluate

HAVE_MXNET = importlib.util.find_spec("mxnet") is not None


@pytest.mark.skipif(HAVE_MXNET, reason="MXNet is installed")
def test_without_mxnet_the_error_says_so():
    with pytest.raises(ImportModelError, match="a Gluon block needs MXNet"):
        from_gluon(object(), {"data": (1, 3, 8, 8)})


class FakeBlock:
    """Exports what a Gluon block would."""

    def __init__(self, text, params):
        self.text, self.params, self.calls = text, params, []

    def hybridize(self):
        self.calls.append("hybridize")

    def __call__(self, *inputs):
        self.calls.append(inputs)

    def export(self, stem):
        with open(f"{stem}-symbol.json", "w") as file:
            file.write(self.text)
        with open(f"{stem}-0000.params", "wb") as file:
            file.write(self.params)


def test_a_block_is_run_exported_and_read_back(monkeypatch, symbol):
    import sys
    from types import SimpleNamespace

    from vta.frontend.mxnet import encode_params, symbol_json

    monkeypatch.setitem(sys.modules, "mxnet", SimpleNamespace(nd=SimpleNamespace(zeros=lambda shape: ("zeros", shape))))
    net = symbol("FullyConnected", ["data", "w"], num_hidden=2, no_bias=True)
    block = FakeBlock(symbol_json(net), encode_params({"arg:w": np.ones((2, 3), np.float32)}))
    graph = from_gluon(block, {"data": (4, 3)})
    assert block.calls == ["hybridize", (("zeros", (4, 3)),)]
    assert evaluate(graph, {"data": np.ones((4, 3), np.float32)})[0].tolist() == [[3, 3]] * 4


@pytest.mark.skipif(not HAVE_MXNET, reason="MXNet is not installed")
def test_a_live_block():
    import mxnet

    block = mxnet.gluon.nn.HybridSequential()
    block.add(mxnet.gluon.nn.Conv2D(4, 3, activation="relu"), mxnet.gluon.nn.Flatten(), mxnet.gluon.nn.Dense(5))
    block.initialize()
    data = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    got = evaluate(from_gluon(block, {"data": data.shape}), {"data": data})[0]
    np.testing.assert_allclose(got, block(mxnet.nd.array(data)).asnumpy(), rtol=1e-4, atol=1e-5)
