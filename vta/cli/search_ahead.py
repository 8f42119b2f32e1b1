"""A second process that looks for the integers of a quantised network while the command still imports the compiler."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vta.files.second_process import ahead, can_split

if TYPE_CHECKING:
    from vta.files.cache import Arrays
    from vta.ir.graph import Graph, Node

__all__ = ["search_ahead"]

_WORTH_SPLITTING = 4
"""Layers whose integers are searched for, from which on a second process is worth its start."""


@contextmanager
def search_ahead(graph: Graph, options: argparse.Namespace) -> Iterator[None]:
    """Compile a network that came quantised within this: what the passes up to ``lower`` search for is found sooner.

    Where the same file was compiled before, what was found is kept, and there is one process; so there is where little is
    searched for: of the memory that two processes share, each page that one writes to is copied first.
    """
    if options.requantize == "shift" or not can_split() or not _asks_for_much(graph) or not _is_new(options):
        yield
        return
    held = [graph]
    del graph

    def lower() -> None:
        # The fewer modules come before it, the further it is ahead.
        from vta.config.hardware import load_config
        from vta.passes.canonicalize import canonicalize
        from vta.passes.quantized_states import keep_quantized
        from vta.quantization.lowering import lower as lowering
        from vta.quantization.requantize.channel_pruning import drop_channels

        hw = load_config(options.config)
        close = options.requantize == "close" and hw.capabilities.multiply
        lowering.lower(drop_channels(keep_quantized(canonicalize(held[0])), hw.block), hw, close=close)

    with ahead(lower):
        # This process may let go of it while it compiles.
        held.clear()
        yield


def _asks_for_much(graph: Graph) -> bool:
    """Whether integers are searched for, and kept, for several layers: sums, and layers whose channels have their own scales."""
    from vta.ir import names as ops

    def is_searched(node: Node) -> bool:
        scales = (getattr(node.attrs, name, None) for name in ("input_scale", "scale"))
        return node.op in (ops.ADD, ops.QNN_ADD) or any(isinstance(scale, tuple) for scale in scales)

    return sum(is_searched(node) for node in graph.nodes()) >= _WORTH_SPLITTING


def _is_new(options: argparse.Namespace) -> bool:
    """Whether no command compiled this file with these options before, as far as the cache knows."""
    from vta.files.cache import file_stamp, remembered  # which imports NumPy, when its threads are set

    new = False

    def make() -> Arrays:
        nonlocal new
        new = True
        return {}

    path = Path(options.model)
    if path.is_file():
        known = str(path.resolve()), file_stamp(path), str(options.config), options.requantize
        remembered("compiled", repr(known).encode(), make)
    return new
