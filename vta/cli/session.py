"""From the options of a command to a compiled network on an open device."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from vta.codegen.region_program import CompiledModule
from vta.runtime import Module
from vta.runtime.devices.sim import SimDevice

__all__ = ["open_module", "output_arrays"]


@contextmanager
def open_module(compiled: CompiledModule, options: argparse.Namespace) -> Iterator[Module]:
    """Open the device that `options` name and load `compiled` onto it."""
    device = SimDevice(compiled.hw, memory_bytes=options.memory)
    yield Module(compiled, device)


def output_arrays(compiled: CompiledModule, outputs: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Name each output after the layer that computes it; a layer's second output gets its position appended."""
    named: dict[str, NDArray[Any]] = {}
    for position, (node, array) in enumerate(zip(compiled.graph.outputs, outputs, strict=True)):
        named[node.name if node.name not in named else f"{node.name}_{position}"] = array
    return named
