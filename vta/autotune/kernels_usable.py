"""Whether a record of a kernel, of the host or of a GPU, can be used, without the network that it was made for."""

from __future__ import annotations

from functools import lru_cache

from vta.autotune.host.task import data_layout
from vta.errors import VTAError
from vta.host.kernels.products.convolution_shape import ConvolutionShape, convolution_shape
from vta.host.llvm.target import cpu_target, host_target
from vta.host.processors import CpuTarget
from vta.records.gpu.knobs import tile_of as gpu_tile_of
from vta.records.gpu.workload import WORKLOADS
from vta.records.host.knobs import tile_of
from vta.records.host.steps import steps_of
from vta.records.host.timed_again import AUTO_WORKLOAD
from vta.records.host.workload import CONVOLUTION, DEPTHWISE, node_of
from vta.records.record import Record
from vta.records.workload import Workload
from vta.support.shorten import printable, shown

__all__ = ["kernel_problem"]

_LONGEST_REASON = 300
_KINDS = ("llvm", "opencl", "cuda")


def kernel_problem(record: Record) -> str:
    """Why a record for a processor or a GPU cannot be used there; empty if it can."""
    name = record.workload.name
    of_host = name in (CONVOLUTION, DEPTHWISE)
    if record.target.split(maxsplit=1)[:1] not in [[kind] for kind in _KINDS] or not (
        of_host or name in (AUTO_WORKLOAD, *WORKLOADS)
    ):
        return f"target {shown(record.target)} is not VTA"
    if record.error:
        return f"the trial failed with error {record.error}"
    try:
        if of_host:
            if target := _processor(record.target):
                tile_of(record.entity, _shape(record.workload, target), target)
        elif name == AUTO_WORKLOAD:
            steps_of(record.entity)
        else:
            gpu_tile_of(record.entity, name, ())
    except VTAError as error:
        return printable(str(error), _LONGEST_REASON)
    return ""


@lru_cache(maxsize=64)
def _processor(text: str) -> CpuTarget | None:
    """The processor that a record's target names; None if it is one whose registers only LLVM on such a machine knows."""
    options = dict(word[1:].split("=", 1) for word in text.split() if word.startswith("-") and "=" in word)
    triple, cpu = options.get("mtriple"), options.get("mcpu")
    here = host_target()
    if (triple, cpu) == (here.triple, here.cpu):
        return here
    cpu_target(triple)
    try:
        return cpu_target(triple, cpu)
    except VTAError:
        return None


@lru_cache(maxsize=256)
def _shape(workload: Workload, target: CpuTarget) -> ConvolutionShape:
    """What the tiles of a workload depend on."""
    node = node_of(workload)
    return convolution_shape(node, data_layout(node, target), target)
