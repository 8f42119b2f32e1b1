"""Where the parameters of an MXNet network come from: a file, or a seed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES
from vta.ir import names as ops
from vta.ir.graph import Node, topological
from vta.support.dataclass import dataclass

__all__ = ["ParameterSource", "Role", "SeededParameters", "StoredParameters"]

Shape = tuple[int, ...]
Role = str
"""What a parameter is for: weight, bias, gamma, beta, mean, var or slope."""


class ParameterSource(Protocol):
    """Gives parameters by name."""

    def find(self, name: str) -> NDArray[Any] | None:
        """Return the parameter called `name` if it is known without its shape."""

    def get(self, name: str, shape: Shape, role: Role, data: Node) -> NDArray[Any]:
        """Return the parameter of the given shape that a layer applies to `data`; raises `ImportModelError`."""


@dataclass(frozen=True)
class StoredParameters:
    """The parameters of a file."""

    arrays: Mapping[str, NDArray[Any]]
    path: object

    def find(self, name: str) -> NDArray[Any] | None:
        """Return the stored parameter, or None."""
        return self.arrays.get(name)

    def get(self, name: str, shape: Shape, role: Role, data: Node) -> NDArray[Any]:
        """Return the stored parameter; its shape must be `shape`."""
        array = self.arrays.get(name)
        if array is None:
            raise ImportModelError(f"{role} {name!r} is not in {self.path}")
        if array.shape != shape:
            raise ImportModelError(f"{role} {name!r} has shape {array.shape} in {self.path}, the layer needs {shape}")
        return array


@dataclass(frozen=True)
class SeededParameters:
    """Pseudo-random parameters that keep activations in range: the same for a name whatever else the network has.

    Weights are normal with variance 2 / fan-in; batch-norm statistics follow the second moment that the data should have,
    as training would have left them.
    """

    seed: int
    made: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The parameters asked for until now."""
    _moments: dict[Node, float] = field(default_factory=dict)

    def find(self, name: str) -> NDArray[Any] | None:
        """Return the parameter if it was made before."""
        return self.made.get(name)

    def get(self, name: str, shape: Shape, role: Role, data: Node) -> NDArray[Any]:
        """Return the parameter, made on the first call."""
        if name not in self.made:
            if math.prod(shape) * 4 > MAX_ARRAY_BYTES:
                raise ImportModelError(f"{role} {name!r} would have shape {shape}, more than {MAX_ARRAY_BYTES} bytes")
            generator = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
            spread = math.sqrt(self._moment(data)) if role in ("mean", "var") else 1.0
            self.made[name] = _ROLES[role](generator, shape, spread).astype(np.float32, copy=False)
            self.made[name].setflags(write=False)
        array = self.made[name]
        if array.shape != shape:
            raise ImportModelError(f"{role} {name!r} is used with shapes {array.shape} and {shape}")
        return array

    def _moment(self, data: Node) -> float:
        """Estimate the mean square of `data`, for a network input of mean square 1."""
        if data not in self._moments:
            for node in topological((data,)):
                if node not in self._moments:
                    self._moments[node] = self._estimate(node)
        return self._moments[data]

    def _estimate(self, node: Node) -> float:
        if not node.inputs or node.op == ops.BATCH_NORM:
            return 1.0
        moments = [self._moments[source] for source in node.inputs if source.op == ops.INPUT or source.is_call]
        first = moments[0] if moments else 1.0
        if node.op in (ops.ADD, ops.SUBTRACT):
            return sum(moments)
        if node.op == ops.CONCATENATE:
            return first if not moments else sum(moments) / len(moments)
        return first * _GAIN.get(node.op, 1.0)


_GAIN = {ops.CONV2D: 2.0, ops.DENSE: 2.0, ops.CONV2D_TRANSPOSE: 2.0, ops.RELU: 0.5, ops.LEAKY_RELU: 0.5, ops.PRELU: 0.5}
"""By how much an operator changes the mean square of its data."""


def _weight(generator: np.random.Generator, shape: Shape, spread: float) -> NDArray[Any]:
    fan_in = max(1, math.prod(shape[1:]))
    weight: NDArray[Any] = generator.standard_normal(shape, np.float32)
    weight *= np.float32(math.sqrt(2.0 / fan_in) * spread)
    return weight


def _around(center: float, width: float, power: int) -> Callable[[np.random.Generator, Shape, float], NDArray[Any]]:
    """Uniform values within `width` of `centre`, in units of the spread of the data to the given power."""

    def make(generator: np.random.Generator, shape: Shape, spread: float) -> NDArray[Any]:
        return generator.uniform(center - width, center + width, shape) * spread**power

    return make


_ROLES: dict[Role, Callable[[np.random.Generator, Shape, float], NDArray[Any]]] = {
    "weight": _weight,
    "bias": _around(0.0, 0.05, 1),
    "gamma": _around(1.0, 0.1, 0),
    "beta": _around(0.0, 0.1, 0),
    "mean": _around(0.0, 0.1, 1),
    "var": _around(1.0, 0.2, 2),
    "slope": _around(0.25, 0.05, 0),
}
