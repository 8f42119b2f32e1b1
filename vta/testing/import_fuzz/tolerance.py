"""How far two faithful implementations of a float model may differ.

Operators that round each result once, as IEEE 754 says, and integer ones must agree to the bit. Around every other operator the
framework itself is run again with noise of a few units in the last place on what it reads and on its result; how far that moves
an output, times a factor, is what the output may differ by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vta.testing.import_fuzz.description import Array, Description, Step, Value
from vta.testing.import_fuzz.differences import ABSOLUTE, softmax_levels
from vta.testing.import_fuzz.oracles import framework_values

__all__ = ["close_to_ties", "tolerances"]

_NOISE = 2.0**-21
"""Four units in the last place."""
_RUNS = 4
_FACTOR = 4.0
_FLOOR = 2.0**-21
"""Of the largest magnitude of an output."""
_MARGIN = 2.0**-12
"""Of a level: how far from a tie a value must be that may round before it is quantised."""


def tolerances(net: Description, feeds: Mapping[str, Array], values: Mapping[str, Array]) -> dict[str, float]:
    """Return by how much each output may differ; infinite where noise makes a value that is not finite."""
    outputs = {name: values[name] for name in net.outputs}
    found = dict.fromkeys(net.outputs, 0.0)
    for run in range(_RUNS):
        moved = framework_values(_noisy(net, values, np.random.default_rng(run)), feeds)
        for name, value in outputs.items():
            if value.dtype.kind == "f" and not net.values[name].exact:
                found[name] = max(found[name], _largest(moved[name] - value))
    return {
        name: 0.0 if net.values[name].exact else most * _FACTOR + _FLOOR * _largest(outputs[name]) for name, most in found.items()
    }


def _largest(value: Array) -> float:
    if not value.size:
        return 0.0
    largest = float(np.abs(np.asarray(value, np.float64)).max())
    return largest if math.isfinite(largest) else math.inf


def _noisy(net: Description, values: Mapping[str, Array], generator: np.random.Generator) -> Description:
    """The model with noise around every operator whose results are not exact."""
    noise = _Noise(net, values, generator)
    for number, step in enumerate(net.steps):
        if all(net.values[name].exact for name in step.outputs if name):
            noise.steps.append(step)
        else:
            noise.surround(number, step)
    return replace(net, values=noise.values, steps=tuple(noise.steps))


class _Noise:
    """A model that steps are added to, some with noise around them."""

    def __init__(self, net: Description, values: Mapping[str, Array], generator: np.random.Generator) -> None:
        self.values = dict(net.values)
        self.steps: list[Step] = []
        self._net = net
        self._shapes = {name: value.shape for name, value in {**net.constants(), **values}.items()}
        self._generator = generator

    def surround(self, number: int, step: Step) -> None:
        """Add a step with noise on the floats that it reads and on its results."""
        inputs = [self._read(name, f"noisy input {number} {index}") for index, name in enumerate(step.inputs)]
        outputs = [f"noisy output {number} {index}" for index in range(len(step.outputs))]
        self.values.update({to: replace(self.values[name], name=to) for to, name in zip(outputs, step.outputs, strict=True)})
        self.steps.append(replace(step, inputs=tuple(inputs), outputs=tuple(outputs)))
        for source, name in zip(outputs, step.outputs, strict=True):
            self._result(step.kind, source, name)

    def _read(self, name: str, to: str) -> str:
        value = self.values.get(name)
        if value is None or value.dtype != "float32" or value.data is not None:
            return name
        self.values[to] = replace(value, name=to)
        self._combine("Mul", name, 1 + self._signs(name, _NOISE), to)
        return to

    def _result(self, kind: str, source: str, name: str) -> None:
        if self.values[name].dtype != "float32":
            self.steps.append(Step("Identity", (source,), (name,)))
            return
        if kind in ABSOLUTE:
            shifted = f"{source} shifted"
            self.values[shifted] = replace(self.values[name], name=shifted)
            self._combine("Add", source, self._signs(name, ABSOLUTE[kind].amount), shifted)
            source = shifted
        self._combine("Mul", source, 1 + self._signs(name, _NOISE), name)

    def _combine(self, kind: str, source: str, data: Array, to: str) -> None:
        other = f"{to} noise"
        self.values[other] = Value(other, "float32", data.shape, data)
        if self._net.frontend == "onnx":
            self.steps.append(Step(kind, (source, other), (to,)))
        else:
            self.steps.append(
                Step(kind.upper(), (source, other), (to,), {"FusedActivationFunction": 0}, options=f"{kind}Options")
            )

    def _signs(self, name: str, amount: float) -> Array:
        return self._generator.choice(np.array([-amount, amount], np.float32), self._shapes[name])


def close_to_ties(net: Description, values: Mapping[str, Array]) -> bool:
    """Whether a value that may round before it is quantised lies so close to a tie that either level would be right."""
    return any(_RULES[step.kind](net, step, values) for step in net.steps if step.kind in _RULES)


def _close(net: Description, step: Step, values: Mapping[str, Array]) -> bool:
    source, scales = net.values[step.inputs[0]], net.values[step.inputs[1]].data
    if source.data is not None or scales is None or source.name not in values:
        return False
    powers = all(math.frexp(float(scale))[0] == 0.5 for scale in scales.reshape(-1))
    if source.slack == 0 and powers and source.grid is not None:
        return False
    axis = int(step.attributes.get("axis", 1))
    shape = [1] * len(source.shape)
    if scales.size > 1:
        shape[axis] = -1
    levels = values[source.name].astype(np.float64) / scales.astype(np.float64).reshape(shape if scales.size > 1 else ())
    within = np.abs(levels) < 300
    distance = np.abs(np.abs(levels - np.floor(levels)) - 0.5)
    margin = _MARGIN + source.slack / scales.astype(np.float64).min()
    return bool((within & (distance < margin)).any())


def _close_softmax(net: Description, step: Step, values: Mapping[str, Array]) -> bool:
    levels = softmax_levels(net, step, values)
    return bool((np.abs(np.abs(levels - np.floor(levels)) - 0.5) < _MARGIN).any())


_RULES = {"QuantizeLinear": _close, "QLinearSoftmax": _close_softmax}
