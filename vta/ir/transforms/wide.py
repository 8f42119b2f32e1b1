"""Many samples at once through a graph that takes fewer, with the bits that each gives alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import check_inputs, evaluate_node
from vta.ir.transforms.batch import batch_size

__all__ = ["Compute", "ComputeChain", "WideObserver", "evaluate_alike", "samples_at_once"]

Array = NDArray[Any]
WideObserver = Callable[[Node, Array], None]
"""Called with a node of the narrow graph and its values, those of all batches along the first axis."""
Compute = Callable[[Node, list[Array]], Array]
"""Gives the value of one call for those of its inputs."""
ComputeChain = Callable[[Sequence[Node], Mapping[Node, Array]], Array | None]
"""Gives the value of the last of some calls, each of which reads the one before, for the values of all else that they read; None
where each is to be computed by itself."""

_WORKING_BYTES = 8 << 20
_MOST_BATCHES = 256

_SAMPLE_BY_SAMPLE = frozenset(
    {
        ops.ADD,
        ops.AVG_POOL2D,
        ops.BATCH_FLATTEN,
        ops.BIAS_ADD,
        ops.CLIP,
        ops.CONCATENATE,
        ops.CONV2D,
        ops.DIVIDE,
        ops.LEAKY_RELU,
        ops.MAX_POOL2D,
        ops.MAXIMUM,
        ops.MINIMUM,
        ops.MULTIPLY,
        ops.PAD,
        ops.QNN_DEQUANTIZE,
        ops.QNN_QUANTIZE,
        ops.RELU,
        ops.RESHAPE,
        ops.STRIDED_SLICE,
        ops.SUBTRACT,
        ops.TRANSPOSE,
        ops.UPSAMPLING,
    }
)
"""Operators on floats whose references do for each sample what they do for one. How others round may depend on how many samples
there are: products of matrices on their rows, sums on how values lie in memory."""


def evaluate_alike(
    graph: Graph,
    wide: Graph,
    inputs: Mapping[str, Array],
    observe: WideObserver | None = None,
    compute: Compute = evaluate_node,
    chains: Sequence[Sequence[Node]] = (),
    compute_chain: ComputeChain | None = None,
) -> list[Array]:
    """Evaluate `wide`, made of `graph` by `with_batch`, with the bits that `graph` gives one batch after the other.

    `compute` must give for each sample what it gives for one where `evaluate_node` does. `chains` are of nodes of `graph` that
    nothing but the next one of the chain reads; where `compute_chain` gives the value of the last one, `observe` sees no other.
    Raises `GraphError` for wrong inputs.
    """
    given = check_inputs(wide, inputs)
    steps = _steps(list(zip(graph.nodes(), wide.nodes(), strict=True)), chains)
    last_use = {source: index for index, step in enumerate(steps) for _, node in step for source in node.inputs}
    last_use |= dict.fromkeys(wide.outputs, len(steps))
    values: dict[Node, Array] = {}
    for index, step in enumerate(steps):
        found = None
        if len(step) > 1 and compute_chain is not None:
            found = compute_chain([node for _, node in step], values)
        for narrow, node in step if found is None else step[-1:]:
            values[node] = _value(narrow, node, given, values, compute) if found is None else found
            if observe is not None:
                observe(narrow, values[node])
        for _, node in step:
            for source in node.inputs:
                if last_use[source] == index:
                    values.pop(source, None)
    return [values[output] for output in wide.outputs]


def _steps(pairs: Sequence[tuple[Node, Node]], chains: Sequence[Sequence[Node]]) -> list[list[tuple[Node, Node]]]:
    """Nodes that are computed together, each with its wide one: a chain in the place of its last one."""
    chain_of = {node: chain for chain in chains for node in chain}
    wide_of = dict(pairs)
    steps = []
    for narrow, _ in pairs:
        chain = chain_of.get(narrow, (narrow,))
        if narrow is chain[-1]:
            steps.append([(part, wide_of[part]) for part in chain])
    return steps


def samples_at_once(graph: Graph) -> int:
    """As many samples as keep the largest layer's working memory small, allowing for its unrolled windows."""
    largest = max((node.type.nbytes for node in graph.calls()), default=1)
    return max(1, min(_MOST_BATCHES, _WORKING_BYTES // (9 * largest))) * batch_size(graph)


def _value(narrow: Node, node: Node, given: Mapping[Node, Array], values: Mapping[Node, Array], compute: Compute) -> Array:
    if node.op == ops.INPUT:
        return given[node]
    if node.op == ops.CONSTANT:
        assert node.value is not None
        return node.value
    if node is narrow or node.op in _SAMPLE_BY_SAMPLE or not _touches_floats(node):
        return compute(node, [values[source] for source in node.inputs])
    return _in_parts(narrow, node, values, compute)


def _touches_floats(node: Node) -> bool:
    return any(value.dtype.startswith("float") for value in (node, *node.inputs))


def _in_parts(narrow: Node, node: Node, values: Mapping[Node, Array], compute: Compute) -> Array:
    size, total = narrow.shape[0], node.shape[0]
    parts = []
    for start in range(0, total, size):
        arrays = [
            values[wide_source][start : start + size] if wide_source is not source else values[wide_source]
            for source, wide_source in zip(narrow.inputs, node.inputs, strict=True)
        ]
        parts.append(compute(narrow, arrays))
    return np.concatenate(parts)
