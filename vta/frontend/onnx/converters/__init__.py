"""How each operator of ONNX becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.onnx.converters import (
    arithmetic,
    constants,
    control_flow,
    einsum,
    indexed,
    layout,
    microsoft,
    neural,
    normalization,
    pooling,
    quantized,
    recurrent,
    reductions,
    resampling,
)
from vta.frontend.onnx.operation import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {
    **arithmetic.CONVERTERS,
    **constants.CONVERTERS,
    **control_flow.CONVERTERS,
    **einsum.CONVERTERS,
    **indexed.CONVERTERS,
    **layout.CONVERTERS,
    **microsoft.CONVERTERS,
    **neural.CONVERTERS,
    **normalization.CONVERTERS,
    **pooling.CONVERTERS,
    **quantized.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **resampling.CONVERTERS,
}
