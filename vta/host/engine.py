"""Compiled kernels for the host part of a network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from vta.host.groups import choose_layouts, find_groups, with_beginnings
from vta.host.kernels.group import Group, GroupKernel, build_kernel
from vta.host.kernels.procedures.build import ProcedureKernel, build_procedure
from vta.host.kernels.products.convolution_shape import TileSource, convolution_shape, has_tile
from vta.host.kernels.products.winograd import winograd_convolution
from vta.host.kernels.products.winograd_tiles import winograd_pays
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import PLAIN, Layout
from vta.host.llvm.kept import kept_object
from vta.host.llvm.library import KernelLibrary
from vta.host.llvm.target import host_target
from vta.host.loop.compute import Kernel
from vta.host.loop.steps import Step
from vta.host.outline import ProgramOutline, named_outline, outline_of_kernel
from vta.host.part import HostKernel, HostPart
from vta.host.plan import PlacedKernel
from vta.host.processors import CpuTarget
from vta.ir.graph import Graph, Node
from vta.support.on_cores import usable_cores

__all__ = [
    "ScheduleSource",
    "compile_host",
    "default_kernel",
    "describe_host",
    "host_groups",
    "host_objects",
    "open_kernel",
]

ScheduleSource = Callable[[Kernel, CpuTarget], tuple[Step, ...] | None]
"""The steps of what a kernel computes, on a processor; None leaves them to the rules of kernels."""

_FLOAT_BYTES = 4


def describe_host(
    graph: Graph,
    calls: Sequence[Node],
    kept: Sequence[Node],
    target: CpuTarget,
    tiles: TileSource | None = None,
    schedules: ScheduleSource | None = None,
    packed: Collection[Node] = (),
    winograd: bool = False,
) -> HostPart:
    """Find kernels for what of the host's operators has some.

    `calls` are the host's operators in topological order; values in `kept` (outputs, inputs of regions) come out row by row.
    Those of `packed`, images that only regions read or give, may lie in blocks of as many channels as a register holds.
    `schedules` chooses the steps of whole kernels; then `tiles` the tiles of convolutions, before the model does. With `winograd`
    convolutions of floats are computed by Winograd's transforms, before all that, where this is known to take less time.
    """
    groups, layouts = host_groups(graph, calls, kept, target, packed)
    kernels = [
        build_kernel(group, layouts, target, rule=winograd_convolution)
        if winograd and _takes_winograd(group, layouts, target)
        else _kernel(group, layouts, target, tiles, schedules)
        for group in groups
    ]
    known: dict[bytes, ProgramOutline] = {}
    return HostPart(tuple(_described(group, kernel, known) for group, kernel in zip(groups, kernels, strict=True)), layouts)


def host_groups(
    graph: Graph, calls: Sequence[Node], kept: Sequence[Node], target: CpuTarget, packed: Collection[Node] = ()
) -> tuple[list[Group], dict[Node, Layout]]:
    """The operators that become one kernel each, and how the values between them lie in memory."""
    users = graph.users()
    groups = with_beginnings(find_groups(calls, users, kept), users, kept)
    return groups, choose_layouts(groups, users, kept, target.lanes(_FLOAT_BYTES), packed)


def default_kernel(
    group: Group, layouts: Mapping[Node, Layout], target: CpuTarget, tiles: TileSource | None = None
) -> GroupKernel:
    """The kernel of a group, scheduled by the rules of kernels."""
    return build_kernel(group, layouts, target, tile=_tile(group, layouts, target, tiles))


def open_kernel(group: Group, layouts: Mapping[Node, Layout], target: CpuTarget) -> GroupKernel:
    """The kernel of a group with nothing in what it computes that belongs to one schedule: any may follow."""
    tile = None
    if group.anchor is not None and has_tile(group.anchor):
        shape = convolution_shape(group.anchor, layouts.get(group.anchor.inputs[0], PLAIN), target)
        tile = replace(shape.default_tile(target), rows=1, chunk=0)
    return build_kernel(group, layouts, target, tile=tile)


def _kernel(
    group: Group,
    layouts: Mapping[Node, Layout],
    target: CpuTarget,
    tiles: TileSource | None,
    schedules: ScheduleSource | None,
) -> GroupKernel | ProcedureKernel:
    if group.procedure:
        return build_procedure(group.result, target)
    if schedules is not None:
        found = open_kernel(group, layouts, target)
        steps = schedules(found.kernel, target)
        if steps is not None:
            return replace(found, steps=steps)
    return default_kernel(group, layouts, target, tiles)


def _takes_winograd(group: Group, layouts: Mapping[Node, Layout], target: CpuTarget) -> bool:
    anchor = group.anchor
    return anchor is not None and winograd_pays(anchor, layouts.get(anchor.inputs[0], PLAIN), target)


def _tile(group: Group, layouts: Mapping[Node, Layout], target: CpuTarget, tiles: TileSource | None) -> Tile | None:
    if tiles is None or group.anchor is None or not has_tile(group.anchor):
        return None
    return tiles(group.anchor, layouts.get(group.anchor.inputs[0], PLAIN), target)


def _described(group: Group, kernel: GroupKernel | ProcedureKernel, known: dict[bytes, ProgramOutline]) -> HostKernel:
    if isinstance(kernel, ProcedureKernel):
        program = named_outline(kernel.program)
    else:
        program = outline_of_kernel(kernel.kernel, kernel.steps, known)
    return HostKernel(group.nodes, PlacedKernel(program, kernel.sources, kernel.constants, group.result, kernel.checks))


def compile_host(part: HostPart, target: CpuTarget | None = None) -> KernelLibrary:
    """Compile the kernels for this processor, side by side; those with the same text once."""
    target = target or host_target()
    return KernelLibrary(host_objects(part, target), part.symbols(), target.architecture)


def host_objects(part: HostPart, target: CpuTarget) -> list[bytes]:
    """An object file for each of the programs, which must have been made for the same processor."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        return list(pool.map(lambda program: kept_object(program, target), part.programs().values()))
