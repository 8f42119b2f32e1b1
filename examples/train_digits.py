"""Train the demo network on scikit-learn's handwritten digits, in NumPy alone, and export it as ONNX.

    python examples/train_digits.py --output vta/demo

The network is a small residual one: 3x3 convolutions 1 -> 16 -> 32, max-pooling, a residual block of two 3x3
convolutions with 32 channels, global average pooling and a dense layer. The last 360 of the 1,797 digits, drawn by
writers of whom the training set has seen little, are never trained on. Needs scikit-learn; takes less than a minute.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]
Parameters = dict[str, Array]

HELD_OUT = 360
CALIBRATION = 64
BATCH = 32
EPSILON = 1e-5
MOMENTUM = 0.1

CONVOLUTIONS = {"conv1": (1, 16), "conv2": (16, 32), "conv3": (32, 32), "conv4": (32, 32)}
"""Input and output channels of each 3x3 convolution, in order."""


def initial_parameters(rng: np.random.Generator) -> tuple[Parameters, Parameters]:
    """Return the trained parameters, He-initialised, and the running statistics of each batch norm."""
    trained: Parameters = {}
    statistics: Parameters = {}
    for name, (inputs, outputs) in CONVOLUTIONS.items():
        scale = np.sqrt(2 / (9 * inputs))
        trained[f"{name}.weight"] = rng.normal(0, scale, (outputs, inputs, 3, 3)).astype(np.float32)
        trained[f"{name}.gamma"] = np.ones(outputs, np.float32)
        trained[f"{name}.beta"] = np.zeros(outputs, np.float32)
        statistics[f"{name}.mean"] = np.zeros(outputs, np.float32)
        statistics[f"{name}.var"] = np.ones(outputs, np.float32)
    trained["dense.weight"] = rng.normal(0, np.sqrt(1 / 32), (10, 32)).astype(np.float32)
    trained["dense.bias"] = np.zeros(10, np.float32)
    return trained, statistics


def windows(x: Array) -> Array:
    """Return every zero-padded 3x3 window of `x` [N, C, H, W] as [N, H, W, C * 9]."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * 9)


class Network:
    """The network and its gradients; keeps what the backward pass needs of the last forward pass."""

    def __init__(self, trained: Parameters, statistics: Parameters) -> None:
        self.trained = trained
        self.statistics = statistics
        self.gradients: Parameters = {}
        self._kept: dict[str, tuple[Array, ...]] = {}

    def forward(self, x: Array, training: bool = False) -> Array:
        """Return the logits [N, 10] of images `x` [N, 1, 8, 8]."""
        x = self._activate("relu1", self._convolve("conv1", x, training))
        x = self._activate("relu2", self._convolve("conv2", x, training))
        skip = self._pool(x)
        x = self._activate("relu3", self._convolve("conv3", skip, training))
        x = self._activate("relu4", self._convolve("conv4", x, training) + skip)
        features = x.mean(axis=(2, 3))
        self._kept["features"] = (features, x)
        return features @ self.trained["dense.weight"].T + self.trained["dense.bias"]

    def backward(self, gradient: Array) -> None:
        """Fill `gradients` from the gradient of the loss in the logits of the last forward pass."""
        features, x = self._kept["features"]
        self.gradients["dense.weight"] = gradient.T @ features
        self.gradients["dense.bias"] = gradient.sum(axis=0)
        area = x.shape[2] * x.shape[3]
        g = np.broadcast_to((gradient @ self.trained["dense.weight"])[:, :, None, None] / area, x.shape)
        g = self._activate_backward("relu4", g)
        block = self._activate_backward("relu3", self._convolve_backward("conv4", g))
        g = self._pool_backward(g + self._convolve_backward("conv3", block))
        g = self._convolve_backward("conv2", self._activate_backward("relu2", g))
        self._convolve_backward("conv1", self._activate_backward("relu1", g))

    def _convolve(self, name: str, x: Array, training: bool) -> Array:
        """Convolution and batch norm."""
        weight = self.trained[f"{name}.weight"]
        columns = windows(x)
        y = columns @ weight.reshape(len(weight), -1).T
        mean, var = self.statistics[f"{name}.mean"], self.statistics[f"{name}.var"]
        if training:
            self._track(name, y)
            mean, var = y.mean(axis=(0, 1, 2)), y.var(axis=(0, 1, 2))
        inverse = (1 / np.sqrt(var + EPSILON)).astype(np.float32)
        normal = (y - mean) * inverse
        self._kept[name] = (columns, normal, inverse)
        out = normal * self.trained[f"{name}.gamma"] + self.trained[f"{name}.beta"]
        return out.transpose(0, 3, 1, 2)

    def _track(self, name: str, y: Array) -> None:
        for key, value in (("mean", y.mean(axis=(0, 1, 2))), ("var", y.var(axis=(0, 1, 2)))):
            running = self.statistics[f"{name}.{key}"]
            self.statistics[f"{name}.{key}"] = ((1 - MOMENTUM) * running + MOMENTUM * value).astype(np.float32)

    def _convolve_backward(self, name: str, gradient: Array) -> Array:
        columns, normal, inverse = self._kept[name]
        g = gradient.transpose(0, 2, 3, 1)
        self.gradients[f"{name}.gamma"] = (g * normal).sum(axis=(0, 1, 2))
        self.gradients[f"{name}.beta"] = g.sum(axis=(0, 1, 2))
        g = g * self.trained[f"{name}.gamma"]
        axes = (0, 1, 2)
        g = inverse * (g - g.mean(axis=axes) - normal * (g * normal).mean(axis=axes))
        weight = self.trained[f"{name}.weight"]
        flat = g.reshape(-1, g.shape[3])
        self.gradients[f"{name}.weight"] = (flat.T @ columns.reshape(len(flat), -1)).reshape(weight.shape)
        turned = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        back = windows(np.ascontiguousarray(g.transpose(0, 3, 1, 2))) @ turned.reshape(len(turned), -1).T
        return back.transpose(0, 3, 1, 2)

    def _activate(self, name: str, x: Array) -> Array:
        self._kept[name] = (x > 0,)
        return np.maximum(x, 0)

    def _activate_backward(self, name: str, gradient: Array) -> Array:
        return gradient * self._kept[name][0]

    def _pool(self, x: Array) -> Array:
        """2x2 max-pooling."""
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        best = blocks.max(axis=(3, 5))
        self._kept["pool"] = (blocks == best[:, :, :, None, :, None],)
        return best

    def _pool_backward(self, gradient: Array) -> Array:
        (winners,) = self._kept["pool"]
        n, c, h, _, w, _ = winners.shape
        share = winners / winners.sum(axis=(3, 5), keepdims=True)
        return (share * gradient[:, :, :, None, :, None]).astype(np.float32).reshape(n, c, 2 * h, 2 * w)


class Adam:
    """The Adam optimiser with decoupled weight decay."""

    def __init__(self, parameters: Parameters, decay: float = 1e-3) -> None:
        self._parameters = parameters
        self._decay = decay
        self._first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self._steps = 0

    def step(self, gradients: Parameters, rate: float) -> None:
        """Change the parameters in place."""
        self._steps += 1
        for name, value in self._parameters.items():
            g = gradients[name]
            self._first[name] += 0.1 * (g - self._first[name])
            self._second[name] += 0.001 * (g * g - self._second[name])
            first = self._first[name] / (1 - 0.9**self._steps)
            second = self._second[name] / (1 - 0.999**self._steps)
            decay = self._decay if name.endswith("weight") else 0.0
            change = rate * (first / (np.sqrt(second) + 1e-8) + decay * value)
            np.subtract(value, change.astype(np.float32), out=value)


def shifted(x: Array, rng: np.random.Generator) -> Array:
    """Return images moved by up to one pixel each way."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.empty_like(x)
    for index, (dy, dx) in enumerate(rng.integers(0, 3, (len(x), 2))):
        out[index] = padded[index, :, dy : dy + 8, dx : dx + 8]
    return out


def loss_gradient(logits: Array, labels: NDArray[np.int64], smoothing: float = 0.1) -> tuple[float, Array]:
    """Return the mean cross-entropy with label smoothing and its gradient in the logits."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability = odds / odds.sum(axis=1, keepdims=True)
    wanted = np.full_like(probability, smoothing / 10)
    wanted[np.arange(len(labels)), labels] += 1 - smoothing
    loss = -(wanted * np.log(probability + 1e-12)).sum(axis=1).mean()
    return float(loss), ((probability - wanted) / len(labels)).astype(np.float32)


def accuracy(network: Network, x: Array, y: NDArray[np.int64]) -> float:
    """Share of images whose largest logit is their label's."""
    return float((network.forward(x).argmax(axis=1) == y).mean())


def train(x: Array, y: NDArray[np.int64], epochs: int, seed: int) -> Network:
    """Train on images `x` [N, 1, 8, 8] with labels `y`, printing progress."""
    rng = np.random.default_rng(seed)
    network = Network(*initial_parameters(rng))
    optimizer = Adam(network.trained)
    start = time.perf_counter()
    for epoch in range(epochs):
        rate = 0.003 * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        order = rng.permutation(len(x))
        total = 0.0
        for first in range(0, len(x) - BATCH + 1, BATCH):
            chosen = order[first : first + BATCH]
            logits = network.forward(shifted(x[chosen], rng), training=True)
            loss, gradient = loss_gradient(logits, y[chosen])
            network.backward(gradient)
            optimizer.step(network.gradients, rate)
            total += loss
        if epoch % 5 == 4:
            seconds = time.perf_counter() - start
            print(f"epoch {epoch + 1} of {epochs}: loss {total / (len(x) // BATCH):.4f}, {seconds:.0f} s", flush=True)
    return network


def export(network: Network) -> onnx.ModelProto:
    """Return the network as an ONNX model, batch norms as nodes of their own."""
    nodes = []
    value = "image"
    for name in CONVOLUTIONS:
        if name == "conv3":
            nodes.append(helper.make_node("MaxPool", [value], ["pool_out"], "pool", kernel_shape=[2, 2], strides=[2, 2]))
            value = "pool_out"
        nodes.append(
            helper.make_node(
                "Conv", [value, f"{name}.weight"], [f"{name}_out"], name, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]
            )
        )
        norm = [f"{name}_out", *(f"{name}.{key}" for key in ("gamma", "beta", "mean", "var"))]
        nodes.append(helper.make_node("BatchNormalization", norm, [f"{name}_norm_out"], f"{name}_norm", epsilon=EPSILON))
        value = f"{name}_norm_out"
        if name == "conv4":
            nodes.append(helper.make_node("Add", [value, "pool_out"], ["add_out"], "add"))
            value = "add_out"
        nodes.append(helper.make_node("Relu", [value], [f"relu{name[-1]}_out"], f"relu{name[-1]}"))
        value = f"relu{name[-1]}_out"
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["average_out"], "average"))
    nodes.append(helper.make_node("Flatten", ["average_out"], ["flatten_out"], "flatten"))
    nodes.append(helper.make_node("Gemm", ["flatten_out", "dense.weight", "dense.bias"], ["logits"], "dense", transB=1))
    values = {**network.trained, **network.statistics}
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(array, name) for name, array in values.items()],
    )
    model = helper.make_model(graph, producer_name="vta", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all images, uint8 [N, 8, 8] of 0 to 16, and their labels."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images.astype(np.uint8), data.target.astype(np.int64)


def main() -> None:
    """Train, report, and write `digits.onnx` and `digits.npz`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("out/digits"), help="directory to write to (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    images, labels = digits()
    x = (images[:, None] / 16).astype(np.float32)
    network = train(x[:-HELD_OUT], labels[:-HELD_OUT], options.epochs, options.seed)
    print(f"training set {accuracy(network, x[:-HELD_OUT], labels[:-HELD_OUT]):.2%}")
    print(f"held-out {accuracy(network, x[-HELD_OUT:], labels[-HELD_OUT:]):.2%} of {HELD_OUT}")
    options.output.mkdir(parents=True, exist_ok=True)
    onnx.save(export(network), options.output / "digits.onnx")
    np.savez_compressed(
        options.output / "digits.npz",
        x=images[-HELD_OUT:, None],
        y=labels[-HELD_OUT:].astype(np.uint8),
        calibration=images[:CALIBRATION, None],
    )


if __name__ == "__main__":
    main()
