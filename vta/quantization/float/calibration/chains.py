"""Calls that calibration computes in one go: convolutions and sums with what follows, where nobody asks for what is between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.norm import AxisAttributes
from vta.native import ffi, lib
from vta.quantization.float.calibration.values import convolution_of, convolved, floats_of

__all__ = ["chains_of", "value_of_chain"]

Array = NDArray[Any]


def chains_of(graph: Graph, is_asked_for: Callable[[Node], bool]) -> list[tuple[Node, ...]]:
    """Find calls of which each is read by the next one alone: a convolution with a bias, or a sum, or both, and an activation.

    None but the last of a chain is an output, or a value that `is_asked_for`.
    """
    users, outputs = graph.users(), frozenset(graph.outputs)
    chains = []
    taken: set[Node] = set()
    for node in graph.calls():
        if node in taken or not _begins(node):
            continue
        chain = [node]
        while chain[-1] not in outputs and not is_asked_for(chain[-1]) and len(users[chain[-1]]) == 1:
            (user,) = users[chain[-1]]
            if user in taken or not _continues(chain, user):
                break
            chain.append(user)
        if len(chain) > 1:
            chains.append(tuple(chain))
            taken.update(chain)
    return chains


def value_of_chain(nodes: Sequence[Node], values: Mapping[Node, Array]) -> Array | None:
    """The value of the last call of a chain, to the bit; None where one between is not finite, as somebody may ask for that."""
    first, last = nodes[0], nodes[-1]
    left, right = (values[source] for source in first.inputs)
    epilogue = ffi.new("vta_epilogue *", {"least": -np.inf, "most": np.inf})
    held = []
    for before, node in pairwise(nodes):
        if node.op in (ops.BIAS_ADD, ops.ADD):
            (added,) = (values[source] for source in node.inputs if source is not before)
            if node.op == ops.ADD and added.shape != first.shape:
                return None
            held.append(floats_of(added))
            setattr(epilogue, "biases" if node.op == ops.BIAS_ADD else "residual", held[-1])
    if last.op == ops.RELU:
        epilogue.rectifies = 1
    elif isinstance(last.attrs, ClipAttributes):
        epilogue.least, epilogue.most = last.attrs.bounds("float32")
    convolve = convolution_of(first)
    if convolve is not None:
        return convolved(first, convolve, left, right, epilogue)
    if left.shape != first.shape or right.shape != first.shape:
        return None
    out = np.empty(first.shape, np.float32)
    done = lib.vta_add_tensors(floats_of(left), floats_of(right), out.size, epilogue, ffi.from_buffer("float[]", out))
    return out if done == lib.VTA_DONE else None


def _begins(node: Node) -> bool:
    return _is_sum(node) or convolution_of(node) is not None


def _is_sum(node: Node) -> bool:
    """Whether a node adds two tensors of its shape."""
    if node.op != ops.ADD or node.dtype != "float32":
        return False
    return all(source.value is None and source.shape == node.shape for source in node.inputs)


def _continues(chain: Sequence[Node], user: Node) -> bool:
    last = chain[-1]
    if isinstance(user.attrs, AxisAttributes) and user.op == ops.BIAS_ADD:
        return last.op == ops.CONV2D and user.attrs.axis == 1 and user.inputs[0] is last and user.inputs[1].value is not None
    if user.op == ops.ADD:
        return last.op in (ops.CONV2D, ops.BIAS_ADD) and _is_sum(user) and user.inputs.count(last) == 1
    return user.op in (ops.RELU, ops.CLIP) and last.op not in (ops.RELU, ops.CLIP)
