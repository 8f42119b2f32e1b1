"""What points of a sweep that run the same network share: its integer graph, and its compilation for a geometry."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable

from vta.compiler.compile import lower_model
from vta.compiler.shared import SharedCompilation, geometry_of
from vta.config.hardware import HardwareConfig
from vta.frontend import load_model
from vta.quantization import QuantizeConfig
from vta.schedule.bound import Bound, bound_of
from vta.schedule.roofline import roofline_of_region
from vta.sweep.spec import Net
from vta.sweep.workloads import graph_of_identity
from vta.tile.operator import RegionOperators

__all__ = ["Network", "Networks"]

_KEPT = 6
"""Networks and geometries; points that share one follow each other."""


class Network:
    """A network or workload for the configs of one geometry. Raises a `VTAError` if it cannot be read or has nothing to run."""

    def __init__(self, work: Net | str, hw: HardwareConfig) -> None:
        if isinstance(work, str):
            graph, layers = graph_of_identity(work), None
        else:
            config = QuantizeConfig(requantize=work.requantize)
            model = load_model(work.model, random_weights=work.random_weights)
            graph, layers = lower_model(model, hw, start=work.start, stop=work.stop, quantize=config)
        self.compilation = SharedCompilation(graph, hw, layers)
        self._bounds: dict[int, Bound] = {}
        self._rooflines: dict[tuple[tuple[RegionOperators, ...], int], int] = {}

    def roofline_cycles(self, regions: tuple[RegionOperators, ...], hw: HardwareConfig, bus_bytes: int) -> int:
        """The sum of the bounds of the regions. It depends on the geometry and the bus alone."""
        key = regions, bus_bytes
        if key not in self._rooflines:
            self._rooflines[key] = sum(roofline_of_region(region, hw, bus_bytes).cycles for region in regions)
        return self._rooflines[key]

    def bound(self, hw: HardwareConfig, bus_bytes: int) -> Bound:
        """The least that the whole network takes. It depends on the geometry and the bus alone."""
        if bus_bytes not in self._bounds:
            self._bounds[bus_bytes] = bound_of(self.compilation.operators, hw, bus_bytes)
        return self._bounds[bus_bytes]


class Networks:
    """The networks that were last asked for, by geometry."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Network] = OrderedDict()

    def network(self, work: Net | str, hw: HardwareConfig) -> Network:
        """The network for configs of the geometry of `hw`, read anew if its file has changed."""
        file = os.stat(work.model) if isinstance(work, Net) and os.path.isfile(work.model) else None
        key = work, geometry_of(hw), file and (file.st_mtime_ns, file.st_size)
        if key not in self._kept:
            self._kept[key] = Network(work, hw)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
