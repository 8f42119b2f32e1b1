"""What would let the accelerator run what stays on the host, known before a network runs."""

from __future__ import annotations

import re
from collections import defaultdict

from vta.codegen.region_program import HOST, Placement
from vta.report.remedies import Remedy, remedy_of
from vta.report.settings import Say, in_python, with_settings
from vta.runtime.compiled_module import CompiledModule

__all__ = ["advice_on_placements", "for_terminals"]


def advice_on_placements(module: CompiledModule, say: Say = in_python) -> list[str]:
    """What to do about the operators that stay on the host, a sentence for each rule that there is something to do about.

    `say` puts settings into words.
    """
    kept: dict[Remedy, list[Placement]] = defaultdict(list)
    for entry in module.placements:
        if entry.where == HOST:
            kept[remedy_of(entry.rule)].append(entry)
    return [
        f"{len(entries)} {'operator' if len(entries) == 1 else 'operators'} on the host, first {entries[0].layer}: "
        f"{entries[0].reason}. What to do: {for_terminals(with_settings(remedy.remedy, say))}"
        for remedy, entries in kept.items()
        if remedy.remedy
    ]


def for_terminals(remedy: str) -> str:
    """A remedy without marks of a document."""
    return re.sub(r"([a-z-]+\.md)", r"docs/\1", remedy).replace("`", "'")
