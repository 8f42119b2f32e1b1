"""Kernels on a GPU in the place of the host's reference steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from vta.host.gpu.drivers.open import shared_gpu
from vta.host.gpu.engine import compile_gpu, describe_gpu
from vta.host.gpu.printing.dialects import OPENCL
from vta.host.gpu.printing.printer import gpu_source
from vta.host.gpu.runner import GpuPlanRunner
from vta.host.gpu.splitting import GpuChoice
from vta.host.groups import is_view
from vta.host.loop.grid import GridLimits
from vta.ir.graph import Graph, Node
from vta.records.gpu.knobs import tile_of
from vta.records.gpu.schedules import GpuSchedules
from vta.records.gpu.tiles import shipped_entities
from vta.records.gpu.workload import gpu_workload
from vta.records.knobs import Entity
from vta.runtime.artifact.gpu_host import GpuHost, GpuKnob, GpuTileChoice
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.joined_kernels import host_calls, joined
from vta.runtime.host_part.plan import KernelStep, Plan, make_plan

__all__ = ["TileChoices", "choices_of", "described_kernels", "gpu_options", "gpu_seconds", "with_gpu_kernels"]


def gpu_options(gpu: GpuHost, options: HostOptions) -> HostOptions:
    """The options of a host whose part the GPU computes that a module names. Raises `DeviceError` if there is none here."""
    return replace(options, gpu=shared_gpu(gpu.kind, gpu.ordinal, gpu.platform), gpu_tiles=gpu.tiles, gpu_schedules=gpu.schedules)


def with_gpu_kernels(
    plan: Plan,
    graph: Graph,
    options: HostOptions,
    kept: Collection[Node] = (),
    only: Collection[Node] | None = None,
) -> Plan:
    """Return a plan that gives the same outputs by kernels on the GPU of the options, floats within rounding."""
    device = options.gpu
    assert device is not None, "the options name a GPU"
    chosen, wanted = host_calls(plan, graph, kept, only)
    schedules = GpuSchedules({choice.compute: choice.steps for choice in options.gpu_schedules}, device.limits)
    part = describe_gpu(
        graph, chosen, list(wanted), device.limits, TileChoices(options.gpu_tiles, device.kind, device.name), schedules
    )
    codes = compile_gpu(part, device)
    return joined(plan, graph, part, wanted, lambda kernels: GpuPlanRunner(kernels, codes, device), device.alignment)


def described_kernels(module: CompiledModule) -> tuple[int, list[Node]]:
    """How many kernels the GPU of a module gets, whatever it is, and what of the host part has none. Nothing is compiled."""
    plan = make_plan(module.graph, module.regions)
    chosen, wanted = host_calls(plan, module.graph, (), None)
    part = describe_gpu(module.graph, chosen, list(wanted), GridLimits())
    for program in part.programs().values():
        gpu_source(program.lowered(), OPENCL)
    inside = {node for kernel in part.kernels for node in kernel.nodes}
    return len(part.kernels), [node for node in chosen if node not in inside and not is_view(node)]


class TileChoices:
    """The tile of an operator's kernel: that of a choice, else what the package has for the device."""

    def __init__(self, choices: Sequence[GpuTileChoice], kind: str, model: str) -> None:
        own = {choice.workload: _entity(choice) for choice in choices}
        self._entities = {**shipped_entities(kind, model), **own}

    def __call__(self, node: Node) -> GpuChoice | None:
        """The tile; None to leave it to the model. Raises `TuningError` naming a knob that is wrong."""
        workload = gpu_workload(node)
        entity = None if workload is None else self._entities.get(workload.identity)
        if workload is None or entity is None:
            return None
        return tile_of(entity, workload.name, node.inputs[1].shape[2:])


def choices_of(entities: dict[str, Entity]) -> tuple[GpuTileChoice, ...]:
    """Knobs of workloads as a module holds them."""
    return tuple(
        GpuTileChoice(
            workload, tuple(GpuKnob(name, value if isinstance(value, tuple) else (int(value),)) for name, _, value in entity)
        )
        for workload, entity in entities.items()
    )


def _entity(choice: GpuTileChoice) -> Entity:
    return tuple(
        (knob.name, "sp", knob.values) if len(knob.values) > 1 else (knob.name, "ot", knob.values[0]) for knob in choice.knobs
    )


def gpu_seconds(plan: Plan, number: int) -> float:
    """The mean time of so many runs, at least, of a plan's kernels on a GPU, on what is in its memory."""
    runners = [step.kernels for step in plan.steps if isinstance(step, KernelStep)]
    return sum(runner.seconds(number) for runner in runners if isinstance(runner, GpuPlanRunner))
