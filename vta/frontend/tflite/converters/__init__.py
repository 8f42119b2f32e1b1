"""How each operator of TFLite becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.tflite.converters import activations, arithmetic, layout, pooling, weighted
from vta.frontend.tflite.operation import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **layout.CONVERTERS,
    **pooling.CONVERTERS,
    **weighted.CONVERTERS,
}
