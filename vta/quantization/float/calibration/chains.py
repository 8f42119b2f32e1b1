"""Calls that calibration computes in one go: convolutions and sums with what follows, where nobody asks for what is between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """Find calls of which each is read by the next one alone: a convolution or a sum, a bias, and an activation.

    None but the last of a chain is an output, or a value that `is_asked_for`.
    """
    users, outputs = graph.users(), frozenset(graph.outputs)
    chains = []
    for node in graph.calls():
        if not _begins(node):
            continue
        chain = [node]
        while chain[-1] not in outputs and not is_asked_for(chain[-1]) and len(users[chain[-1]]) == 1:
            (user,) = users[chain[-1]]
            if not _continues(chain, user):
                break
            chain.append(user)
        if len(chain) > 1:
            chains.append(tuple(chain))
    return chains


def value_of_chain(nodes: Sequence[Node], values: Mapping[Node, Array]) -> Array | None:
    """The value of the last call of a chain, to the bit; None where one between is not finite, as somebody may ask for that."""
    first, last = nodes[0], nodes[-1]
    epilogue = ffi.new("vta_epilogue *", {"least": -np.inf, "most": np.inf})
    bias = next((values[node.inputs[1]] for node in nodes if node.op == ops.BIAS_ADD), None)
    kept = None if bias is None else floats_of(bias)
    if kept is not None:
        epilogue.biases = kept
    if last.op == ops.RELU:
        epilogue.rectifies = 1
    elif isinstance(last.attrs, ClipAttributes):
        epilogue.least, epilogue.most = last.attrs.bounds("float32")
    left, right = (values[source] for source in first.inputs)
    convolve = convolution_of(first)
    if convolve is not None:
        return convolved(first, convolve, left, right, epilogue)
    if left.shape != first.shape or right.shape != first.shape:
        return None
    out = np.empty(first.shape, np.float32)
    done = lib.vta_add_tensors(floats_of(left), floats_of(right), out.size, epilogue, ffi.from_buffer("float[]", out))
    return out if done == lib.VTA_DONE else None


def _begins(node: Node) -> bool:
    if node.op == ops.ADD:
        return node.dtype == "float32" and all(source.value is None and source.shape == node.shape for source in node.inputs)
    return convolution_of(node) is not None


def _continues(chain: Sequence[Node], user: Node) -> bool:
    last = chain[-1]
    if last.op in (ops.RELU, ops.CLIP):
        return False
    if isinstance(user.attrs, AxisAttributes) and user.op == ops.BIAS_ADD:
        return last.op == ops.CONV2D and user.attrs.axis == 1 and user.inputs[0] is last and user.inputs[1].value is not None
    return user.op in (ops.RELU, ops.CLIP)
