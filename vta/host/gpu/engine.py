"""Compiled kernels for what a GPU computes of a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vta.host.gpu.build import build_gpu_kernel
from vta.host.gpu.drivers.device import GpuCode, GpuDevice
from vta.host.gpu.printing.printer import GpuSource, gpu_source
from vta.host.gpu.splitting import GpuChoice
from vta.host.groups import find_groups
from vta.host.kernels.group import Group
from vta.host.loop.compute import Kernel
from vta.host.loop.grid import GridLimits, grid_of
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Step
from vta.host.outline import named_outline
from vta.host.part import HostKernel, HostPart
from vta.host.plan import PlacedKernel
from vta.ir.graph import Graph, Node

__all__ = ["GpuScheduleSource", "GpuTileSource", "compile_gpu", "describe_gpu"]

GpuTileSource = Callable[[Node], GpuChoice | None]
"""The tile, or split, of an operator's kernel; None leaves it to the model."""
GpuScheduleSource = Callable[[Kernel], tuple[Step, ...] | None]
"""The steps of what a kernel computes; None leaves them to tiles and rules."""


def describe_gpu(
    graph: Graph,
    calls: Sequence[Node],
    kept: Sequence[Node],
    limits: GridLimits,
    tiles: GpuTileSource | None = None,
    schedules: GpuScheduleSource | None = None,
) -> HostPart:
    """Find kernels for what of some operators has some; all values lie row by row.

    `calls` are in topological order; values in `kept` are wanted by others. `schedules` chooses the steps of whole kernels; then
    `tiles` the tiles of sums, before the model does.
    """
    groups = find_groups(calls, graph.users(), kept, procedures=False)
    return HostPart(tuple(_described(group, limits, tiles, schedules) for group in groups), {})


def _described(group: Group, limits: GridLimits, tiles: GpuTileSource | None, schedules: GpuScheduleSource | None) -> HostKernel:
    tile = None if tiles is None or group.anchor is None else tiles(group.anchor)
    kernel = build_gpu_kernel(group, limits, tile)
    steps = None if schedules is None else schedules(kernel.kernel)
    program = lower(scheduled(kernel.kernel, steps or kernel.steps))
    for function in program.functions:
        grid_of(function).check(limits)
    return HostKernel(group.nodes, PlacedKernel(named_outline(program), kernel.sources, kernel.constants, group.result))


def compile_gpu(part: HostPart, device: GpuDevice) -> Mapping[str, GpuCode]:
    """Compile the programs for a device; those with the same text once. They are found by the symbol of their first function."""
    return {
        program.symbol(program.functions[0]): device.compile(_source(device, name, part))
        for name, program in part.programs().items()
    }


def _source(device: GpuDevice, name: str, part: HostPart) -> GpuSource:
    return gpu_source(part.programs()[name].lowered(), device.dialect)
