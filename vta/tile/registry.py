"""Which graph operators a template of their own computes, each whole; all others become products and steps.

A template is a plug-in: one file in the folder of `PLUGINS`, imported at the first question. Nothing else names it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Node
from vta.partition.fused_operator import FusedOperator
from vta.tile.operator import Tensor, TileOperator

__all__ = ["Build", "TensorOf", "register_builder", "template_builder"]

PLUGINS = "vta.codegen.templates"

TensorOf = Callable[[Node], Tensor]
"""Gives the packed tensor of a value."""

Build = Callable[[FusedOperator, TensorOf, HardwareConfig, str], TileOperator]
"""Makes the tile operator of the given name that computes a fused operator."""

_BUILDERS: dict[str, Build] = {}


def register_builder(graph_operator: str, build: Build) -> None:
    """Let `build` make the tile operators of fused operators that consist of `graph_operator`."""
    _BUILDERS[graph_operator] = build


def template_builder(graph_operator: str) -> Build | None:
    """What makes the tile operator of `graph_operator`, if a template computes it."""
    _load()
    return _BUILDERS.get(graph_operator)


@cache
def _load() -> None:
    import_module(PLUGINS)
