"""The training script's gradients and export, without training."""

import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "train_digits.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("train_digits", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def network(script):
    return script.Network(*script.initial_parameters(np.random.default_rng(0)))


def test_gradients_agree_with_differences(script, network):
    rng = np.random.default_rng(1)
    x = rng.random((4, 1, 8, 8))
    labels = np.array([0, 3, 5, 9])
    network.trained = {name: value.astype(np.float64) for name, value in network.trained.items()}

    def loss():
        return script.loss_gradient(network.forward(x, training=True), labels)[0]

    logits = network.forward(x, training=True)
    network.backward(script.loss_gradient(logits, labels)[1].astype(np.float64))
    for name, value in network.trained.items():
        index = tuple(rng.integers(0, size) for size in value.shape)
        step = 1e-4
        value[index] += step
        above = loss()
        value[index] -= 2 * step
        below = loss()
        value[index] += step
        assert network.gradients[name][index] == pytest.approx((above - below) / (2 * step), rel=0.02, abs=1e-5), name


def test_export_computes_what_the_network_does(script, network):
    x = np.random.default_rng(2).random((1, 1, 8, 8)).astype(np.float32)
    session = onnxruntime.InferenceSession(script.export(network).SerializeToString())
    (logits,) = session.run(None, {"image": x})
    np.testing.assert_allclose(logits, network.forward(x), rtol=1e-4, atol=1e-5)


def test_shifted_images_keep_their_pixels_within_one_step(script):
    x = np.zeros((50, 1, 8, 8), np.float32)
    x[:, 0, 4, 4] = 1
    moved = script.shifted(x, np.random.default_rng(3))
    assert (moved.sum(axis=(1, 2, 3)) == 1).all()
    assert (moved[:, 0, 3:6, 3:6].sum(axis=(1, 2)) == 1).all()
