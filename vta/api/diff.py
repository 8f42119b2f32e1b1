"""Where two runs of a network first differ."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vta.compiler.options import CompileOptions
from vta.devices.device import Device
from vta.difference.difference import Difference
from vta.difference.find import find_difference
from vta.difference.parse import side_of
from vta.difference.sides import ModelSide, ModuleSide, Side, graph_of
from vta.ir.graph import Graph
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.evaluation.random_inputs import any_value, random_inputs

__all__ = ["diff"]

AnySide = str | Path | Graph | CompiledModule | tuple[CompiledModule, Device]


def diff(
    left: AnySide,
    right: AnySide,
    inputs: Mapping[str, NDArray[Any]] | None = None,
    *,
    seed: int = 0,
    options: CompileOptions | None = None,
) -> Difference:
    """Run two sides on the same inputs, and say where they first differ and what made the difference.

    A side is ``FILE@WHERE`` as `vta diff` takes it; a compiled module or a graph, which run by their references; or a compiled
    module and a device for it. Without `inputs`, by name, they are random, from `seed`. `options` are those that the module was
    compiled with: to find the pass that made a difference, the model is compiled again. Raises a `VTAError` if a side
    cannot run, or the two have nothing in common.
    """
    with ExitStack() as stack:
        sides = [_side(side, name, stack) for side, name in ((left, "left"), (right, "right"))]
        values = random_inputs(graph_of(*sides), seed, any_value) if inputs is None else inputs
        return find_difference(sides[0], sides[1], values, options or CompileOptions())


def _side(given: AnySide, name: str, stack: ExitStack) -> Side:
    match given:
        case Graph():
            return ModelSide(name, given)
        case CompiledModule():
            return ModuleSide(f"{name}@reference", given)
        case (module, device):
            return ModuleSide(f"{name}@{device.name}", module, device)
        case _:
            return side_of(str(given), stack)
