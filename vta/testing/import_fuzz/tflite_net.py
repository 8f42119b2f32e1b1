"""Grows a TFLite model step by step. Shapes follow TFLite's rules; images are NHWC."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Array, Description, Illegal, Step, Value
from vta.testing.import_fuzz.names import new_name
from vta.testing.import_fuzz.onnx_net import MOST_VALUES

__all__ = ["TfliteNet"]

_EXACT = frozenset(
    [
        "ABS",
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "MAXIMUM",
        "MINIMUM",
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "PAD",
        "PADV2",
        "CONCATENATION",
        "SLICE",
        "STRIDED_SLICE",
        "SPLIT",
        "TRANSPOSE",
        "RESHAPE",
        "SQUEEZE",
        "EXPAND_DIMS",
        "MAX_POOL_2D",
        "REDUCE_MAX",
        "REDUCE_MIN",
        "GATHER",
        "TILE",
        "QUANTIZE",
        "DEQUANTIZE",
        "RESIZE_NEAREST_NEIGHBOR",
        "LEAKY_RELU",
    ]
)
"""Operators that round each float result at most once."""


class TfliteNet:
    """A model whose activations are all of one data type: int8, uint8, int16 with symmetric ranges, or float32."""

    def __init__(self, rng: Random, dtype: str, family: str = "") -> None:
        self.rng = rng
        self.dtype = dtype
        self.family = family
        self.values: dict[str, Value] = {}
        self.steps: list[Step] = []
        self.numbers = np.random.default_rng(rng.randrange(2**32))

    @property
    def quantized(self) -> bool:
        """Whether activations are integers."""
        return self.dtype != "float32"

    def checkpoint(self) -> Callable[[], None]:
        """Return what takes back all that is added from now on."""
        steps, values = list(self.steps), dict(self.values)

        def take_back() -> None:
            self.steps, self.values = steps, values

        return take_back

    def scale(self, about: float) -> float:
        """A scale near `about`, in single precision; at times a power of two."""
        if self.rng.random() < 0.3:
            return float(2.0 ** round(math.log2(about)))
        return float(np.float32(about * self.rng.uniform(0.6, 1.6)))

    def zero_point(self) -> int:
        """A zero point of an activation: often that of symmetric data, at times an end of the range."""
        if self.dtype == "int16":
            return 0
        middle, low = (0, -128) if self.dtype == "int8" else (128, 0)
        return self.rng.choice((middle, middle + self.rng.randint(-60, 60), low, self.rng.choice((low, low + 255))))

    def tensor(self, shape: Sequence[int], about: float = 0.05, scale: float = 0.0, zero: int | None = None) -> Value:
        """A new activation, not yet in the model."""
        name = new_name(self.rng, self.values, "t")
        if min(shape, default=1) < 1 or math.prod(shape) > MOST_VALUES:
            raise Illegal(f"shape {tuple(shape)}")
        if not self.quantized:
            return Value(name, "float32", tuple(shape))
        step = scale or self.scale(about * (1 / 256 if self.dtype == "int16" else 1))
        return Value(name, self.dtype, tuple(shape), scales=(step,), zero_points=(self.zero_point() if zero is None else zero,))

    def like(self, name: str, shape: Sequence[int]) -> Value:
        """A new activation with the scale and zero point of another."""
        value = self.values[name]
        if value.dtype == "float32":
            return Value(new_name(self.rng, self.values, "t"), "float32", self._checked(shape))
        found = self.tensor(shape, scale=value.scales[0], zero=value.zero_points[0])
        return Value(found.name, value.dtype, found.shape, scales=value.scales, zero_points=value.zero_points)

    def _checked(self, shape: Sequence[int]) -> tuple[int, ...]:
        if min(shape, default=1) < 1 or math.prod(shape) > MOST_VALUES:
            raise Illegal(f"shape {tuple(shape)}")
        return tuple(shape)

    def input(self, shape: Sequence[int], dtype: str = "") -> str:
        """Add an input."""
        value = self.tensor(shape) if not dtype else Value(new_name(self.rng, self.values, "x"), dtype, tuple(shape))
        self.values[value.name] = value
        return value.name

    def constant(
        self, data: Any, dtype: str = "int32", scales: Sequence[float] = (), zeros: Sequence[int] = (0,), axis: int = 0
    ) -> str:
        """Add a constant."""
        name = new_name(self.rng, self.values, "c")
        array: Array = np.asarray(data).astype(dtype)
        self.values[name] = Value(name, dtype, array.shape, array, scales=tuple(scales), zero_points=tuple(zeros), axis=axis)
        return name

    def floats(self, shape: Sequence[int]) -> str:
        """Add a float constant."""
        return self.constant(self.numbers.standard_normal(tuple(shape)), "float32")

    def data(self, shape: Sequence[int], about: float = 0.05) -> str:
        """Add a constant of the activations' type."""
        if not self.quantized:
            return self.floats(shape)
        value = self.tensor(shape, about)
        limits = np.iinfo(self.dtype)
        levels = self.numbers.integers(limits.min, limits.max + 1, tuple(shape))
        return self.constant(levels, self.dtype, value.scales, value.zero_points)

    def add(
        self, kind: str, inputs: Sequence[str], *outputs: Value, options: str = "", exact: bool | None = None, **fields: Any
    ) -> str:
        """Add an operator with its outputs and return the first one's name."""
        sources = [self.values[name] for name in inputs if name]
        sure = (kind in _EXACT if exact is None else exact) and all(source.exact for source in sources)
        names = list[str]()
        for value in outputs:
            name = value.name if value.name not in self.values else new_name(self.rng, self.values, "t")
            known = sure or value.dtype != "float32"
            self.values[name] = Value(
                name, value.dtype, value.shape, exact=known, scales=value.scales, zero_points=value.zero_points
            )
            names.append(name)
        self.steps.append(Step(kind, tuple(inputs), tuple(names), fields, options=options))
        return names[0]

    def pick(self, where: Callable[[Value], bool] = lambda value: True, dtype: str = "") -> str:
        """Return an activation, recent ones more often; raises `Illegal` if none fits."""
        wanted = dtype or self.dtype
        fitting = [v.name for v in self.values.values() if v.data is None and v.dtype == wanted and where(v)]
        if not fitting:
            raise Illegal(f"no value of {wanted}")
        return fitting[-1] if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a value's shape."""
        return self.values[name].shape

    def axis(self, rank: int) -> int:
        """Return some axis, counted from the front or from the back."""
        return self.rng.randrange(-rank, rank)

    def described(self) -> Description:
        """Return the model; values that nothing reads are outputs, and a few that something does."""
        read = {name for step in self.steps for name in step.inputs}
        computed = [name for step in self.steps for name in step.outputs]
        outputs = [name for name in computed if name not in read or self.rng.random() < 0.1]
        self.rng.shuffle(outputs)
        inputs = tuple(name for name, value in self.values.items() if value.data is None and name not in set(computed))
        return Description("tflite", self.family, self.values, tuple(self.steps), inputs, tuple(outputs)).pruned()
