"""The kernels of what a host computes of a network, before they are compiled."""

from __future__ import annotations

from collections.abc import Mapping

from vta.host.kernels.values import Layout
from vta.host.outline import ProgramOutline
from vta.host.plan import PlacedKernel
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["HostKernel", "HostPart"]


@dataclass(frozen=True)
class HostKernel:
    """One kernel of the host part."""

    nodes: tuple[Node, ...]
    """The operators that it computes; the last one is what it gives."""
    placed: PlacedKernel


@dataclass(frozen=True)
class HostPart:
    """The kernels of a network's host part, not compiled yet."""

    kernels: tuple[HostKernel, ...]
    layouts: Mapping[Node, Layout]
    """Of values that do not lie row by row."""

    def programs(self) -> dict[str, ProgramOutline]:
        """The distinct programs by their names."""
        return {kernel.placed.program.name: kernel.placed.program for kernel in self.kernels}

    def symbols(self) -> list[str]:
        """The functions of all programs."""
        return [program.symbol(function) for program in self.programs().values() for function in program.functions]
