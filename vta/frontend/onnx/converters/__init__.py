"""How each operator of ONNX becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.onnx.converters import arithmetic, constants, layout, neural, pooling, quantised, resampling
from vta.frontend.onnx.operation import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {
    **arithmetic.CONVERTERS,
    **constants.CONVERTERS,
    **layout.CONVERTERS,
    **neural.CONVERTERS,
    **pooling.CONVERTERS,
    **quantised.CONVERTERS,
    **resampling.CONVERTERS,
}
