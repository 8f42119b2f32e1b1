"""Which template computes a graph operator whole, and which class a kind of tile operator is of; all others become products."""

from __future__ import annotations

from collections.abc import Callable

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.template_support import load_templates
from vta.tile.operator import Tensor, TileOperator
from vta.tile.single_source import SingleSourceOperator

__all__ = ["Build", "TensorOf", "register_builder", "register_kind", "template_builder", "template_kinds"]

TensorOf = Callable[[Node], Tensor]
"""Gives the packed tensor of a value."""

Build = Callable[[FusedOperator, TensorOf, HardwareConfig, str], TileOperator]
"""Makes the tile operator of the given name that computes a fused operator."""

_BUILDERS: dict[str, Build] = {}
_KINDS: dict[str, type[SingleSourceOperator]] = {}


def register_builder(graph_operator: str, build: Build) -> None:
    """Let `build` make the tile operators of fused operators whose anchor is a `graph_operator`."""
    _BUILDERS[graph_operator] = build


def register_kind(kind: str, of: type[SingleSourceOperator]) -> None:
    """Let tile operators of a kind be of a class."""
    _KINDS[kind] = of


def template_builder(graph_operator: str) -> Build | None:
    """What makes the tile operator of `graph_operator`, if a template computes it."""
    load_templates()
    return _BUILDERS.get(graph_operator)


def template_kinds() -> dict[str, type[SingleSourceOperator]]:
    """The kinds of tile operators that templates compute, each with its class."""
    load_templates()
    return dict(sorted(_KINDS.items()))
