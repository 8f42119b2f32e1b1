"""Every cause has a colour, and no cycle is left out."""

from vta.explanation.causes import Cause
from vta.explanation.explain import explain_module
from vta.pages.data.cause_groups import GROUPS, parts_of
from vta.pages.palette import CAUSE_COLORS


def test_every_cause_is_in_one_group():
    causes = [cause for group in GROUPS.values() for cause in group]
    assert sorted(causes, key=list(Cause).index) == list(Cause)
    assert len(GROUPS) == len(CAUSE_COLORS) == len(set(CAUSE_COLORS))


def test_parts_are_all_cycles(module, report):
    told = explain_module(module, suggest=False)
    parts = [part for layer in told.layers for part in parts_of(layer)]
    assert sum(cycles for _, _, cycles in parts) == told.total == report.cycles
    assert {group for group, _, _ in parts} <= set(GROUPS)
