"""What the cycles of each operator went to, seen from the compute unit, which everything passes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS
from vta.isa.instruction import Opcode
from vta.pages.data.coverage import covered
from vta.pages.data.windows import DeviceRun, Window
from vta.support.dataclass import dataclass

__all__ = ["CAUSES", "OperatorCauses", "causes_of_run", "operator_causes"]

PRODUCTS, STEPS, LOADS, LOAD_UNIT, STORE_UNIT, MEMORY, REST = CAUSES = (
    "products",
    "ALU steps",
    "loads of biases and micro-ops",
    "waits for the load unit",
    "waits for the store unit",
    "waits for memory",
    "first load and last store",
)
"""Together all cycles: what the compute unit does, what it waits for, and the time in which it has no instruction."""

_COMPUTE = TIMELINE_UNITS.index("compute")
_BUSY, _TOKEN, _MEMORY = (TIMELINE_KINDS.index(kind) for kind in ("busy", "token", "memory"))
_WORK = {Opcode.GEMM: PRODUCTS, Opcode.DEPTHWISE: PRODUCTS, Opcode.ALU: STEPS}


@dataclass(frozen=True)
class OperatorCauses:
    """The cycles of an operator's window by what they went to."""

    operator: str
    region: str
    cycles: Mapping[str, int]
    """By names of `CAUSES`; they add up to the window."""


def operator_causes(runs: Sequence[DeviceRun], found: Sequence[Window]) -> list[OperatorCauses]:
    """One for each window; empty where the runs were made without a timeline."""
    if any(run.result.timeline is None for run in runs) or not found:
        return []
    edges = np.array([found[0].start, *(window.end for window in found)], dtype=np.float64)
    sums = {cause: np.zeros(len(found)) for cause in CAUSES}
    for run in runs:
        for cause, (starts, ends) in causes_of_run(run).items():
            sums[cause] += covered(starts, ends, edges)
    sums[REST] = np.diff(edges) - sum(sums[cause] for cause in CAUSES if cause != REST)
    return [
        OperatorCauses(window.operator, window.region, {cause: round(float(sums[cause][index])) for cause in CAUSES})
        for index, window in enumerate(found)
    ]


def causes_of_run(run: DeviceRun) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The stretches of the compute unit in a run, starts and ends on the axis of all runs, by cause; without `REST`."""
    assert run.result.timeline is not None
    own = run.result.timeline[run.result.timeline["unit"] == _COMPUTE]
    instructions = run.region.program.instructions[own["instruction"].astype(np.int64)]
    kind = own["kind"]
    busy, token, memory = (kind == which for which in (_BUSY, _TOKEN, _MEMORY))
    work = np.full(len(own), CAUSES.index(LOADS))
    for opcode, cause in _WORK.items():
        work[instructions["opcode"] == opcode] = CAUSES.index(cause)
    chosen = np.full(len(own), -1)
    chosen[busy] = work[busy]
    # An instruction that takes tokens of both neighbours waits for loads first: the store of the tile before is long done.
    chosen[token] = np.where(instructions["pop_prev"][token] != 0, CAUSES.index(LOAD_UNIT), CAUSES.index(STORE_UNIT))
    chosen[memory] = CAUSES.index(MEMORY)
    starts = own["start"].astype(np.float64) + run.start
    ends = own["end"].astype(np.float64) + run.start
    return {cause: (starts[chosen == index], ends[chosen == index]) for index, cause in enumerate(CAUSES) if cause != REST}
