"""How each operator of TFLite becomes operators of the graph."""

from __future__ import annotations

from vta.frontend.tflite.converters import (
    activations,
    arithmetic,
    control_flow,
    detection,
    functions,
    indexed,
    layout,
    matrices,
    pooling,
    recurrent,
    reductions,
    resizing,
    slicing,
    variables,
    weighted,
)
from vta.frontend.tflite.operation import Converter

__all__ = ["CONVERTERS"]

CONVERTERS: dict[str, Converter] = {
    **activations.CONVERTERS,
    **arithmetic.CONVERTERS,
    **control_flow.CONVERTERS,
    **detection.CONVERTERS,
    **functions.CONVERTERS,
    **indexed.CONVERTERS,
    **layout.CONVERTERS,
    **matrices.CONVERTERS,
    **pooling.CONVERTERS,
    **recurrent.CONVERTERS,
    **reductions.CONVERTERS,
    **resizing.CONVERTERS,
    **slicing.CONVERTERS,
    **variables.CONVERTERS,
    **weighted.CONVERTERS,
}
