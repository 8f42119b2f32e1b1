"""The reference on a stream: one run a frame, each from the states that the one before left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.ir.state import initial_values, split_outputs

__all__ = ["evaluate_stream"]

Array = NDArray[Any]


def evaluate_stream(
    graph: Graph, frames: Iterable[Mapping[str, Any]], states: Mapping[str, Array] | None = None
) -> Iterator[tuple[list[Array], dict[str, Array]]]:
    """Yield the results of each frame, and the states after it; from `states`, or from the initial ones.

    A frame holds the values of the graph's arguments. Raises `GraphError` for wrong ones.
    """
    held = {**initial_values(graph), **(states or {})}
    for frame in frames:
        results, held = split_outputs(graph, evaluate(graph, {**frame, **held}))
        yield results, held
