"""Running the host part of a module by the library that came with it."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import ArtifactError
from vta.host.llvm.opened_library import OpenedLibrary
from vta.host.plan import KernelCall, KernelPlan, Place, PlanCheck, PlanTensor
from vta.host.processors import missing_features
from vta.host.runner import PlanRunner, WorkerThreads, address
from vta.ir.graph import Node
from vta.runtime.artifact.host_plan import (
    HostLibrary,
    PlannedKernels,
    PlannedProcessor,
    PlannedRegion,
    PlannedTensor,
    PlannedValue,
)
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_library.trust import is_trusted
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep, KernelStep, Plan, RegionStep, Step, with_deaths
from vta.support.shorten import shown
from vta.tile.packing import packed_image_shape

__all__ = ["check_processor", "library_plan", "plan_of_library"]

Array = NDArray[Any]
_ALIGNMENT = 64
_IMAGE_AXES, _PACKED_AXES = 4, 5


def check_processor(processor: PlannedProcessor) -> None:
    """Raise `ArtifactError` unless this machine runs code for `processor`, saying what it is for and what is here."""
    here = platform.machine()
    if processor.machine != here:
        raise ArtifactError(f"its host part was compiled for {processor.machine} ({processor.triple}); this machine is {here}")
    missing = missing_features(processor.requires)
    if missing:
        lacking = ", ".join(missing)
        raise ArtifactError(f"its host part was compiled for {processor.cpu}; the processor of this machine lacks {lacking}")


def library_plan(module: CompiledModule, library: HostLibrary, options: HostOptions) -> Plan | None:
    """The plan of a module by the library that came with it; None if that is not to be run here, or others are asked for.

    Raises `ArtifactError` if the library is for another processor and `options` refuse that, or if it is damaged.
    """
    try:
        check_processor(library.plan.processor)
    except ArtifactError:
        if options.refuses_foreign:
            raise
        return None
    if options.records or (not options.trusted and not is_trusted(library)):
        return None
    return plan_of_library(module, library, options.threads)


def plan_of_library(module: CompiledModule, library: HostLibrary, threads: int = 1) -> Plan:
    """The plan of a module, by the kernels of the library that came with it.

    Raises `ArtifactError` if the library is for another processor, or damaged.
    """
    check_processor(library.plan.processor)
    loader = _Loader(module, library, WorkerThreads(threads))
    steps = [loader.step(step.kind, step.index) for step in library.plan.steps]
    outputs = tuple(output.value for output in library.plan.outputs)
    initial = tuple(loader.constant(value) for value in library.plan.values)
    kept = {at for at, array in enumerate(initial) if array is not None} | set(outputs)
    return Plan(tuple(with_deaths(steps, kept)), initial, tuple(item.value for item in library.plan.inputs), outputs)


class _Loader:
    """Makes steps of what a file says of them."""

    def __init__(self, module: CompiledModule, library: HostLibrary, threads: WorkerThreads) -> None:
        self._module = module
        self._nodes: list[Node] = module.graph.nodes()
        self._plan = library.plan
        self._threads = threads
        self._constants = _aligned(len(library.constants))
        self._constants[:] = np.frombuffer(library.constants, np.uint8)
        self._code = OpenedLibrary(library.code, {call.symbol for item in self._plan.kernels for call in item.calls})

    def constant(self, value: PlannedValue) -> Array | None:
        """The value, if it is a constant."""
        if value.place != "constants":
            return None
        found: Array = np.ndarray(value.shape, value.dtype, self._constants.data, value.offset)
        return found

    def step(self, kind: str, index: int) -> Step:
        """A step."""
        if kind == "kernels":
            return self._kernels(self._plan.kernels[index])
        if kind == "region":
            return self._region(self._plan.regions[index])
        operator = self._plan.operators[index]
        return HostStep(self._nodes[operator.node], operator.sources, operator.target)

    def _region(self, item: PlannedRegion) -> RegionStep:
        sources, targets = (tuple(tensor.value for tensor in group) for group in (item.inputs, item.outputs))
        region = self._module.regions[item.index]
        pairs = ((item.inputs, region.inputs), (item.outputs, region.outputs))
        packed = {
            binding.node
            for planned, bindings in pairs
            for tensor, binding in zip(planned, bindings, strict=True)
            if self._lies_packed(tensor.value, binding.node, region.program.hw)
        }
        return RegionStep(region, item.index, sources, targets, packed=frozenset(packed))

    def _lies_packed(self, value: int, node: Node, hw: HardwareConfig) -> bool:
        """Whether the value of a region lies as on the device."""
        shape = self._plan.values[value].shape
        if len(shape) != _PACKED_AXES:
            return False
        if len(node.shape) != _IMAGE_AXES or shape != packed_image_shape(node.shape, hw):
            raise ArtifactError(f"host plan.values[{value}].shape is {shape}; {shown(node.name)} does not lie so on the device")
        return True

    def _kernels(self, item: PlannedKernels) -> KernelStep:
        constants: list[Array] = []
        table: list[Place] = []
        for place in item.table:
            if place.kind == "constant":
                table.append(Place("constant", len(constants)))
                constants.append(self._constants[place.at : place.at + place.nbytes])
            else:
                table.append(Place(place.kind, place.at))  # type: ignore[arg-type]
        calls = tuple(KernelCall(call.symbol, call.buffers, call.extent, call.kernel) for call in item.calls)
        inputs, outputs = tuple(map(self._tensor, item.inputs)), tuple(map(self._tensor, item.outputs))
        checks = tuple(PlanCheck(check.low, check.high, check.least, check.most, check.message) for check in item.checks)
        plan = KernelPlan(tuple(table), (), inputs, outputs, tuple(constants), item.arena_bytes, calls, checks)
        nodes = tuple(self._nodes[node] for node in item.nodes)
        sources, targets = (tuple(tensor.value for tensor in group) for group in (item.inputs, item.outputs))
        return KernelStep(PlanRunner(plan, self._code, self._threads), nodes, sources, targets)

    def _tensor(self, tensor: PlannedTensor) -> PlanTensor:
        value = self._plan.values[tensor.value]
        return PlanTensor(value.shape, value.dtype, tensor.place)


def _aligned(nbytes: int) -> NDArray[np.uint8]:
    """New memory at an address that vectors like."""
    memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -address(memory) % _ALIGNMENT
    return memory[start : start + nbytes]
