"""Compiled kernels for the host part of a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from numpy.typing import NDArray

from vta.host.groups import choose_layouts, find_groups
from vta.host.kernels.group import Group, GroupKernel, build_kernel
from vta.host.llvm.jit import CompiledProgram, kept_object
from vta.host.llvm.memory import MemoryPool, address
from vta.host.llvm.target import CpuTarget, host_target
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.loop.text import program_text
from vta.ir.graph import Graph, Node
from vta.support.dataclass import dataclass

__all__ = ["HostKernel", "compile_host"]

Array = NDArray[Any]
_FLOAT_BYTES = 4


@dataclass(frozen=True)
class HostKernel:
    """One kernel of the host part, ready to run."""

    nodes: tuple[Node, ...]
    """The operators that it computes; the last one is what it gives."""
    sources: tuple[Node, ...]
    program: CompiledProgram
    constants: tuple[Array, ...]
    addresses: tuple[int, ...]
    """Of the constants, which stay where they are."""

    @property
    def result(self) -> Node:
        """The value that it gives."""
        return self.nodes[-1]

    def run(self, inputs: Sequence[Array], pool: ThreadPoolExecutor | None = None, threads: int = 1) -> Array:
        """The result for the values of `sources`, each in the layout that the kernel was compiled for."""
        return self.program.run(inputs, self.addresses, pool, threads)


def compile_host(graph: Graph, calls: Sequence[Node], kept: Sequence[Node], target: CpuTarget | None = None) -> list[HostKernel]:
    """Compile what of the host's operators has kernels.

    `calls` are the host's operators in topological order; values in `kept` (outputs, inputs of regions) come out row by row.
    """
    target = target or host_target()
    users = graph.users()
    groups = find_groups(calls, users, kept)
    layouts = choose_layouts(groups, users, kept, target.lanes(_FLOAT_BYTES))
    kernels = [build_kernel(group, layouts, target) for group in groups]
    programs = [lower(scheduled(item.kernel, item.steps)) for item in kernels]
    compiled = _compiled(programs, target)
    return [_ready(group, kernel, program) for group, kernel, program in zip(groups, kernels, compiled, strict=True)]


def _compiled(programs: Sequence[Program], target: CpuTarget) -> list[CompiledProgram]:
    """Programs in this process's memory; those with the same text are compiled once, all others side by side."""
    texts = [program_text(program) for program in programs]
    distinct = dict(zip(texts, programs, strict=True))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(lambda program: kept_object(program, target), distinct.values()))
    memory = MemoryPool()
    made = {text: CompiledProgram(program, code, memory) for (text, program), code in zip(distinct.items(), codes, strict=True)}
    return [made[text] for text in texts]


def _ready(group: Group, kernel: GroupKernel, program: CompiledProgram) -> HostKernel:
    return HostKernel(group.nodes, kernel.sources, program, kernel.constants, tuple(map(address, kernel.constants)))
