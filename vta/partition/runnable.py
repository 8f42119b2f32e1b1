"""Which chains of a graph a config can run: whole, or as far as it can go on."""

from __future__ import annotations

from collections.abc import Callable

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.partition.fused_operator import ROOTS, Chain, find_chains, view_source
from vta.partition.support_rules import broken_rule
from vta.tile.copies import adds_channels

__all__ = ["Refuse", "runnable_chains", "shortened"]

Refuse = Callable[[Chain], str | None]
"""Gives a reason against a chain, or None."""


def runnable_chains(graph: Graph, hw: HardwareConfig, refuse: Refuse) -> tuple[dict[Node, Chain], dict[Node, str]]:
    """Return the chains to run by the node that ends each, and for other calls that join or start none why.

    Where a chain breaks a rule in its steps, what comes before is a chain that stores its int32 accumulators; the host goes on.
    """
    chains, reasons = find_chains(graph)
    accepted: dict[Node, Chain] = {}
    for chain in chains.values():
        reason = broken_rule(chain, hw) or _moved_before(chain, accepted)
        part = chain if reason is None else shortened(chain, hw)
        refusal = None if part is None else refuse(part)
        if part is not None and refusal is None:
            accepted[part.end] = part
            part_nodes = set(part.nodes)
            reasons.update((node, reason or "") for node in chain.nodes if node not in part_nodes)
        else:
            reasons.update(dict.fromkeys(chain.nodes, reason or refusal or ""))
    return accepted, reasons


def _moved_before(chain: Chain, accepted: dict[Node, Chain]) -> str | None:
    """Why the host joins, cuts or pads what it gives to VTA: less is copied so."""
    moves = chain.root.op in (ops.CONCATENATE, ops.STRIDED_SLICE) or adds_channels(chain.root)
    if not moves or any(view_source(source) in accepted for source in chain.sources):
        return None
    return "joined, cut or padded on the host, before VTA reads it"


def shortened(chain: Chain, hw: HardwareConfig) -> Chain | None:
    """The longest part of a chain, from its product or window sum on, that `hw` can run and whose end alone is read by the rest.

    None if there is none. It has no border and no branches.
    """
    if chain.root.op not in ROOTS:
        return None
    values = [chain.root, *chain.steps]
    starts = {fork.start for fork in chain.forks}
    longest = next((index for index, value in enumerate(values) if value in starts), len(values) - 1)
    for end in reversed(values[: longest + 1]):
        if end is chain.end:
            continue
        part = _up_to(chain, end, values.index(end))
        if broken_rule(part, hw) is None:
            return part
    return None


def _up_to(chain: Chain, end: Node, steps: int) -> Chain:
    inside, needed = set(chain.nodes), {end}
    pending = [end]
    while pending:
        for source in pending.pop().inputs:
            if source in inside and source not in needed:
                needed.add(source)
                pending.append(source)
    nodes = tuple(node for node in chain.nodes if node in needed)
    read = {source for node in nodes for source in node.inputs}
    return Chain(end, chain.root, chain.steps[:steps], nodes, tuple(source for source in chain.sources if source in read))
