"""A live Gluon block, where MXNet is installed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vta.errors import ImportModelError
from vta.frontend.mxnet.files import load_mxnet
from vta.frontend.suffixes import SYMBOL_SUFFIX
from vta.ir.graph import Graph

__all__ = ["from_gluon"]


def from_gluon(block: Any, shapes: Mapping[str, tuple[int, ...]]) -> Graph:
    """Return the graph of an initialised Gluon `HybridBlock`, whose inputs have the given shapes, in order.

    The block is run once, exported, and read back. Raises `ImportModelError` if MXNet is not installed.
    """
    try:
        import mxnet
    except ImportError:
        raise ImportModelError("a Gluon block needs MXNet; export it there, and import the -symbol.json file") from None
    block.hybridize()
    block(*(mxnet.nd.zeros(shape) for shape in shapes.values()))
    with tempfile.TemporaryDirectory() as folder:
        stem = Path(folder) / "block"
        block.export(str(stem))
        return load_mxnet(stem.with_name(stem.name + SYMBOL_SUFFIX), shapes)
