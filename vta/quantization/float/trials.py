"""Networks that are quantised to see what it costs: the noise of their outputs on a few samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import VTAError
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node
from vta.ir.ops.shape import TransposeAttributes
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.observe import outputs_of_batches
from vta.quantization.float.quantizer import quantize

__all__ = ["Trials"]

Array = NDArray[Any]
_Samples = Mapping[str, Array]

_QUICK = {"adaround": "compensated"}
_RANK_OF_IMAGES, _RANK_OF_ROWS = 4, 3
_CHANCES = (ops.SOFTMAX, ops.SIGMOID, ops.HARD_SIGMOID)
_MOVES = (ops.RESHAPE, ops.TRANSPOSE, ops.SQUEEZE, ops.EXPAND_DIMS)
_MOST_TIMES = 64
"""Channels whose largest values differ by more cannot share a scale: fewer than two levels are left of the smaller ones."""
_NO_NOISE_DB = 100.0
"""Of a batch without any."""


def _scores_of(graph: Graph) -> Graph:
    """The graph that gives what its chances are made of in place of them."""
    outputs = []
    for output in graph.outputs:
        source = output
        while source.op in (*_MOVES, *_CHANCES):
            source = source.inputs[0]
        outputs.append(source if source.is_call else output)
    return Graph(graph.inputs, tuple(outputs), graph.name)


class Trials:
    """Quantises a network on some batches of calibration data, and measures it on some, the same or others.

    With `scores` what chances are made of is measured in place of them, and noise is the mean of that of each batch, in decibels:
    of few batches none decides alone.
    """

    def __init__(
        self, graph: Graph, fitted: Sequence[_Samples], held: Sequence[_Samples], hw: HardwareConfig, *, scores: bool = False
    ) -> None:
        self._graph, self._held, self._hw, self._each = _scores_of(graph) if scores else graph, held, hw, scores
        # Batches lie along an axis before the others.
        self._axes = [None if (axis := _channel_axis(output)) is None else axis + 1 for output in self._graph.outputs]
        self.data = {name: np.stack([batch[name] for batch in fitted]) for name in fitted[0]}
        """The batches to quantise on, as calibration data."""
        self._wanted = self._outputs(self._graph)

    def tried(self, config: QuantizeConfig) -> list[float]:
        """The noise with a config that may not work."""
        try:
            return self.noise(config)
        except VTAError:
            return [-np.inf] * len(self._wanted)

    def noise(self, config: QuantizeConfig) -> list[float]:
        """The signal to noise ratio of each output, in decibels, or of its noisiest part."""
        # Which way is better does not hang on the last hundredth of the rounding, and this is the quick way.
        quick = replace(config, rounding=_QUICK.get(config.rounding, config.rounding))
        got = self._outputs(quantize(self._graph, self.data, quick, self._hw))
        return [self._noise_of(*each) for each in zip(self._wanted, got, self._axes, strict=True)]

    def _noise_of(self, wanted: Array, got: Array, axis: int | None) -> float:
        if not self._each:
            return _decibels(wanted, got, axis)
        found = [_decibels(one[None], other[None], axis) for one, other in zip(wanted, got, strict=True)]
        return float(np.mean(np.minimum(found, _NO_NOISE_DB)))

    def _outputs(self, graph: Graph) -> list[Array]:
        return outputs_of_batches(graph, self._held)


def _decibels(wanted: Array, got: Array, axis: int | None) -> float:
    """The signal to noise ratio of an output, over all batches, or of channels that are far smaller than others if it is less.

    Boxes in pixels and scores are often one tensor: no noise in the scores shows beside those.
    """
    whole = decibels(wanted, got)
    if axis is None:
        return whole
    sizes = np.abs(np.where(np.isfinite(wanted), wanted, 0)).max(axis=tuple(at for at in range(wanted.ndim) if at != axis))
    small: tuple[Any, ...] = (*(slice(None),) * axis, np.flatnonzero(sizes * _MOST_TIMES < sizes.max()))
    return min(whole, decibels(wanted[small], got[small])) if wanted[small].any() else whole


def _channel_axis(output: Node) -> int | None:
    """The axis of channels of an output that has places, too: of an image the second, unless it was turned; else the shorter.

    None where it has none, or where all are chances, of which the small ones say nothing.
    """
    source = output
    while source.op in _MOVES:
        source = source.inputs[0]
    if source.op in _CHANCES or len(output.shape) not in (_RANK_OF_IMAGES, _RANK_OF_ROWS):
        return None
    if len(output.shape) == _RANK_OF_ROWS:
        return 1 + (output.shape[2] < output.shape[1])
    return 3 if isinstance(output.attrs, TransposeAttributes) and output.attrs.axes[-1] == 1 else 1
