"""What templates say of the graph operators that they compute whole: under which conditions, and in which words.

A template is a plug-in: one file in the folder of `PLUGINS`, imported at the first question. Nothing else names it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.partition.fused.support_rules import Rule

__all__ = ["TemplateSupport", "load_templates", "register_support", "template_support", "template_supports"]

PLUGINS = "vta.codegen.templates"


@dataclass(frozen=True)
class TemplateSupport:
    """A graph operator that a template computes, from an int8 tensor to an int8 tensor."""

    graph_operator: str
    when: str
    """When it runs on VTA: the end of a sentence."""
    rules: tuple[Rule, ...] = ()
    """Conditions that only fused operators of this one must meet."""


_SUPPORTS: dict[str, TemplateSupport] = {}


def register_support(support: TemplateSupport) -> None:
    """Let the partitioner give a graph operator to its template."""
    _SUPPORTS[support.graph_operator] = support


def template_support(graph_operator: str) -> TemplateSupport | None:
    """What the template of a graph operator says, if it has one."""
    load_templates()
    return _SUPPORTS.get(graph_operator)


def template_supports() -> tuple[TemplateSupport, ...]:
    """Those of all templates, by the name of the graph operator."""
    load_templates()
    return tuple(_SUPPORTS[name] for name in sorted(_SUPPORTS))


@cache
def load_templates() -> None:
    """Import the templates, each of which registers itself."""
    import_module(PLUGINS)
