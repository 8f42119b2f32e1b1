"""How each operator of ONNX becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.onnx.converters import (
    arithmetic,
    constants,
    layout,
    microsoft,
    neural,
    normalization,
    pooling,
    quantized,
    reductions,
    resampling,
)
from vta.frontend.onnx.operation import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {
    **arithmetic.CONVERTERS,
    **constants.CONVERTERS,
    **layout.CONVERTERS,
    **microsoft.CONVERTERS,
    **neural.CONVERTERS,
    **normalization.CONVERTERS,
    **pooling.CONVERTERS,
    **quantized.CONVERTERS,
    **reductions.CONVERTERS,
    **resampling.CONVERTERS,
}
