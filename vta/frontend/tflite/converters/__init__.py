"""How each operator of TFLite becomes operators of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from vta.frontend.tflite.operation import Converter

__all__ = ["CONVERTERS"]

_MODULES: dict[str, tuple[str, ...]] = {
    "activations": (
        "RELU",
        "RELU6",
        "RELU_N1_TO_1",
        "SOFTMAX",
        "LOGISTIC",
        "TANH",
        "HARD_SWISH",
        "ELU",
        "LEAKY_RELU",
        "QUANTIZE",
        "DEQUANTIZE",
    ),
    "arithmetic": (
        "ADD",
        "SUB",
        "MUL",
        "DIV",
        "ADD_N",
        "EQUAL",
        "FLOOR_DIV",
        "FLOOR_MOD",
        "GREATER",
        "GREATER_EQUAL",
        "LESS",
        "LESS_EQUAL",
        "LOGICAL_AND",
        "LOGICAL_OR",
        "NOT_EQUAL",
        "POW",
        "SELECT",
        "SELECT_V2",
        "SQUARED_DIFFERENCE",
        "MAXIMUM",
        "MINIMUM",
    ),
    "control_flow": ("IF", "WHILE"),
    "detection": ("CUSTOM (TFLite_Detection_PostProcess)",),
    "functions": (
        "ABS",
        "CAST",
        "CEIL",
        "COS",
        "CUMSUM",
        "EXP",
        "FLOOR",
        "GELU",
        "L2_NORMALIZATION",
        "LOCAL_RESPONSE_NORMALIZATION",
        "LOG",
        "LOGICAL_NOT",
        "LOG_SOFTMAX",
        "NEG",
        "PRELU",
        "ROUND",
        "RSQRT",
        "SIGN",
        "SIN",
        "SQRT",
        "SQUARE",
    ),
    "indexed": ("GATHER_ND", "REVERSE_SEQUENCE", "SCATTER_ND", "TOPK_V2"),
    "layout": (
        "RESHAPE",
        "SQUEEZE",
        "EXPAND_DIMS",
        "TRANSPOSE",
        "PAD",
        "PADV2",
        "CONCATENATION",
        "PACK",
        "TILE",
        "BROADCAST_TO",
        "MIRROR_PAD",
        "DEPTH_TO_SPACE",
        "SPACE_TO_DEPTH",
        "SPACE_TO_BATCH_ND",
        "BATCH_TO_SPACE_ND",
        "DENSIFY",
        "SHAPE",
        "RANK",
        "FILL",
        "ZEROS_LIKE",
    ),
    "matrices": ("BATCH_MATMUL",),
    "pooling": ("AVERAGE_POOL_2D", "MAX_POOL_2D"),
    "recurrent": (
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "LSTM",
        "RNN",
        "SVDF",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "UNIDIRECTIONAL_SEQUENCE_RNN",
    ),
    "reductions": ("ARG_MAX", "ARG_MIN", "MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"),
    "resizing": ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"),
    "slicing": ("SLICE", "STRIDED_SLICE", "SPLIT", "SPLIT_V", "UNPACK", "REVERSE_V2", "GATHER", "EMBEDDING_LOOKUP"),
    "variables": ("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"),
    "weighted": ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"),
}
"""Which operators each module of this folder converts: a network of a few kinds needs a few of the modules."""


class _Converters(Mapping[str, Converter]):
    """The converters of all modules, each of which is imported when a converter of it is first asked for."""

    def __init__(self, modules: Mapping[str, tuple[str, ...]]) -> None:
        self._homes = {kind: module for module, kinds in modules.items() for kind in kinds}

    def __getitem__(self, kind: str) -> Converter:
        module = import_module(f"{__name__}.{self._homes[kind]}")
        found: dict[str, Converter] = module.CONVERTERS
        return found[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


CONVERTERS: Mapping[str, Converter] = _Converters(_MODULES)
