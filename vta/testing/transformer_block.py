"""A transformer block of TFLite's int8 operators, and of ONNX's float ones, with what it computes in real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass
from vta.testing.tflite_model import Tflite

__all__ = ["Block", "Sizes", "causal_mask", "distance_bias", "onnx_block", "tflite_block"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Sizes:
    """Those of a block."""

    tokens: int = 20
    heads: int = 2
    head: int = 16
    hidden: int = 48

    @property
    def features(self) -> int:
        """Of a token."""
        return self.heads * self.head


_USUAL = Sizes()


@dataclass(frozen=True)
class Block:
    """A model file, an input in real numbers and as its bytes, and the result of real numbers with the scale of the output."""

    content: bytes
    data: Array
    levels: Array
    wanted: Array
    scale: float
    zero: int

    def error(self, output: Array) -> float:
        """Signal to noise of an int8 output against real numbers, in dB."""
        noise = (output.astype(np.float64) - self.zero) * self.scale - self.wanted
        return float(10 * np.log10((self.wanted**2).mean() / (noise**2).mean()))


@dataclass(frozen=True)
class _Value:
    tensor: int
    real: Array
    scale: float
    zero: int


class _Builder:
    """Adds int8 operators whose scales are those of what they compute in real numbers."""

    def __init__(self, seed: int) -> None:
        self.net = Tflite()
        self.rng = np.random.default_rng(seed)

    def value(self, real: Array, scale: float = 0.0, zero: int | None = None) -> _Value:
        low, high = min(float(real.min()), 0.0), max(float(real.max()), 0.0)
        scale = float(np.float32(scale or (high - low) / 255))
        zero = int(np.clip(round(-128 - low / scale), -128, 127)) if zero is None else zero
        return _Value(self.net.tensor(real.shape, "int8", scale, zero), real, scale, zero)

    def apply(
        self, kind: str, inputs: list[int], real: Array, options: str | None = None, like: _Value | None = None, **fields: Any
    ) -> _Value:
        made = self.value(real) if like is None else self.value(real, like.scale, like.zero)
        self.net.operator(kind, inputs, made.tensor, options, **fields)
        return made

    def dense(self, x: _Value, outputs: int) -> _Value:
        real = self.rng.standard_normal((outputs, x.real.shape[-1])) / np.sqrt(x.real.shape[-1])
        bias = self.rng.standard_normal(outputs) * 0.1
        scale = np.float32(abs(real).max() / 127)
        w = self.net.constant(np.rint(real / scale), "int8", scale)
        b = self.net.constant(np.rint(bias / (scale * x.scale)), "int32", scale * np.float32(x.scale))
        inputs, options = [x.tensor, w, b], "FullyConnectedOptions"
        return self.apply("FULLY_CONNECTED", inputs, x.real @ real.T + bias, options, FusedActivationFunction=0, KeepNumDims=True)

    def shaped(self, x: _Value, shape: Sequence[int]) -> _Value:
        to = self.net.constant(shape, "int32")
        return self.apply("RESHAPE", [x.tensor, to], x.real.reshape(shape), "ReshapeOptions", x)

    def turned(self, x: _Value, axes: Sequence[int]) -> _Value:
        return self.apply("TRANSPOSE", [x.tensor, self.net.constant(axes, "int32")], x.real.transpose(axes), None, x)

    def heads(self, x: _Value, sizes: Sizes) -> _Value:
        return self.turned(self.shaped(x, (1, sizes.tokens, sizes.heads, sizes.head)), (0, 2, 1, 3))

    def joined(self, x: _Value) -> _Value:
        turned = self.turned(x, (0, 2, 1, 3))
        return self.shaped(turned, (1, turned.real.shape[1], turned.real.shape[2] * turned.real.shape[3]))

    def matmul(self, x: _Value, y: _Value, turned: bool) -> _Value:
        real = x.real @ (y.real.swapaxes(-1, -2) if turned else y.real)
        return self.apply("BATCH_MATMUL", [x.tensor, y.tensor], real, "BatchMatMulOptions", AdjX=False, AdjY=turned)

    def softmax(self, x: _Value, beta: float) -> _Value:
        real = np.exp(beta * (x.real - x.real.max(axis=-1, keepdims=True)))
        made = self.value(real / real.sum(axis=-1, keepdims=True), 1 / 256, -128)
        self.net.operator("SOFTMAX", [x.tensor], made.tensor, "SoftmaxOptions", Beta=beta)
        return made

    def add(self, x: _Value, y: _Value) -> _Value:
        return self.pair("ADD", x, y, x.real + y.real)

    def constant(self, real: Array) -> _Value:
        scale = float(np.float32(max(abs(real).max(), 1e-6) / 127))
        return _Value(self.net.constant(np.rint(real / scale), "int8", scale), real, scale, 0)

    def pair(self, kind: str, x: _Value, y: _Value, real: Array) -> _Value:
        name = kind[0] + kind[1:].lower()
        return self.apply(kind, [x.tensor, y.tensor], real, f"{name}Options", FusedActivationFunction=0)

    def mean(self, x: _Value) -> _Value:
        real, axis = x.real.mean(axis=2, keepdims=True), self.net.constant([2], "int32")
        return self.apply("MEAN", [x.tensor, axis], real, "ReducerOptions", KeepDims=True)

    def norm(self, x: _Value) -> _Value:
        """A layer norm as converters write it out."""
        mean = self.mean(x)
        centered = self.pair("SUB", x, mean, x.real - mean.real)
        square = self.apply("SQUARED_DIFFERENCE", [x.tensor, mean.tensor], centered.real**2, "SquaredDifferenceOptions")
        variance = self.mean(square)
        factor = self.apply("RSQRT", [variance.tensor], 1 / np.sqrt(variance.real))
        scaled = self.pair("MUL", centered, factor, centered.real * factor.real)
        gamma = self.constant(self.rng.uniform(0.5, 1.5, x.real.shape[-1:]))
        beta = self.constant(self.rng.standard_normal(x.real.shape[-1:]) * 0.1)
        product = self.pair("MUL", scaled, gamma, scaled.real * gamma.real)
        return self.add(product, beta)

    def gelu(self, x: _Value) -> _Value:
        real = 0.5 * x.real * (1 + np.tanh(np.sqrt(2 / np.pi) * (x.real + 0.044715 * x.real**3)))
        return self.apply("GELU", [x.tensor], real, "GeluOptions", Approximate=True)


def tflite_block(sizes: Sizes = _USUAL, *, norm: bool = True, gelu: bool = True, seed: int = 0) -> Block:
    """A block of int8 in TFLite's operators: attention and two dense layers, each with its norm and residual."""
    make = _Builder(seed)
    x = make.value(make.rng.standard_normal((1, sizes.tokens, sizes.features)))
    normed = make.norm(x) if norm else x
    query, key, values = (make.heads(make.dense(normed, sizes.features), sizes) for _ in range(3))
    weights = make.softmax(make.matmul(query, key, turned=True), sizes.head**-0.5)
    attended = make.add(make.dense(make.joined(make.matmul(weights, values, turned=False)), sizes.features), x)
    normed = make.norm(attended) if norm else attended
    hidden = make.dense(normed, sizes.hidden)
    out = make.add(make.dense(make.gelu(hidden) if gelu else hidden, sizes.features), attended)
    levels = np.clip(np.rint(x.real / x.scale) + x.zero, -128, 127).astype(np.int8)
    return Block(make.net.build([x.tensor], [out.tensor]), x.real, levels, out.real, out.scale, out.zero)


class _FloatBuilder:
    """Adds float operators of ONNX."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.rng = np.random.default_rng(seed)

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def apply(self, op: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def random(self, *shape: int, factor: float) -> str:
        return self.constant((self.rng.standard_normal(shape) * factor).astype(np.float32))

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        product = self.apply("MatMul", x, self.random(inputs, outputs, factor=inputs**-0.5))
        return self.apply("Add", product, self.random(outputs, factor=0.1))

    def norm(self, x: str, features: int) -> str:
        gamma = self.constant(self.rng.uniform(0.5, 1.5, features).astype(np.float32))
        return self.apply("LayerNormalization", x, gamma, self.random(features, factor=0.1), axis=-1)

    def heads(self, x: str, sizes: Sizes, order: Sequence[int]) -> str:
        split = self.apply("Reshape", x, self.constant(np.array([1, sizes.tokens, sizes.heads, sizes.head])))
        return self.apply("Transpose", split, perm=order)

    def gelu(self, x: str) -> str:
        curve = self.apply("Erf", self.apply("Div", x, self.constant(np.float32(np.sqrt(2)))))
        doubled = self.apply("Mul", x, self.apply("Add", curve, self.constant(np.float32(1))))
        return self.apply("Mul", doubled, self.constant(np.float32(0.5)))


def causal_mask(tokens: int) -> Array:
    """What a token that attends to those before it adds to its scores: shape (tokens, tokens), float32."""
    at = np.arange(tokens)
    return np.where(at > at[:, None], np.float32(-np.inf), np.float32(0))


def distance_bias(tokens: int, heads: int) -> Array:
    """What falls with the distance between tokens, faster in some heads (Press et al., "Train Short, Test Long", 2022).

    Shape (heads, tokens, tokens), float32.
    """
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    at = np.arange(tokens)
    return np.asarray(-slopes[:, None, None] * abs(at - at[:, None]), np.float32)


def onnx_block(sizes: Sizes = _USUAL, *, bias: Array | None = None, causal: bool = False, seed: int = 0) -> bytes:
    """A block of float operators, as PyTorch exports it: from ``x`` (1, tokens, features) to the same shape.

    `bias` is added to scores; where it is `causal`, those of tokens that come later are replaced by minus infinity.
    """
    from onnx import TensorProto, helper

    make, features = _FloatBuilder(seed), sizes.features
    normed = make.norm("x", features)
    projected = [make.dense(normed, features, features) for _ in range(3)]
    orders = (0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)
    query, key, values = (make.heads(value, sizes, order) for value, order in zip(projected, orders, strict=True))
    scores = make.apply("Div", make.apply("MatMul", query, key), make.constant(np.float32(sizes.head**0.5)))
    if bias is not None:
        scores = make.apply("Add", scores, make.constant(bias))
    if causal:
        later = make.constant(np.isinf(causal_mask(sizes.tokens)))
        scores = make.apply("Where", later, make.constant(np.float32(-np.inf)), scores)
    attended = make.apply("MatMul", make.apply("Softmax", scores, axis=-1), values)
    shape = make.constant(np.array([1, sizes.tokens, features]))
    joined = make.apply("Reshape", make.apply("Transpose", attended, perm=[0, 2, 1, 3]), shape)
    first = make.apply("Add", make.dense(joined, features, features), "x")
    hidden = make.gelu(make.dense(make.norm(first, features), features, sizes.hidden))
    out = make.apply("Add", make.dense(hidden, sizes.hidden, features), first)
    data, result = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, sizes.tokens, features)) for name in ("x", out))
    graph = helper.make_graph(make.nodes, "block", [data], [result], make.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())
