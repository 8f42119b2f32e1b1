"""The pair of files on disk."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.frontend.mxnet import SeededParameters, encode_params, find_params, import_symbol, symbol_json
from vta.frontend.zoo import resnet_symbol
from vta.ir.interpreter import evaluate


@pytest.fixture
def saved(tmp_path, symbol):
    """A network saved as two files; returns the symbol path and a function that saves parameters under a name."""
    net = symbol("FullyConnected", ["data", "w"], num_hidden=2, no_bias=True)
    path = tmp_path / "net-symbol.json"
    path.write_text(symbol_json(net))

    def save(name, value=1.0):
        file = tmp_path / name
        file.write_bytes(encode_params({"arg:w": np.full((2, 3), value, np.float32)}))
        return file

    return path, save


def test_the_last_epoch_wins(saved):
    path, save = saved
    save("net.params", 1)
    assert find_params(path).name == "net.params"
    save("net-0003.params", 3)
    save("net-0120.params", 2)
    save("other-0999.params", 9)
    assert find_params(path).name == "net-0120.params"
    graph = load_model(path)
    assert graph.name == "net"
    assert evaluate(graph, {"data": np.ones((1, 3), np.float32)})[0].tolist() == [[6, 6]]


def test_parameters_may_be_elsewhere(saved, tmp_path):
    path, save = saved
    (tmp_path / "sub").mkdir()
    graph = load_model(path, params=save("sub/other.params", 5))
    assert evaluate(graph, {"data": np.ones((1, 3), np.float32)})[0].tolist() == [[15, 15]]


def test_without_parameters_the_error_says_what_to_do(saved):
    with pytest.raises(ImportModelError, match=r"net-0000\.params or net\.params.*random_weights=SEED"):
        load_model(saved[0])
    graph = load_model(saved[0], {"data": (4, 3)}, random_weights=1)
    assert graph.outputs[0].shape == (4, 2)


def test_a_saved_network_is_the_one_that_was_built(tmp_path):
    symbol, parameters = resnet_symbol(18, 2), SeededParameters(3)
    shapes = {"data": (1, 3, 32, 32)}
    built = import_symbol(symbol, parameters, shapes)
    (tmp_path / "r-symbol.json").write_text(symbol_json(symbol))
    (tmp_path / "r-0000.params").write_bytes(encode_params({f"arg:{name}": array for name, array in parameters.made.items()}))
    loaded = load_model(tmp_path / "r-symbol.json", shapes)
    data = {"data": np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)}
    assert np.array_equal(evaluate(built, data)[0], evaluate(loaded, data)[0])
