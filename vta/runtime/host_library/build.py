"""From a compiled network to its host library and plan."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import field, fields, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.arena import Lifetime, place
from vta.codegen.region_program import TensorBinding
from vta.config.hardware import HardwareConfig
from vta.config.targets import TARGETS
from vta.errors import VTAError
from vta.host.engine import host_objects
from vta.host.kernels.products.convolution_shape import TileSource
from vta.host.llvm.link import link_library
from vta.host.plan import KernelPlan, PlanTensor
from vta.host.processors import CpuTarget
from vta.runtime.artifact.compatibility import check_compatible
from vta.runtime.artifact.host_plan import (
    CHECKED_VERSION,
    PACKED_VERSION,
    PLAN_VERSION,
    HostLibrary,
    HostPlan,
    NamedValue,
    PlannedBinding,
    PlannedCall,
    PlannedCheck,
    PlannedHardware,
    PlannedKernels,
    PlannedOperator,
    PlannedPlace,
    PlannedProcessor,
    PlannedRegion,
    PlannedStep,
    PlannedTensor,
    PlannedValue,
)
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_library.trust import trust
from vta.runtime.host_part.host_kernels import host_part, packable, with_packed
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.joined_kernels import joined
from vta.runtime.host_part.plan import HostStep, KernelRun, KernelStep, Plan, RegionStep, Step, make_plan
from vta.runtime.values.outputs import output_names
from vta.support.dataclass import dataclass
from vta.tile.packing import packed_image_shape

__all__ = ["build_host_library"]

Array = NDArray[Any]
_ALIGNMENT = 64


def build_host_library(
    module: CompiledModule, target: CpuTarget, records: Sequence[Path] = (), tiles: TileSource | None = None
) -> HostLibrary:
    """Compile the host part of a module for a processor; operators without a kernel are in the plan as such.

    `records` are logs whose schedules come before those that are known here; `tiles` take the place of all records.
    Raises `CompileError` if there is no linker, saying how to get one.
    """
    plain = make_plan(module.graph, module.regions)
    packed = packable(plain, module.graph, target)
    part, wanted = host_part(plain, module.graph, target, HostOptions(records=tuple(records)), tiles=tiles, packed=packed)
    objects = host_objects(part, target)
    code = link_library(objects, target.architecture) if objects else b""
    plan = with_packed(joined(plain, module.graph, part, wanted, _NotRun), frozenset(packed & set(part.layouts)))
    builder = _Builder(module, plan)
    for at, step in enumerate(plan.steps):
        builder.add(at, step)
    library = HostLibrary(builder.finished(target), code, bytes(builder.constants))
    trust(library)
    return library


@dataclass(frozen=True)
class _NotRun(KernelRun):
    """A plan of kernels for another time."""

    plan: KernelPlan


@dataclass
class _Builder:
    """What has been planned so far; values are those of the slots of a plan."""

    module: CompiledModule
    plan: Plan
    constants: bytearray = field(default_factory=bytearray)
    kernels: list[PlannedKernels] = field(default_factory=list)
    regions: list[PlannedRegion] = field(default_factory=list)
    operators: list[PlannedOperator] = field(default_factory=list)
    steps: list[PlannedStep] = field(default_factory=list)
    values: dict[int, PlannedValue] = field(default_factory=dict)
    """By slot."""
    kept: dict[bytes, int] = field(default_factory=dict)
    """Where each constant lies, by its digest."""
    lives: dict[int, tuple[int, int]] = field(default_factory=dict)
    """First and last step of each value of the arena, by slot."""
    packed: bool = False
    """Whether a region's value lies as on the device."""

    def __post_init__(self) -> None:
        self.nodes = {node: at for at, node in enumerate(self.module.graph.nodes())}
        for slot, array in enumerate(self.plan.initial):
            if array is not None:
                self.values[slot] = PlannedValue(array.dtype.name, array.shape, "constants", self._constant(array))
        for slot, node in zip(self.plan.inputs, self.module.graph.inputs, strict=True):
            self._use(slot, node.dtype, node.shape, 0)

    def add(self, at: int, step: Step) -> None:
        """Add the step number `at`."""
        if isinstance(step, KernelStep):
            assert isinstance(step.kernels, _NotRun)
            self._add_kernels(at, step, step.kernels.plan)
        elif isinstance(step, RegionStep):
            self._add_region(at, step)
        else:
            self._add_operator(at, step)

    def finished(self, target: CpuTarget) -> HostPlan:
        """The plan, with a place in the arena for every value."""
        graph = self.module.graph
        for slot, node in zip(self.plan.outputs, graph.outputs, strict=True):
            self._use(slot, node.dtype, node.shape, len(self.plan.steps))
        slots = sorted(self.lives)
        offsets, arena_bytes = place([Lifetime(_padded(_nbytes(self.values[slot])), *self.lives[slot]) for slot in slots])
        for slot, offset in zip(slots, offsets, strict=True):
            self.values[slot] = replace(self.values[slot], offset=offset)
        # Slots that only operators inside of kernels had are in no step any more.
        unused = PlannedValue("int8", (0,), "arena", 0)
        inputs = zip((node.name for node in graph.inputs), self.plan.inputs, strict=True)
        outputs = zip(output_names(graph), self.plan.outputs, strict=True)
        return HostPlan(
            version=self.version,
            processor=PlannedProcessor(target.architecture.machine, target.triple, target.cpu, target.requires),
            hardware=_hardware(self.module.hw),
            arena_bytes=arena_bytes,
            values=tuple(self.values.get(slot, unused) for slot in range(len(self.plan.initial))),
            inputs=tuple(NamedValue(name, slot) for name, slot in inputs),
            outputs=tuple(NamedValue(name, slot) for name, slot in outputs),
            kernels=tuple(self.kernels),
            regions=tuple(self.regions),
            operators=tuple(self.operators),
            steps=tuple(self.steps),
        )

    @property
    def version(self) -> int:
        """The first one that has all that there is."""
        if any(item.checks for item in self.kernels):
            return CHECKED_VERSION
        return PACKED_VERSION if self.packed else PLAN_VERSION

    def _add_kernels(self, at: int, step: KernelStep, plan: KernelPlan) -> None:
        places = [
            PlannedPlace("constant", self._constant(plan.constants[place.at]), plan.constants[place.at].nbytes)
            if place.kind == "constant"
            else PlannedPlace(place.kind, place.at, 0)
            for place in plan.table
        ]
        inputs = [self._tensor(slot, tensor, at) for slot, tensor in zip(step.sources, plan.inputs, strict=True)]
        outputs = [self._tensor(slot, tensor, at) for slot, tensor in zip(step.targets, plan.outputs, strict=True)]
        calls = tuple(PlannedCall(call.symbol, call.buffers, call.extent, call.kernel) for call in plan.calls)
        nodes = tuple(self.nodes[node] for node in step.nodes)
        checks = tuple(PlannedCheck(item.low, item.high, item.least, item.most, item.message) for item in plan.checks)
        self.kernels.append(PlannedKernels(nodes, tuple(places), tuple(inputs), tuple(outputs), plan.arena_bytes, calls, checks))
        self.steps.append(PlannedStep("kernels", len(self.kernels) - 1))

    def _add_region(self, at: int, step: RegionStep) -> None:
        program = step.region.program

        def planned(slot: int, binding: TensorBinding) -> PlannedBinding:
            packed = binding.node in step.packed
            shape = packed_image_shape(binding.node.shape, program.hw) if packed else binding.node.shape
            self._use(slot, binding.node.dtype, shape, at)
            self.packed |= packed
            return PlannedBinding(slot, program.symbol(binding.symbol).offset, binding.planes)

        inputs = tuple(map(planned, step.sources, step.region.inputs))
        outputs = tuple(map(planned, step.targets, step.region.outputs))
        self.regions.append(PlannedRegion(step.region.name, step.index, program.image_bytes, inputs, outputs))
        self.steps.append(PlannedStep("region", len(self.regions) - 1))

    def _add_operator(self, at: int, step: HostStep) -> None:
        for slot, node in zip((*step.sources, step.target), (*step.node.inputs, step.node), strict=True):
            self._use(slot, node.dtype, node.shape, at)
        node = step.node
        self.operators.append(PlannedOperator(node.name, node.op, self.nodes[node], step.sources, step.target))
        self.steps.append(PlannedStep("operator", len(self.operators) - 1))

    def _tensor(self, slot: int, tensor: PlanTensor, at: int) -> PlannedTensor:
        self._use(slot, tensor.dtype, tensor.shape, at)
        return PlannedTensor(slot, tensor.place)

    def _use(self, slot: int, dtype: str, shape: tuple[int, ...], at: int) -> None:
        """Step `at` needs the value of a slot."""
        found = self.values.setdefault(slot, PlannedValue(dtype, shape, "arena", 0))
        if found.place == "arena":
            first, _ = self.lives.get(slot, (at, at))
            self.lives[slot] = (first, at)

    def _constant(self, array: Array) -> int:
        """Where a constant lies among those of the file."""
        data = np.ascontiguousarray(array)
        content = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        key = hashlib.sha256(content).digest()
        if key not in self.kept:
            self.kept[key] = len(self.constants)
            self.constants += content + bytes(-len(content) % _ALIGNMENT)
        return self.kept[key]


def _nbytes(value: PlannedValue) -> int:
    return prod(value.shape) * np.dtype(value.dtype).itemsize


def _padded(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _hardware(hw: HardwareConfig) -> PlannedHardware:
    sizes = {item.name: getattr(hw, item.name) for item in fields(PlannedHardware) if item.name != "targets"}
    return PlannedHardware(**sizes, targets=tuple(name for name in TARGETS if _runs_on(hw, name)))


def _runs_on(hw: HardwareConfig, target: str) -> bool:
    try:
        check_compatible(hw, replace(hw, target=target))
    except VTAError:
        return False
    return True
