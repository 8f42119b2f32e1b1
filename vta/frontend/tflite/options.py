"""The options of TFLite's operators, by the names of their fields: generated readers take a package of ten modules to import."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from vta.errors import ImportModelError
from vta.frontend.tflite.flat_table import FlatTable

__all__ = ["TABLES", "Options"]

_FIRST_PLACE = 4
"""Of the fields of a table; the next ones are two further each."""

_AS_DEFAULT: dict[str, Callable[[int], float]] = {"flag": bool, "float32": float}

TABLES = {
    "AddOptions": "FusedActivationFunction:int8",
    "BatchMatMulOptions": "AdjX:flag AdjY:flag",
    "BidirectionalSequenceLSTMOptions": (
        "FusedActivationFunction:int8 CellClip:float32 ProjClip:float32 MergeOutputs:flag TimeMajor:flag=1"
    ),
    "BidirectionalSequenceRNNOptions": "TimeMajor:flag FusedActivationFunction:int8 MergeOutputs:flag",
    "CallOnceOptions": "InitSubgraphIndex:int32",
    "ConcatenationOptions": "Axis:int32 FusedActivationFunction:int8",
    "Conv2DOptions": (
        "Padding:int8 StrideW:int32 StrideH:int32 FusedActivationFunction:int8 DilationWFactor:int32=1 DilationHFactor:int32=1"
    ),
    "CumsumOptions": "Exclusive:flag Reverse:flag",
    "DepthToSpaceOptions": "BlockSize:int32",
    "DepthwiseConv2DOptions": (
        "Padding:int8 StrideW:int32 StrideH:int32 DepthMultiplier:int32 FusedActivationFunction:int8 DilationWFactor:int32=1 "
        "DilationHFactor:int32=1"
    ),
    "DivOptions": "FusedActivationFunction:int8",
    "FullyConnectedOptions": "FusedActivationFunction:int8 WeightsFormat:int8",
    "GatherOptions": "Axis:int32 BatchDims:int32",
    "GeluOptions": "Approximate:flag",
    "IfOptions": "ThenSubgraphIndex:int32 ElseSubgraphIndex:int32",
    "L2NormOptions": "FusedActivationFunction:int8",
    "LSTMOptions": "FusedActivationFunction:int8 CellClip:float32 ProjClip:float32",
    "LeakyReluOptions": "Alpha:float32",
    "LocalResponseNormalizationOptions": "Radius:int32 Bias:float32 Alpha:float32 Beta:float32",
    "MirrorPadOptions": "Mode:int8",
    "MulOptions": "FusedActivationFunction:int8",
    "OneHotOptions": "Axis:int32",
    "PackOptions": "ValuesCount:int32 Axis:int32",
    "Pool2DOptions": (
        "Padding:int8 StrideW:int32 StrideH:int32 FilterWidth:int32 FilterHeight:int32 FusedActivationFunction:int8"
    ),
    "RNNOptions": "FusedActivationFunction:int8",
    "ReducerOptions": "KeepDims:flag",
    "ResizeBilinearOptions": ": : AlignCorners:flag HalfPixelCenters:flag",
    "ResizeNearestNeighborOptions": "AlignCorners:flag HalfPixelCenters:flag",
    "ReverseSequenceOptions": "SeqDim:int32 BatchDim:int32",
    "SVDFOptions": "Rank:int32 FusedActivationFunction:int8",
    "SequenceRNNOptions": "TimeMajor:flag FusedActivationFunction:int8",
    "SoftmaxOptions": "Beta:float32",
    "SpaceToDepthOptions": "BlockSize:int32",
    "StridedSliceOptions": (
        "BeginMask:int32 EndMask:int32 EllipsisMask:int32 NewAxisMask:int32 ShrinkAxisMask:int32 Offset:flag"
    ),
    "SubOptions": "FusedActivationFunction:int8",
    "TransposeConvOptions": "Padding:int8 StrideW:int32 StrideH:int32 FusedActivationFunction:int8",
    "UnidirectionalSequenceLSTMOptions": "FusedActivationFunction:int8 CellClip:float32 ProjClip:float32 TimeMajor:flag",
    "UnpackOptions": "Num:int32 Axis:int32",
    "VarHandleOptions": "Container:text SharedName:text",
    "WhileOptions": "CondSubgraphIndex:int32 BodySubgraphIndex:int32",
}
"""The fields of TFLite's tables that operators are imported by, in the order of the schema: a name, a type, and a default that is
not zero. Fields that have no name there are of no use here, nor are those beyond the last."""


class Options:
    """The options of an operator: a table of the file, or none."""

    __slots__ = ("_kind", "_table")

    def __init__(self, kind: str = "", table: FlatTable | None = None) -> None:
        self._kind, self._table = kind, table

    def __getitem__(self, name: str) -> Any:
        """A field. Raises `ImportModelError` if the options are missing or another's, `struct.error` for a damaged table."""
        found = _fields(self._kind).get(name)
        if self._table is None or found is None:
            raise ImportModelError(f"option {name} is missing")
        place, kind, default = found
        return self._table.text(place) if kind == "text" else self._table.number(place, kind, default)


@cache
def _fields(kind: str) -> dict[str, tuple[int, str, float]]:
    """Of the fields of a table by name: place, type and default."""
    found = {}
    for index, field in enumerate(TABLES.get(kind, "").split(" ")):
        name, _, what = field.partition(":")
        type_, _, default = what.partition("=")
        if name:
            found[name] = _FIRST_PLACE + 2 * index, type_, _AS_DEFAULT.get(type_, int)(int(default or 0))
    return found
