"""What would make a network faster, from what a run of it counted; every number was counted or follows from the shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil

from vta.codegen.region_program import HOST
from vta.report.costs.bottlenecks import BOTTLENECKS
from vta.report.costs.layer_costs import LayerCost, NetworkCost
from vta.report.placement_advice import for_terminals
from vta.report.remedies import remedy_of
from vta.report.settings import Say, in_python, with_settings
from vta.support.dataclass import dataclass

__all__ = ["Advice", "advice_on"]

_LEAST_SHARE = 0.02
"""Of the run: what costs less is not worth a line."""
_MOST = 4


@dataclass(frozen=True)
class Advice:
    """One way to make a network faster."""

    rule: str
    """As in `LayerCost`: what the layers have in common."""
    layers: tuple[str, ...]
    cycles: int
    """That these layers cost."""
    text: str


def advice_on(cost: NetworkCost, say: Say = in_python) -> list[Advice]:
    """What to do about the layers that cost most, one for each rule, the most cycles first; nothing about what costs little.

    `say` puts settings into words.
    """
    groups: dict[tuple[str, str], list[LayerCost]] = defaultdict(list)
    for row in cost.layers:
        groups[row.where, row.rule].append(row)
    found = [_advice(where, rule, rows, cost, say) for (where, rule), rows in groups.items() if _remedy(where, rule, say)]
    worth = [advice for advice in found if cost.share(advice.cycles) >= _LEAST_SHARE]
    return sorted(worth, key=lambda advice: -advice.cycles)[:_MOST]


def _advice(where: str, rule: str, rows: Sequence[LayerCost], cost: NetworkCost, say: Say) -> Advice:
    layers, cycles = tuple(row.layer for row in rows), sum(row.cycles for row in rows)
    named = rows[0].layer if len(rows) == 1 else f"{rows[0].layer} and {len(rows) - 1} more"
    place = " on the host" if where == HOST else ""
    verb = "costs" if len(rows) == 1 else "cost"
    share = f"{verb} {cycles:,} of {cost.cycles():,} cycles ({cost.share(cycles):.0%})"
    more = _MORE[rule](rows, cost) if rule in _MORE else ""
    cause, remedy = _CAUSES.get(rule, rows[0].why), _remedy(where, rule, say)
    return Advice(rule, layers, cycles, f"{named}{place} {share}; {cause}: {remedy}{more}")


def _remedy(where: str, rule: str, say: Say) -> str:
    """What to do about layers that a rule concerns; "" if there is nothing."""
    if not rule:
        return ""
    remedy = remedy_of(rule).remedy if where == HOST else BOTTLENECKS[rule]
    return for_terminals(with_settings(remedy, say))


_CAUSES = {
    "loads": "loading takes longest",
    "stores": "storing takes longest",
    "alu_steps": "ALU steps, mostly to requantise, take longest",
    "blocks_not_full": "most products of a block are with zeros",
}
"""Where the rows differ in the counts that they give."""


def _least_cycles(rows: Sequence[LayerCost], cost: NetworkCost) -> str:
    """What the products of layers that the accelerator could run take there at least."""
    macs = sum(row.macs for row in rows)
    return f" (the products take the accelerator at least {ceil(macs / cost.peak_macs):,} cycles)" if macs else ""


_MORE: dict[str, Callable[[Sequence[LayerCost], NetworkCost], str]] = {"left_in_float": _least_cycles}
"""By rule: what else the run tells."""
