"""How often a network is wrong, by the way in which it is requantized and what the target can do."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from vta.compiler.compile import lower_model
from vta.config.hardware import HardwareConfig
from vta.errors import SweepError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.quantization import QuantizeConfig
from vta.runtime.evaluation.compute import compute_widely
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, load_dataset, prepare
from vta.sweep.points import Design
from vta.sweep.spec import Net, Spec

__all__ = ["Errors", "check_samples"]


def check_samples(spec: Spec) -> None:
    """Raise `SweepError` where accuracy is wanted and no network has samples, and `UsageError` where they cannot be read.

    It is computed when all points are done: too late for who waited for them.
    """
    if not _is_asked(spec):
        return
    files = [net.samples for net in spec.nets if net.samples is not None]
    if not files:
        raise SweepError(_NO_SAMPLES)
    for file in files:
        load_dataset(file, limit=1)


_NO_SAMPLES = "accuracy needs a network with samples: a file with the arrays x and y, see the documentation of eval"


class Errors:
    """Shares of samples whose class a network does not find. Each is computed once: the sizes of a config do not change it."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._known: dict[Hashable, float] = {}

    def of(self, design: Design) -> float:
        """The mean over the networks that have samples, each as often as its weight says; 0 if nobody asks.

        Nothing wrong counts as half a sample. Raises `SweepError` if no network has samples.
        """
        if not _is_asked(self._spec):
            return 0.0
        nets = [work for work in design.works(self._spec.works) if isinstance(work, Net) and work.samples is not None]
        if not nets:
            raise SweepError(_NO_SAMPLES)
        weights = [self._spec.weights.get(net.name, 1.0) for net in nets]
        return float(np.average([self._error(net, design.hw) for net in nets], weights=weights))

    def _error(self, net: Net, hw: HardwareConfig) -> float:
        key = net, hw.capabilities, hw.log_acc_width
        if key not in self._known:
            assert net.samples is not None
            graph, _ = lower_model(load_model(net.model), hw, quantize=QuantizeConfig(requantize=net.requantize))
            self._known[key] = _share_wrong(graph, load_dataset(net.samples))
        return self._known[key]


def _is_asked(spec: Spec) -> bool:
    return "accuracy" in (*spec.pareto, *spec.objective)


def _share_wrong(graph: Graph, data: Dataset) -> float:
    if len(graph.inputs) != 1:
        raise SweepError(f"{graph.name}: accuracy needs a network with one input, this one has {len(graph.inputs)}")
    (node,) = graph.inputs
    outputs = compute_widely(graph, {node.name: prepare(data.x, node, Preprocessing())}, None)
    wrong = int((outputs[0].reshape(len(data.y), -1).argmax(axis=1) != data.y).sum())
    return max(wrong, 0.5) / len(data.y)
