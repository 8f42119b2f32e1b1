"""Cycles of layers and of units add up."""

from itertools import pairwise

import pytest

from vta.pages.data.unit_spans import STATES, unit_shares, unit_spans
from vta.pages.data.windows import windows
from vta.report.costs.layer_costs import VTA, network_cost


def test_windows_are_the_cycles_of_the_layers(module, report, runs):
    found = windows(runs)
    cost = network_cost(module, report)
    assert {window.operator: window.end - window.start for window in found} == {
        row.layer: row.cycles for row in cost.layers if row.where == VTA
    }
    assert found[-1].end == report.cycles


def test_spans_and_shares_have_the_cycles_of_the_units(runs):
    spans = unit_spans(runs)
    shares = {unit.unit: unit for unit in unit_shares(runs, 7)}
    assert spans.step == 1
    for name, unit in runs[0].result.units.items():
        expected = {"busy": unit.busy, "token": unit.token, "memory": unit.memory}
        for kind, cycles in expected.items():
            own = [span for span in spans.spans if (span.unit, span.state) == (name, STATES[kind])]
            assert sum(span.end - span.start for span in own) == cycles
            width = shares[name].edges[1]
            assert sum(shares[name].shares[STATES[kind]]) * width == pytest.approx(cycles, abs=0.01 * width)


def test_of_many_spans_few_are_drawn(runs):
    whole, few = unit_spans(runs), unit_spans(runs, most=10)
    assert few.step > 1
    assert len(few.spans) < len(whole.spans)
    for unit in ("load", "compute", "store"):
        own = [span for span in few.spans if span.unit == unit]
        assert own
        assert all(before.end <= after.start for before, after in pairwise(own))
