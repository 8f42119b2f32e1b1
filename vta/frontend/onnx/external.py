"""Whether the data that tensors have in other files can be there, asked before any is read."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

from vta.errors import ImportModelError
from vta.frontend._errors import MOST_SHARED
from vta.support.shorten import shown

__all__ = ["check_external"]


def check_external(model: onnx.ModelProto, path: Path) -> None:
    """Raise `ImportModelError` if external data of the model at `path` would be far more than their files have."""
    claimed: Counter[str] = Counter()
    for tensor in _tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            places = (entry.value for entry in tensor.external_data if entry.key == "location")
            # What is no text comes as bytes, and is refused when it is read.
            claimed.update({place: _nbytes(tensor) for place in places if isinstance(place, str)})
    for location, nbytes in claimed.items():
        file = path.parent / location
        most = MOST_SHARED * (os.path.getsize(file) if os.path.isfile(file) else nbytes)
        if nbytes > most:
            raise ImportModelError(
                f"{path}: tensors claim {nbytes} bytes of external data {shown(location)}; the limit is {most}"
            )


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def _nbytes(tensor: onnx.TensorProto) -> int:
    try:
        itemsize = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except KeyError:  # Refused when it is read.
        itemsize = 1
    return int(math.prod(tensor.dims) * itemsize)
