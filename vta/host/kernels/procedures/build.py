"""The program of an operator that is a procedure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.checks import RangeCheck, checks_of
from vta.host.kernels.procedures.rules import procedure_of
from vta.host.kernels.values import Layout, stored
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.processors import CpuTarget
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["ProcedureKernel", "build_procedure"]

_FLOAT_BYTES = 4


@dataclass(frozen=True)
class ProcedureKernel:
    """A program, and where its inputs come from."""

    program: Program
    sources: tuple[Node, ...]
    """Values of the program's first inputs."""
    constants: tuple[NDArray[Any], ...]
    """Of the others."""
    checks: tuple[RangeCheck, ...]


def build_procedure(node: Node, target: CpuTarget, name: str = "procedure") -> ProcedureKernel:
    """Return the program of an operator, all of whose values lie row by row."""
    lanes = target.lanes(_FLOAT_BYTES)
    operands = list(dict.fromkeys(node.inputs))
    sources = [item for item in operands if item.value is None]
    constants = [item for item in operands if item.value is not None]
    buffers = {item: Buffer(f"input{at}", item.shape, item.dtype) for at, item in enumerate((*sources, *constants))}
    made = procedure_of(node)(node, [buffers[item] for item in node.inputs], lanes)
    functions, workspace, inputs = made.functions, made.workspace, tuple(buffers.values())
    checks = checks_of([node], lambda item: stored(buffers[item], item.shape, Layout()), lanes)
    if checks.stages:
        found = lower(scheduled(Kernel("checks", inputs, checks.stages), checks.steps))
        functions = (*found.functions, *functions)
        workspace = (*found.workspace, found.output, *workspace)
    program = Program(name, inputs, made.output, workspace, functions)
    arrays = tuple(np.ascontiguousarray(item.value) for item in constants)
    return ProcedureKernel(program, tuple(sources), arrays, checks.ranges)
