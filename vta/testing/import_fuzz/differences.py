"""Differences from the frameworks that are theirs, or meant: each with its reason. docs/import-fuzzing.md explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from vta.support.dataclass import dataclass
from vta.testing.import_fuzz.description import Array, Description, Step

__all__ = ["ABSOLUTE", "FAULTS", "Allowance", "Fault", "cut_as_tflite", "fault_of", "softmax_levels"]


@dataclass(frozen=True)
class Allowance:
    """What the results of an operator may be off by, beside a few units in the last place."""

    amount: float
    reason: str


@dataclass(frozen=True)
class Fault:
    """Where a framework's own result is no measure."""

    kind: str
    """The operator."""
    holds: Callable[[Description, Step, Mapping[str, Array]], bool]
    """Whether it is so for a step of a model, with the values that the framework computes."""
    reason: str


ABSOLUTE: dict[str, Allowance] = {
    "Sigmoid": Allowance(2.0**-25, "ONNX Runtime's approximation is as accurate as 1 asks for: far below zero it gives 0"),
}
"""By operator."""


def softmax_levels(net: Description, step: Step, values: Mapping[str, Array]) -> Array:
    """Return what QLinearSoftmax rounds: shares times the whole levels in 1."""
    data, scale, zero, step_size = (_value(net, values, name) for name in step.inputs[:4])
    zero_point = 0 if zero is None else int(zero.reshape(-1)[0])
    assert data is not None
    assert scale is not None
    assert step_size is not None
    real = (data.astype(np.float64) - zero_point) * float(scale.reshape(-1)[0])
    axis = int(step.attributes.get("axis", -1))
    powers = np.exp(real - real.max(axis=axis, keepdims=True))
    shares = powers / powers.sum(axis=axis, keepdims=True)
    return np.asarray(shares * np.floor(np.float32(1) / np.float32(step_size.reshape(-1)[0])))


def _value(net: Description, values: Mapping[str, Array], name: str) -> Array | None:
    if not name:
        return None
    found = net.values[name].data
    return values.get(name) if found is None else found


def _wraps(net: Description, step: Step, values: Mapping[str, Array]) -> bool:
    if net.values[step.outputs[0]].dtype != "int8":
        return False
    zero = _value(net, values, step.inputs[4]) if len(step.inputs) > 4 else None
    zero_point = 0 if zero is None else int(zero.reshape(-1)[0])
    return bool((np.rint(softmax_levels(net, step, values)) + zero_point > 127).any())


FAULTS: tuple[Fault, ...] = (
    Fault("QLinearSoftmax", _wraps, "ONNX Runtime's int8 softmax wraps around beyond 127 instead of saturating"),
)


def cut_as_tflite(value: Array) -> Array:
    """Return floats cut at the largest number, as TFLite's arithmetic leaves them where results overflow."""
    if value.dtype != np.float32:
        return value
    largest = np.finfo(np.float32).max
    return np.asarray(np.clip(value, -largest, largest))


def fault_of(net: Description, values: Mapping[str, Array]) -> str:
    """Return why the framework's values are no measure; "" if they are."""
    for step in net.steps:
        for fault in FAULTS:
            if step.kind == fault.kind and fault.holds(net, step, values):
                return fault.reason
    return ""
