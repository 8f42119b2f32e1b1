"""Random graphs in the integer dialect, and configs to compile them for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig, load_config
from vta.ir.graph import Graph, Node, call, constant, graph_input

BASELINE = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17)
TINY = replace(BASELINE, log_inp_buff_size=10, log_wgt_buff_size=12, log_acc_buff_size=12)
"""64 input, 16 weight and 64 accumulator rows."""
BATCH_2 = replace(BASELINE, log_batch=1)
FEW_UOPS = replace(BASELINE, log_uop_buff_size=6)
NARROW = replace(BASELINE, log_acc_width=4, log_acc_buff_size=16)
"""Accumulators of 16 bits."""
LARGE_INPUT = replace(BASELINE, log_inp_buff_size=17, log_acc_buff_size=10)
"""Many more windows of input on chip than rows of output."""

_SHAPED = [load_config(path) for path in shipped_configs().values()]
_SHAPED += [TINY, BATCH_2, FEW_UOPS, LARGE_INPUT, NARROW]
CONFIGS = list(
    dict.fromkeys(
        replace(hw, target=target) if hw.target in ("sim", "cycle") and not hw.requantize_unit else hw
        for hw in _SHAPED
        for target in ("sim", "pynq", "tsim", "intelfocl")
    )
)
"""Every shipped geometry and the small ones, for every kind of target."""


def int8_clip(value: Node, name: str) -> Node:
    """Saturate an int32 value to int8."""
    return call("cast", [call("clip", [value], name, a_min=-128, a_max=127)], name, dtype="int8")


def widened(value: Node, name: str = "wide") -> Node:
    """An int8 value as int32."""
    return call("cast", [value], name, dtype="int32")


def per_channel(values: object, rank: int = 4) -> Node:
    """An int32 constant with one value per channel."""
    return constant(np.asarray(values, np.int32).reshape(1, -1, *([1] * (rank - 2))))


def conv(data: Node, weight: np.ndarray, name: str = "conv", **attributes: object) -> Node:
    """A convolution of int8 values with constant weights, int32."""
    return call("nn.conv2d", [data, constant(weight.astype(np.int8))], name, **attributes)


def random_inputs(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """int8 values for every input, the extremes included."""
    rng = np.random.default_rng(seed)
    return {node.name: rng.integers(-128, 128, node.shape).astype(node.dtype) for node in graph.inputs}


@st.composite
def integer_graphs(draw: st.DrawFn, most_operators: int = 4) -> Graph:
    """Graphs of up to `most_operators` fused operators, each reading one of the int8 values before it."""
    return _built(draw, _Builder(draw), most_operators)


@st.composite
def graphs_with_zeros(draw: st.DrawFn, most_operators: int = 4) -> Graph:
    """The same with weights that are zero in parts or everywhere, and channels, rows and columns of zeros."""
    return _built(draw, _BuilderOfZeros(draw), most_operators)


def _built(draw: st.DrawFn, builder: _Builder, most_operators: int) -> Graph:
    for index in range(draw(st.integers(1, most_operators))):
        builder.operator(f"op{index}")
    return builder.graph()


class _Builder:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        shape = tuple(draw(st.integers(low, high)) for low, high in ((1, 5), (1, 40), (1, 9), (1, 9)))
        self.inputs = [graph_input("data", shape, "int8")]
        self.values = list(self.inputs)
        self.read: set[Node] = set()
        self.wide_outputs: list[Node] = []

    def pick(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def source(self, rank: int | None = None) -> Node:
        fitting = [value for value in self.values if rank in (None, len(value.shape))]
        # Mostly the last value, so that they follow each other.
        value = fitting[-1] if self.draw(st.booleans()) else fitting[self.pick(0, len(fitting) - 1)]
        self.read.add(value)
        return value

    def roots(self) -> tuple[Callable[[str], Node], ...]:
        return (
            self.conv,
            self.conv,
            self.depthwise,
            self.transposed,
            self.dense,
            self.sum_pool,
            self.max_pool,
            self.element_wise,
            self.view,
            self.joined,
            self.sliced,
            self.upsampled,
            self.on_host,
        )

    def operator(self, name: str) -> None:
        value = self.draw(st.sampled_from(self.roots()))(name)
        if value.dtype == "int32":
            value = self.steps(value, name)
            if self.draw(st.integers(0, 7)) == 0:
                self.wide_outputs.append(value)
                return
            value = self.narrowed(value, name)
        self.values.append(value)

    def narrowed(self, value: Node, name: str) -> Node:
        if self.draw(st.integers(0, 9)) == 0:
            return call("cast", [value], name, dtype="int8")
        return int8_clip(value, name)

    def graph(self) -> Graph:
        outputs = [value for value in self.values if value not in self.read and value.op != "input"] + self.wide_outputs
        outputs += [value for value in self.values if value in self.read and value.op != "input" and self.pick(0, 3) == 0]
        return Graph(tuple(self.inputs), tuple(outputs) or (self.values[-1],))

    def weights(self, *shape: int) -> np.ndarray:
        return self.rng.integers(-128, 128, shape).astype(np.int8)

    def conv(self, name: str) -> Node:
        data = self.source(4)
        channels, out = data.shape[1], self.pick(1, 40)
        groups = self.pick(1, 4)
        if channels % groups or out % groups:
            groups = 1
        return self.windowed(name, data, lambda kernel: self.weights(out, channels // groups, *kernel), groups)

    def depthwise(self, name: str) -> Node:
        data = self.source(4)
        multiplier = 2 if self.pick(0, 3) == 0 else 1
        channels = data.shape[1]
        return self.windowed(name, data, lambda kernel: self.weights(channels * multiplier, 1, *kernel), channels)

    def transposed(self, name: str) -> Node:
        data = self.source(4)
        channels, kernel = data.shape[1], (self.pick(1, 5), self.pick(1, 5))
        groups = (1, 1, channels, 2 if channels % 2 == 0 else 1)[self.pick(0, 3)]
        weight = self.weights(channels, self.pick(1, 40 if groups == 1 else 2), *kernel)
        strides, dilation = (self.pick(1, 3), self.pick(1, 3)), (self.pick(1, 2), self.pick(1, 2))
        padding, extra = [0] * 4, (self.pick(0, strides[0] - 1), self.pick(0, strides[1] - 1))
        for axis in (0, 1):
            whole = (data.shape[2 + axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilation[axis] + 1 + extra[axis]
            # Keep something of the output, but no more than 12 rows of it.
            padding[axis] = self.pick(0, min(3, whole - 1))
            rest = whole - padding[axis]
            padding[2 + axis] = self.pick(max(0, rest - 12), max(0, rest - 12, min(3, rest - 1)))
        attributes = {"strides": strides, "padding": tuple(padding), "dilation": dilation, "output_padding": extra}
        return call("nn.conv2d_transpose", [data, constant(weight)], name, groups=groups, **attributes)

    def windowed(self, name: str, data: Node, weights: object, groups: int) -> Node:
        kernel = (self.pick(1, 5), self.pick(1, 5)) if self.pick(0, 3) else (1, 1)
        padding = [self.pick(0, 3) for _ in range(4)] if self.pick(0, 1) else [0] * 4
        dilation = (self.pick(1, 3), self.pick(1, 2))
        for axis in (0, 1):
            # Pad where the kernel would not fit.
            padding[axis + 2] += max(0, (kernel[axis] - 1) * dilation[axis] + 1 - data.shape[2 + axis])
        attributes = {"strides": (self.pick(1, 3), self.pick(1, 3)), "padding": tuple(padding), "dilation": dilation}
        return conv(data, weights(kernel), name, groups=groups, **attributes)

    def dense(self, name: str) -> Node:
        data = self.source()
        if len(data.shape) == 4:
            data = call("nn.batch_flatten", [data], name)
        weight = constant(self.weights(self.pick(1, 40), data.shape[1]))
        return call("nn.dense", [data, weight], name)

    def pooling(self, op: str, name: str, **more: int) -> Node:
        data = self.source(4)
        size = tuple(self.pick(1, min(4, extent)) for extent in data.shape[2:])
        padding = tuple(self.pick(0, size[axis] - 1) for axis in (0, 1, 0, 1))
        strides = (self.pick(1, 3), self.pick(1, 3))
        return call(op, [data], name, pool_size=size, strides=strides, padding=padding, ceil_mode=bool(self.pick(0, 1)), **more)

    def sum_pool(self, name: str) -> Node:
        return self.pooling("nn.sum_pool2d", name, factor=self.pick(1, 127) if self.pick(0, 1) else 1)

    def max_pool(self, name: str) -> Node:
        return self.pooling("nn.max_pool2d", name)

    def view(self, name: str) -> Node:
        flat = [value for value in self.values if value.shape[2:] in ((), (1, 1))]
        if not flat:
            return self.element_wise(name)
        value = flat[-1]
        self.read.add(value)
        shape = value.shape[:2] if len(value.shape) == 4 else (*value.shape, 1, 1)
        return call("reshape", [value], name, newshape=shape)

    def joined(self, name: str) -> Node:
        first = self.source()
        same = [value for value in self.values if value.shape[:1] + value.shape[2:] == first.shape[:1] + first.shape[2:]]
        parts = [first] + [same[self.pick(0, len(same) - 1)] for _ in range(self.pick(1, 3))]
        self.read.update(parts)
        return call("concatenate", [parts[index] for index in self.rng.permutation(len(parts))], name, axis=1)

    def sliced(self, name: str) -> Node:
        data = self.source()
        begin = [0] * len(data.shape)
        end, steps = list(data.shape), [1] * len(data.shape)
        for axis in range(1, len(data.shape)):
            if axis == 1 or self.pick(0, 2) == 0:
                begin[axis] = self.pick(0, data.shape[axis] - 1)
                if axis == 1 and self.pick(0, 1):
                    begin[axis] &= ~7
                end[axis] = self.pick(begin[axis] + 1, data.shape[axis])
                steps[axis] = 1 if self.pick(0, 2) else self.pick(1, 3)
        return call("strided_slice", [data], name, begin=tuple(begin), end=tuple(end), strides=tuple(steps))

    def upsampled(self, name: str) -> Node:
        return call("nn.upsampling", [self.source(4)], name, scale_h=self.pick(1, 3), scale_w=self.pick(1, 3))

    def on_host(self, name: str) -> Node:
        return call("maximum", [self.source(), constant(np.int8(self.pick(-128, 0)))], name)

    def element_wise(self, name: str) -> Node:
        value = self.source()
        kind = self.pick(0, 4)
        if kind == 0:
            return call("nn.relu", [value], name)
        if kind == 1:
            low = self.pick(-128, 100)
            return call("clip", [value], name, a_min=low, a_max=self.pick(low, 127))
        return self.scaled(widened(value, name), name) if kind == 2 else widened(value, name)

    def scaled(self, wide: Node, name: str) -> Node:
        """A tensor operand times a constant."""
        channels, rank = wide.shape[1], len(wide.shape)
        kind = self.pick(0, 3)
        if kind == 0:
            return call("left_shift", [wide, constant(np.int32(self.pick(0, 14)))], name)
        if kind == 1:
            return call("multiply", [wide, constant(np.int32(self.pick(-(1 << 14), 1 << 14)))], name)
        if kind == 2:
            return call("multiply", [wide, per_channel(self.rng.integers(-(1 << 14), (1 << 14) + 1, channels), rank)], name)
        return call("left_shift", [wide, per_channel(self.rng.integers(0, 15, channels), rank)], name)

    def steps(self, value: Node, name: str) -> Node:
        for _ in range(self.draw(st.integers(0, 5))):
            value = self.step(value, name)
        return value

    def step(self, value: Node, name: str) -> Node:
        op = self.draw(
            st.sampled_from(
                ("add", "add", "maximum", "minimum", "multiply", "right_shift", "left_shift", "clip", "tensor", "bias", "relu")
            )
        )
        channels, rank = value.shape[1], len(value.shape)
        if op == "clip":
            low = self.pick(-70000, 70000)
            return call("clip", [value], name, a_min=low, a_max=self.pick(low, 70000))
        if op == "relu":
            return call("nn.relu", [value], name)
        if op == "bias":
            return call("nn.bias_add", [value, constant(self.rng.integers(-100000, 100000, channels).astype(np.int32))], name)
        if op == "tensor":
            return self.with_tensor(value, name)
        limit = {"right_shift": (0, 31), "left_shift": (0, 31)}.get(op, (-100000, 100000))
        if self.pick(0, 1):
            return call(op, [value, constant(np.int32(self.pick(*limit)))], name)
        return call(op, [value, per_channel(self.rng.integers(limit[0], limit[1] + 1, channels), rank)], name)

    def with_tensor(self, value: Node, name: str) -> Node:
        of_channels = len(value.shape) == 4 and self.pick(0, 5) == 0
        shape = (*value.shape[:2], 1, 1) if of_channels else value.shape
        same = [other for other in self.values if other.shape == shape]
        if not same:
            if self.pick(0, 1) and value.shape[0] == self.inputs[0].shape[0]:
                other = graph_input(f"side{len(self.inputs)}", shape, "int8")
                self.inputs.append(other)
                self.values.insert(0, other)
            else:
                return value
        else:
            other = same[self.pick(0, len(same) - 1)]
        self.read.add(other)
        operand = widened(other, name)
        if self.pick(0, 1):
            operand = self.scaled(operand, name)
        op = ("add", "add", "add", "multiply", "maximum", "minimum")[self.pick(0, 5)]
        pair = [operand, value] if shape == value.shape and self.pick(0, 5) == 0 else [value, operand]
        return call(op, pair, name)


class _BuilderOfZeros(_Builder):
    def roots(self) -> tuple[Callable[[str], Node], ...]:
        return (*super().roots(), self.padded, self.padded, self.conv, self.in_padding)

    def weights(self, *shape: int) -> np.ndarray:
        weights = super().weights(*shape)
        if self.pick(0, 7) == 0:
            return np.zeros_like(weights)
        for axis in range(len(shape)):
            if self.pick(0, 1):
                first = self.pick(0, shape[axis] - 1)
                zeros = [slice(None)] * len(shape)
                zeros[axis] = slice(first, self.pick(first + 1, shape[axis]))
                weights[tuple(zeros)] = 0
        return weights

    def padded(self, name: str) -> Node:
        """Channels of zeros, and perhaps rows and columns."""
        data = self.source()
        most = [0, 40, 2, 2][: len(data.shape)]
        if self.pick(0, 1):
            most[2:] = [0] * (len(most) - 2)
        widths = tuple((self.pick(0, size), self.pick(0, size)) for size in most)
        return call("nn.pad", [data], name, pad_width=widths, pad_value=0)

    def in_padding(self, name: str) -> Node:
        """A dilated convolution with kernel positions, and perhaps outputs, that meet nothing but padding."""
        data = self.source(4)
        kernel, dilation = (self.pick(1, 3), self.pick(1, 3)), (self.pick(1, 6), self.pick(1, 6))
        reach = [(kernel[axis] - 1) * dilation[axis] for axis in (0, 1)]
        padding = tuple(reach[axis % 2] + self.pick(0, 3) for axis in range(4))
        weights = self.weights(self.pick(1, 40), data.shape[1], *kernel)
        strides = (self.pick(1, 4), self.pick(1, 4))
        return conv(data, weights, name, padding=padding, dilation=dilation, strides=strides)

    def scaled(self, wide: Node, name: str) -> Node:
        if self.pick(0, 3):
            return super().scaled(wide, name)
        values = self.rng.integers(-(1 << 14), (1 << 14) + 1, wide.shape[1])
        values[self.pick(0, len(values) - 1) :] = 0
        return call("multiply", [wide, per_channel(values, len(wide.shape))], name)


def between_floats(channels, keeps=False):
    """Floats to bytes, a layer of VTA's, and back."""
    data = graph_input("data", (1, channels, 10, 12), "float32")
    pooled = call("nn.max_pool2d", [data], pool_size=(2, 2), strides=(2, 2))
    levels = call("qnn.quantize", [pooled], "levels", scale=0.03, zero_point=5)
    weights = np.random.default_rng(0).integers(-128, 128, (channels, channels, 3, 3))
    shifted = call("right_shift", [conv(levels, weights, "conv", padding=(1, 1, 1, 1)), constant(np.int32(9))], "conv")
    result = call("qnn.dequantize", [int8_clip(shifted, "conv")], "real", scale=0.1)
    return Graph((data,), (result, levels) if keeps else (result,))
