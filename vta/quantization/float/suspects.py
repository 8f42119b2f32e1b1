"""Which layers of a network are the noisiest in int8 by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.calibrate import batches_of
from vta.quantization.float.plan.layer_walks import last_layers
from vta.quantization.float.quantizer import equalized, quantize
from vta.quantization.float.report import signal_to_noise

__all__ = ["noisiest_layers"]

Array = NDArray[Any]

_QUIETER_DB = 6.0
"""A layer that is less noisy than an output by more than this is not what that is noisy of."""
_TOGETHER = 2
"""Layers whose sum is one value."""


def noisiest_layers(
    graph: Graph, data: Mapping[str, Array], config: QuantizeConfig, hw: HardwareConfig, noise: float
) -> list[str]:
    """The names of the layers with weights whose results are about as noisy as `noise` or more, the noisiest first.

    Each counts by itself, from exact inputs, on the first batch of `data`; `noise` is a signal to noise ratio in decibels.
    """
    even = graph if config.equalize == "none" else equalized(graph, data, config)
    quantized = quantize(even, data, replace(config, equalize="none"), hw)
    last = {node.name: node for node in even.calls()}
    found: dict[str, float] = {}
    for row in signal_to_noise(even, quantized, next(iter(batches_of(even, data)))):
        names = last_layers(last[row.layer])
        if len(names) <= _TOGETHER and row.own_db < noise + _QUIETER_DB:
            for name in names:
                found[name] = min(row.own_db, found.get(name, row.own_db))
    return sorted(found.keys() - set(config.skip_layers), key=lambda name: found[name])
