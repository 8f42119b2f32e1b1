"""What is compared: a compiled network on a device or by its reference, or a model by its framework or as it is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from vta.devices.device import Device
from vta.difference.device_values import RegionInputs, device_values
from vta.difference.frameworks import framework_values
from vta.difference.values import Array, LayerValue, output_values, reference_values
from vta.errors import UsageError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.loaded_module import LoadedModule
from vta.support.dataclass import dataclass

__all__ = ["FrameworkSide", "ModelSide", "ModuleSide", "RemoteSide", "Side", "graph_of"]


class Side(Protocol):
    """One of the two runs that are compared."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def graph(self) -> Graph | None:
        """The graph that is run; None if only the framework knows it."""

    def values(self, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
        """Run it; the values in the order in which they are computed."""


@dataclass(frozen=True, eq=False)
class ModuleSide:
    """A compiled network: on a device, or, without one, its integer graph by the NumPy references."""

    name: str
    module: CompiledModule
    device: Device | None = None

    @property
    def graph(self) -> Graph:
        """That of the module."""
        return self.module.graph

    def values(self, inputs: Mapping[str, Array], given: RegionInputs | None = None) -> Iterator[LayerValue]:
        """See `Side.values`; `given` is told what each region is given."""
        if self.device is None:
            yield from reference_values(self.graph, inputs)
        else:
            yield from device_values(self.module, self.device, inputs, given)


@dataclass(frozen=True, eq=False)
class RemoteSide:
    """A compiled network on a device of another machine, which tells its outputs alone."""

    name: str
    module: CompiledModule
    loaded: LoadedModule
    reason: str = ""
    """Why it tells nothing else."""

    @property
    def graph(self) -> Graph:
        """That of the module."""
        return self.module.graph

    def values(self, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
        """See `Side.values`."""
        yield from output_values(self.graph, self.loaded.run(inputs).outputs)


@dataclass(frozen=True, eq=False)
class ModelSide:
    """A model as it is imported, by the NumPy references."""

    name: str
    model: Graph | str | Path

    @property
    def graph(self) -> Graph:
        """The imported graph."""
        return self.model if isinstance(self.model, Graph) else load_model(self.model)

    def values(self, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
        """See `Side.values`."""
        yield from reference_values(self.graph, inputs)


@dataclass(frozen=True, eq=False)
class FrameworkSide:
    """A model file by its own framework."""

    name: str
    model: Path

    @property
    def graph(self) -> None:
        """The framework has its own."""
        return

    def values(self, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
        """See `Side.values`."""
        yield from framework_values(self.model, inputs)


def graph_of(*sides: Side) -> Graph:
    """The graph of one of some sides, whose inputs are those of all. Raises `UsageError` if only frameworks know theirs."""
    for side in sides:
        if side.graph is not None:
            return side.graph
    names = " and ".join(side.name for side in sides)
    raise UsageError(f"{names}: one side must be a compiled network, or a model by its reference")
