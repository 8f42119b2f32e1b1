"""Operators that only move int8 values between channels, rows and columns: concatenation, slices, channels of one value.

In packed blocks channels lie one block after another. What is joined from, or cut at, whole blocks is therefore a question of
where tensors lie (`vta.tile.placement`); the rest is copied by products with matrices of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.shape import ConcatenateAttributes, PadAttributes, StridedSliceAttributes
from vta.isa.instruction import AluOp
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import COPY, GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor
from vta.tile.registry import TensorOf
from vta.tile.step import PerChannel, Step

__all__ = [
    "JoinedGroup",
    "joined_groups",
    "copy_operators",
    "joins_places",
    "sliced_blocks",
]

_ROWS = 2
"""The axis of rows."""


@dataclass(frozen=True)
class JoinedGroup:
    """Neighbouring inputs of a concatenation that together start at a block of the result and end with one."""

    first_block: int
    blocks: int
    parts: tuple[tuple[Node, int], ...]
    """Inputs, each with its first channel in the group."""


def joins_places(node: Node) -> bool:
    """Whether a concatenation joins rows or columns, not channels."""
    return attrs_of(node, ConcatenateAttributes).axis % len(node.shape) > 1


def joined_groups(node: Node, block: int) -> list[JoinedGroup]:
    """The inputs of a concatenation of channels in the smallest groups that fill blocks of `block`; the last may not."""
    groups: list[JoinedGroup] = []
    parts: list[tuple[Node, int]] = []
    first = channel = 0
    for index, source in enumerate(node.inputs):
        parts.append((source, channel - first))
        channel += source.shape[1]
        if channel % block == 0 or index == len(node.inputs) - 1:
            groups.append(JoinedGroup(first // block, -(-(channel - first) // block), tuple(parts)))
            first, parts = channel, []
    return groups


def sliced_blocks(node: Node, block: int) -> int | None:
    """The block of the source at which a slice starts, if it takes all rows and columns and channels one by one from there."""
    channels, *places = _cuts(node)
    whole = all(place == range(extent) for place, extent in zip(places, node.inputs[0].shape[2:], strict=True))
    return _first_block(channels, block) if whole else None


def _cuts(node: Node) -> list[range]:
    """What a slice takes of each axis but the first."""
    axes = zip(node.inputs[0].shape, attrs_of(node, StridedSliceAttributes).slices(), strict=True)
    return [range(extent)[cut] for extent, cut in axes][1:]


def _first_block(channels: range, block: int) -> int | None:
    """The block at which channels start that follow each other from its beginning."""
    adjacent = channels.step == 1 or len(channels) == 1
    return channels.start // block if adjacent and channels.start % block == 0 else None


def copy_operators(node: Node, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> list[GemmOperator]:
    """The operators that compute a node that moves values, all called `name`; `tensor_of` gives the packed tensor of a value.

    What `tensor_of` puts in its place already is not copied: then there may be none.
    """
    if node.op == ops.PAD:
        return [_padded(node, tensor_of, hw, name)]
    if node.op == ops.CONCATENATE and joins_places(node):
        return [_beside(node, tensor_of, hw, name)]
    return list((_joined if node.op == ops.CONCATENATE else _sliced)(node, tensor_of, hw, name))


def _padded(node: Node, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> GemmOperator:
    """Channels before and after those of the input: no product makes them, so that they are zero, or what is added then."""
    source, out = tensor_of(node.inputs[0]), tensor_of(node)
    attrs, channels = attrs_of(node, PadAttributes), node.inputs[0].shape[1]
    (first, _), *places = attrs.pad_width[1:]
    term = _mapped(source, out, np.arange(channels), first, hw)
    copy = _copy(name, out, [replace(term, padding=(places[0][0], places[1][0])) if places else term])
    if attrs.pad_value == 0:
        return copy
    added = np.full(node.shape[1], int(attrs.pad_value), np.int64)
    added[first : first + channels] = 0
    return replace(copy, epilogue=(Step(AluOp.ADD, PerChannel(added)),))


def _beside(node: Node, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> GemmOperator:
    """Rows, or columns, of all inputs behind each other: each input is added where it belongs, and is zero elsewhere."""
    axis = attrs_of(node, ConcatenateAttributes).axis % len(node.shape)
    first, terms = 0, []
    for source in node.inputs:
        place = (first, 0) if axis == _ROWS else (0, first)
        terms.append(replace(_copied(tensor_of(source), hw), padding=place))
        first += source.shape[axis]
    return _copy(name, tensor_of(node), terms)


def _joined(node: Node, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Iterator[GemmOperator]:
    out = tensor_of(node)
    groups = joined_groups(node, hw.block)
    if out.batch > 1:
        # Only what follows in memory can be stored by an operator of its own and be read back whole.
        groups = [_whole(node)]
    for group in groups:
        blocks = group.blocks if out.batch == 1 else out.blocks
        place = out if blocks == out.blocks else out.part(f"{out.name}.{group.first_block}", group.first_block, blocks)
        terms = []
        for source, channel in group.parts:
            tensor = tensor_of(source)
            if _lies_at(tensor, place):
                break
            if len(group.parts) == 1:
                terms.append(_copied(tensor, hw))
            else:
                terms.append(_mapped(tensor, place, np.arange(source.shape[1]), channel, hw))
        else:
            yield _copy(name, place, terms)


def _whole(node: Node) -> JoinedGroup:
    """All inputs as one group."""
    starts = np.cumsum([0, *(source.shape[1] for source in node.inputs)])
    return JoinedGroup(0, 0, tuple(zip(node.inputs, map(int, starts), strict=False)))


def _lies_at(tensor: Tensor, place: Tensor) -> bool:
    return tensor.memory.name == place.memory.name and tensor.first_block == place.first_block


def _sliced(node: Node, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Iterator[GemmOperator]:
    source, out = tensor_of(node.inputs[0]), tensor_of(node)
    channels, *places = _cuts(node)
    first = _first_block(channels, hw.block)
    if first is None:
        term = _mapped(source, out, np.asarray(channels), 0, hw)
    else:
        every = (first, out.blocks) == (0, source.blocks)
        part = source if every else source.part(f"{source.name}.{first}", first, out.blocks)
        if sliced_blocks(node, hw.block) is not None and _lies_at(part, out):
            return
        term = _copied(part, hw)
    if places:
        (down, top), (across, left) = ((cut.step if len(cut) > 1 else 1, cut.start) for cut in places)
        term = replace(term, strides=(down, across), padding=(-top, -left))
    yield _copy(name, out, [term])


def _copy(name: str, out: Tensor, terms: list[GemmTerm]) -> GemmOperator:
    return GemmOperator(name=name, kind=COPY, output=out, digits=(RadixDigit(0, tuple(terms)),))


def _copied(source: Tensor, hw: HardwareConfig) -> GemmTerm:
    """Every block as it is."""
    return GemmTerm(source, np.eye(hw.block, dtype=np.int8)[None, None, None, None], diagonal=True, is_transfer=True)


def _mapped(source: Tensor, out: Tensor, channels: NDArray[np.int64], first: int, hw: HardwareConfig) -> GemmTerm:
    """Channels of the source as the channels of the output from `first` on."""
    block = hw.block
    weights = np.zeros((out.blocks, source.blocks, 1, 1, block, block), np.int8)
    targets = first + np.arange(len(channels))
    weights[targets // block, channels // block, 0, 0, targets % block, channels % block] = 1
    return GemmTerm(source, weights, sparse=True, is_transfer=True)
