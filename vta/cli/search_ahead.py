"""A second process that looks for the integers of a quantised network, or for its schedules, beside the command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vta.cli.quick_start import quick_numpy
from vta.files.second_process import ahead, can_split

if TYPE_CHECKING:
    from vta.files.cache import Arrays
    from vta.ir.graph import Graph, Node

__all__ = ["search_ahead"]

_LARGEST = 64 << 20
"""Bytes of a file that is worth to be in memory twice."""
_MOST_MEMORY = 1 << 30
"""Bytes that the second process may take: a small file may name large ones."""
_WORTH_SEARCHING = 4
"""Layers whose integers are searched for, from which on a second process is."""


@contextmanager
def search_ahead(options: argparse.Namespace) -> Iterator[None]:
    """Import and compile a network within this: what its passes search for is found sooner, if it came quantised.

    Of the memory that two processes share, each page that one writes to is copied first, so this is to begin before NumPy is
    imported. Where the same file was compiled before, what was found is kept, and there is one process.
    """
    if options.print_graph or options.requantize == "shift" or not can_split() or not _is_new(options):
        yield
        return
    with ahead(lambda: _lower(options)):
        yield


def _lower(options: argparse.Namespace) -> None:
    _limit_memory()
    # The fewer modules come before it, the further it is ahead.
    quick_numpy()
    from vta.cli.network import import_network
    from vta.quantization import is_quantized

    held = [import_network(options)]
    if not is_quantized(held[0]):
        return
    from vta.config.hardware import load_config

    hw = load_config(options.config)
    if _asks_for_much(held[0]):
        from vta.passes.canonicalize import canonicalize
        from vta.passes.quantized_states import keep_quantized
        from vta.quantization.lowering import lower as lowering
        from vta.quantization.requantize.channel_pruning import drop_channels

        close = options.requantize == "close" and hw.capabilities.multiply
        lowering.lower(drop_channels(keep_quantized(canonicalize(held.pop())), hw.block), hw, close=close)
        return
    # What takes longest are schedules; until then this process is no further than the first.
    from vta.cli.network import compile_options
    from vta.compiler.pipeline import passes_between, run_passes
    from vta.compiler.state import State

    run_passes(State(hw=hw, model=held.pop()), compile_options(options), passes_between("import", "partition"))


def _limit_memory() -> None:
    import resource  # which systems without `fork` lack

    limits = resource.getrlimit(resource.RLIMIT_DATA)
    most = min([_MOST_MEMORY, *(limit for limit in limits if limit != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_DATA, (most, limits[1]))


def _asks_for_much(graph: Graph) -> bool:
    """Whether integers are searched for, and kept, for several layers: sums, and layers whose channels have their own scales."""
    from vta.ir import names as ops

    def is_searched(node: Node) -> bool:
        scales = (getattr(node.attrs, name, None) for name in ("input_scale", "scale"))
        return node.op in (ops.ADD, ops.QNN_ADD) or any(isinstance(scale, tuple) for scale in scales)

    return sum(is_searched(node) for node in graph.nodes()) >= _WORTH_SEARCHING


def _is_new(options: argparse.Namespace) -> bool:
    """Whether no command compiled this file with these options before, as far as the cache knows."""
    from vta.files.cache import file_stamp, remembered

    new = False

    def make() -> Arrays:
        nonlocal new
        new = True
        return {}

    path = Path(options.model)
    if path.is_file() and os.path.getsize(path) <= _LARGEST:
        known = str(path.resolve()), file_stamp(path), str(options.config), options.requantize
        remembered("compiled", repr(known).encode(), make)
    return new
