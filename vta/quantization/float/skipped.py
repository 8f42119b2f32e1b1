"""Whether the layers that shall stay in float are there."""

from __future__ import annotations

import difflib

from vta.errors import UsageError
from vta.ir import names as ops
from vta.ir.graph import Graph
from vta.quantization.config import QuantizeConfig
from vta.support.shorten import printable, shown

__all__ = ["check_skipped"]

_LONGEST_LIST = 600


def check_skipped(graph: Graph, config: QuantizeConfig) -> None:
    """Raise `UsageError` naming a layer that shall stay in float and is none: a slip would quantise what was not to be."""
    names = dict.fromkeys(node.name for node in graph.calls() if node.name)
    for name in config.skip_layers:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {printable(close[0])}?" if close else f"layers: {printable(', '.join(names), _LONGEST_LIST)}"
            raise UsageError(f"no layer is called {shown(name)}, which shall stay in float; {hint}", parameters=("skip_layers",))
    count = sum(node.op == ops.CONV2D for node in graph.calls())
    for index in config.skip_conv_layers or ():
        # The first one stays in float by custom, whether there is one or not.
        if index >= max(count, 1):
            raise UsageError(
                f"there is no convolution {index}, which shall stay in float; the network has {count}, counted from 0",
                parameters=("skip_layers",),
            )
