"""Programs that the compiler made wrong: who is told, and what runs on the host instead."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from vta.codegen.region_program import MOVE_SUFFIX
from vta.compiler.placements import MOST_NAMED
from vta.errors import CompilerFaultWarning
from vta.ir.graph import Node
from vta.isa.findings import Finding
from vta.isa.program import Program
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.reason import Reason
from vta.tile.region_lowering import TileRegion, operator_names

__all__ = ["fault_of", "fault_of_program"]

_STACK = 6
"""Frames from the warning to who called the compiler."""


def fault_of_program(tile: TileRegion, program: Program, findings: Sequence[Finding]) -> dict[Node, Reason]:
    """Warn of a program that breaks rules; returns why the results concerned are left to the host."""
    by_name = dict(zip(operator_names(tile.source), tile.source.operators, strict=True))
    places = (program.origin(finding.instruction) for finding in findings if finding.instruction is not None)
    names = {place.operator.removesuffix(MOVE_SUFFIX) for place in places if place is not None}
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return fault_of(tile, f"{findings[0]}{more}", [by_name[name] for name in names])


def fault_of(tile: TileRegion, found: str, concerned: Sequence[FusedOperator] = ()) -> dict[Node, Reason]:
    """Warn of a region without a right program; returns why the results of what is `concerned`, or all, are left to the host."""
    operators = concerned or tile.source.operators
    named = ", ".join(fused.label for fused in operators[:MOST_NAMED])
    more = f" and {len(operators) - MOST_NAMED} more" if len(operators) > MOST_NAMED else ""
    text = f"fault of the compiler, please report it: in the program of {tile.region.name}: {found}"
    warnings.warn(f"{text}; on the host instead: {named}{more}", CompilerFaultWarning, stacklevel=_STACK)
    return {fused.result: Reason("compiler_fault", text, fused.anchor) for fused in operators}
