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
from vta.testing.import_fuzz.differences import noise_factor, softmax_levels
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
        name: 0.0 if net.values[name].exact else most * _FACTOR * noise_factor(net) + _FLOOR * _largest(outputs[name])
        for name, most in found.items()
    }


def _largest(value: Array) -> float:
    if not value.size:
        return 0.0
    largest = float(np.abs(np.asarray(value, np.float64)).max())
    return largest if math.isfinite(largest) else math.inf


def _noisy(net: Description, values: Mapping[str, Array], generator: np.random.Generator) -> Description:
    """The model with noise around every operator whose results are not exact."""
    known, steps = dict(net.values), list[Step]()

    def shaken(name: str, to: str) -> None:
        shape = values[name].shape if name in values else net.values[name].shape
        noise = f"{to} noise"
        signs = generator.choice(np.array([-_NOISE, _NOISE], np.float32), shape)
        known[noise] = Value(noise, "float32", shape, np.float32(1) + signs)
        known[to] = replace(known[name], name=to, data=None)
        steps.append(_multiplied(net.frontend, name, noise, to))

    for number, step in enumerate(net.steps):
        if all(net.values[name].exact for name in step.outputs if name):
            steps.append(step)
            continue
        inputs = list(step.inputs)
        for index, name in enumerate(inputs):
            if name and net.values[name].dtype == "float32" and net.values[name].data is None:
                inputs[index] = f"noisy input {number} {index}"
                shaken(name, inputs[index])
        outputs = tuple(f"noisy output {number} {index}" for index in range(len(step.outputs)))
        known.update({to: replace(known[name], name=to) for to, name in zip(outputs, step.outputs, strict=True)})
        steps.append(replace(step, inputs=tuple(inputs), outputs=outputs))
        for to, name in zip(outputs, step.outputs, strict=True):
            if net.values[name].dtype == "float32":
                values_shape = values[name].shape
                noise = f"{to} noise"
                signs = generator.choice(np.array([-_NOISE, _NOISE], np.float32), values_shape)
                known[noise] = Value(noise, "float32", values_shape, np.float32(1) + signs)
                steps.append(_multiplied(net.frontend, to, noise, name))
            else:
                steps.append(_copied(net.frontend, to, name))
    return replace(net, values=known, steps=tuple(steps))


def _multiplied(frontend: str, one: str, other: str, to: str) -> Step:
    if frontend == "onnx":
        return Step("Mul", (one, other), (to,))
    return Step("MUL", (one, other), (to,), {"FusedActivationFunction": 0}, options="MulOptions")


def _copied(frontend: str, one: str, to: str) -> Step:
    if frontend == "onnx":
        return Step("Identity", (one,), (to,))
    raise ValueError("TFLite has no identity")


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
