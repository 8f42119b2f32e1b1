"""A model as plain data: what generators write, the shrinker changes, and files are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass

__all__ = ["Array", "Description", "Grid", "Illegal", "Step", "Value"]

Array = NDArray[Any]

Grid = tuple[int, int]
"""(e, m): floats that are multiples of 2^-e below 2^m in magnitude; where e + m is at most 24, none of them is rounded."""


class Illegal(Exception):  # noqa: N818 - not an error of the program: the generator tries something else
    """What a generator tried is no legal model."""


@dataclass(frozen=True)
class Value:
    """A tensor: an input, a constant, or what a step computes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: Array | None = None
    """Of a constant."""
    style: str = "initializer"
    """How an ONNX file holds a constant: ``initializer``, ``input`` (one that is listed among the inputs, too) or ``node``."""
    draw: str = "normal"
    """How data of an input are drawn: see `drawn`."""
    exact: bool = True
    """Whether every faithful implementation computes the same bits."""
    grid: Grid | None = None
    slack: float = 0.0
    """By how much the definition leaves a float open before it is quantised: where a bias is rounded to the scale of products."""
    scales: tuple[float, ...] = ()
    """Of a TFLite tensor."""
    zero_points: tuple[int, ...] = (0,)
    axis: int = 0


@dataclass(frozen=True)
class Step:
    """One operator; absent inputs are called ""."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""
    name: str = ""
    options: str = ""
    """The options table of a TFLite operator."""


@dataclass(frozen=True)
class Description:
    """A model."""

    frontend: str
    """``onnx`` or ``tflite``."""
    family: str
    values: Mapping[str, Value]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int = 17
    ir_version: int = 8

    def used(self) -> frozenset[str]:
        """The names that steps read and that are outputs."""
        return frozenset(name for step in self.steps for name in step.inputs if name).union(self.outputs)

    def computed(self) -> Iterator[str]:
        """The names that steps compute, in order."""
        return (name for step in self.steps for name in step.outputs if name)

    def constants(self) -> dict[str, Array]:
        """The values known in the file that something reads."""
        used = self.used()
        return {name: value.data for name, value in self.values.items() if value.data is not None and name in used}

    def pruned(self) -> Description:
        """Without the steps and values that no output depends on."""
        wanted, steps = set(self.outputs), list[Step]()
        for step in reversed(self.steps):
            if wanted.intersection(step.outputs):
                steps.append(step)
                wanted.update(name for name in step.inputs if name)
        kept = tuple(reversed(steps))
        inputs = tuple(name for name in self.inputs if name in wanted)
        names = wanted.union(name for step in kept for name in step.outputs)
        values = {name: value for name, value in self.values.items() if name in names}
        return replace(self, steps=kept, inputs=inputs, values=values)

    def redeclared(self, values: Mapping[str, Array]) -> Description:
        """With the shapes and types that the framework computes."""
        known = dict(self.values)
        for name in self.computed():
            if name in values:
                known[name] = replace(known[name], shape=values[name].shape, dtype=values[name].dtype.name)
        return replace(self, values=known)

    def kinds(self) -> tuple[str, ...]:
        """The operators, in order, with their domain where it is not the default one."""
        return tuple(step.kind + (f" ({step.domain})" if step.domain else "") for step in self.steps)

    def feeds(self, seed: int) -> dict[str, Array]:
        """Data for the inputs."""
        generator = np.random.default_rng(seed)
        return {name: drawn(self.values[name], generator) for name in self.inputs}


def drawn(value: Value, generator: np.random.Generator) -> Array:
    """Return data for an input.

    ``normal``, ``positive``, ``eighths`` (multiples of 1/8 below 32) and ``unit`` (between -1 and 1) draw floats, ``small``
    integers of a few bits, ``index N`` integers below N; other integers cover their type, with its ends.
    """
    shape = value.shape
    if value.dtype.startswith("float"):
        return _floats(value.draw, shape, generator).astype(value.dtype)
    if value.dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if value.draw.startswith("index"):
        return generator.integers(0, int(value.draw.split()[1]), shape).astype(value.dtype)
    if value.draw == "small" or np.dtype(value.dtype).itemsize > 2:
        return generator.integers(-9, 10, shape).astype(value.dtype)
    limits = np.iinfo(value.dtype)
    whole = generator.integers(limits.min, limits.max, shape, endpoint=True)
    ends = generator.choice([limits.min, limits.max], shape)
    return np.where(generator.random(shape) < 0.1, ends, whole).astype(value.dtype)


def _floats(draw: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    if draw == "eighths":
        return (generator.integers(-255, 256, shape) / 8).astype(np.float32)
    if draw == "unit":
        return generator.uniform(-1, 1, shape).astype(np.float32)
    normal = generator.standard_normal(shape).astype(np.float32) * np.float32(2)
    return np.abs(normal) + np.float32(0.1) if draw == "positive" else normal
