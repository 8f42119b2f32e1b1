"""How a compiled network is run with its host library: plain data beside the code.

A list of values, and steps that read and write them: plans of kernels (`vta.host.plan`), regions of the device, and operators for
which there is no kernel. `native/runtime/plan/plan.cc` reads the same.
"""

from __future__ import annotations

from vta.support.dataclass import dataclass

__all__ = [
    "CHECKED_VERSION",
    "PACKED_VERSION",
    "PLAN_VERSION",
    "HostLibrary",
    "HostPlan",
    "NamedValue",
    "PlannedBinding",
    "PlannedCall",
    "PlannedCheck",
    "PlannedHardware",
    "PlannedKernels",
    "PlannedOperator",
    "PlannedPlace",
    "PlannedProcessor",
    "PlannedRegion",
    "PlannedStep",
    "PlannedTensor",
    "PlannedValue",
]

PLAN_VERSION, PACKED_VERSION, CHECKED_VERSION = 1, 2, 3
"""Versions of plans; those of the second may have values of regions that lie in the arena as on the device, those of the third
kernels with something to look at when they have run, too."""


@dataclass(frozen=True)
class PlannedProcessor:
    """What the library runs on."""

    machine: str
    """What ``uname -m`` says there."""
    triple: str
    cpu: str
    requires: tuple[str, ...]
    """Features, by LLVM's names."""


@dataclass(frozen=True)
class PlannedHardware:
    """What the programs of the regions run on."""

    log_inp_width: int
    log_wgt_width: int
    log_acc_width: int
    log_batch: int
    log_block: int
    log_uop_buff_size: int
    log_inp_buff_size: int
    log_wgt_buff_size: int
    log_acc_buff_size: int
    requantize_unit: int
    table_unit: int
    depthwise_unit: int
    targets: tuple[str, ...]
    """Each TARGET whose hardware runs them."""


@dataclass(frozen=True)
class PlannedValue:
    """A value between steps."""

    dtype: str
    shape: tuple[int, ...]
    """As it lies in memory."""
    place: str
    """``arena``, or ``constants``: those of the file."""
    offset: int
    """Bytes from the start of the place."""


@dataclass(frozen=True)
class NamedValue:
    """An input or an output of the network."""

    name: str
    value: int


@dataclass(frozen=True)
class PlannedPlace:
    """An entry of the table of a plan of kernels: see `vta.host.plan.Place`."""

    kind: str
    at: int
    """Of a constant: bytes from the start of the file's constants."""
    nbytes: int
    """Of a constant; 0 for others."""


@dataclass(frozen=True)
class PlannedTensor:
    """What a plan of kernels takes or gives."""

    value: int
    place: int
    """Position in the plan's table."""


@dataclass(frozen=True)
class PlannedCall:
    """A call of a function of the library: see `vta.host.plan.KernelCall`."""

    symbol: str
    buffers: tuple[int, ...]
    extent: int
    kernel: int


@dataclass(frozen=True)
class PlannedCheck:
    """What is looked at when kernels have run: see `vta.host.plan.PlanCheck`."""

    low: int
    high: int
    least: int
    most: int
    message: str


@dataclass(frozen=True)
class PlannedKernels:
    """Kernels that follow each other: see `vta.host.plan.KernelPlan`."""

    nodes: tuple[int, ...]
    """Position in the graph of what each kernel gives."""
    table: tuple[PlannedPlace, ...]
    inputs: tuple[PlannedTensor, ...]
    outputs: tuple[PlannedTensor, ...]
    arena_bytes: int
    calls: tuple[PlannedCall, ...]
    checks: tuple[PlannedCheck, ...] = ()


@dataclass(frozen=True)
class PlannedBinding:
    """A tensor in the image of a region, packed as (N/b, C/c, H, W, b, c), tails zero.

    A value of five dimensions, (N, C/c, H, W, c), lies as in the image of a device with one row of batches.
    """

    value: int
    offset: int
    """Bytes from the start of the image."""
    planes: int
    """1 for int8; 4 for int32, stored as byte planes, lowest first."""


@dataclass(frozen=True)
class PlannedRegion:
    """A program of the file's, and where its tensors lie."""

    name: str
    index: int
    """Its position among the file's regions."""
    image_bytes: int
    inputs: tuple[PlannedBinding, ...]
    outputs: tuple[PlannedBinding, ...]


@dataclass(frozen=True)
class PlannedOperator:
    """An operator without a kernel, which only Python computes."""

    name: str
    op: str
    node: int
    """Position in the graph."""
    sources: tuple[int, ...]
    target: int


@dataclass(frozen=True)
class PlannedStep:
    """What is done next."""

    kind: str
    """``kernels``, ``region`` or ``operator``."""
    index: int
    """Among those of its kind."""


@dataclass(frozen=True)
class HostPlan:
    """The whole plan."""

    version: int
    processor: PlannedProcessor
    hardware: PlannedHardware
    arena_bytes: int
    values: tuple[PlannedValue, ...]
    inputs: tuple[NamedValue, ...]
    outputs: tuple[NamedValue, ...]
    kernels: tuple[PlannedKernels, ...]
    regions: tuple[PlannedRegion, ...]
    operators: tuple[PlannedOperator, ...]
    steps: tuple[PlannedStep, ...]

    @property
    def kernel_count(self) -> int:
        """Kernels in all steps."""
        return sum(len(item.nodes) for item in self.kernels)


@dataclass(frozen=True)
class HostLibrary:
    """The compiled host part of a network."""

    plan: HostPlan
    code: bytes
    """A shared library; empty without kernels."""
    constants: bytes
