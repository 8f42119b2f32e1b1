"""From a description to a TFLite file."""

from __future__ import annotations

from vta.testing.import_fuzz.description import Description
from vta.testing.tflite_model import Tflite

__all__ = ["tensor_numbers", "tflite_model"]


def tensor_numbers(net: Description) -> dict[str, int]:
    """Return the number of each tensor in the file."""
    used = {name for step in net.steps for name in (*step.inputs, *step.outputs) if name}
    used.update(net.inputs, net.outputs)
    return {name: index for index, name in enumerate(name for name in net.values if name in used)}


def tflite_model(net: Description) -> bytes:
    """Return the file."""
    numbers, model = tensor_numbers(net), Tflite()
    for name in numbers:
        value = net.values[name]
        model.tensor(value.shape, value.dtype, value.scales or None, value.zero_points, value.data, value.axis, name)
    for step in net.steps:
        inputs = [numbers[name] if name else -1 for name in step.inputs]
        outputs = [numbers[name] for name in step.outputs]
        model.operator(step.kind, inputs, outputs, step.options or None, **step.attributes)
    return model.build([numbers[name] for name in net.inputs], [numbers[name] for name in net.outputs])
