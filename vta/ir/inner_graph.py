"""What a call of an inner graph says: composites, which stand for one operator of a target, and regions, run as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vta.ir.operator import Attributes
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.ir.graph import Graph

__all__ = ["FunctionAttributes"]


@dataclass(frozen=True, kw_only=True)
class FunctionAttributes(Attributes):
    """The inner graph, and what it stands for."""

    body: Graph
    """Its inputs take the values of the call's inputs, in order; it holds its constants."""
    composite: str = ""
    """The entry of a pattern table that the body matches, e.g. ``vta.qnn_conv2d``; "" for none."""
    target: str = ""
    """The target that is to run the body; "" for the host, or not decided yet."""
    region: int = -1
    """Calls with one number are to be one region; -1: not decided yet."""
    output: int = 0
    """Which output of the body the call gives."""

    @property
    def part(self) -> Graph:
        """The body as far as the output needs it, with all inputs."""
        return replace(self.body, outputs=(self.body.outputs[self.output],), output_names=())
