"""Building candidates for GPUs of other machines: modules of one operator, compiled where they are loaded."""

from __future__ import annotations

from dataclasses import replace

from vta.autotune.gpu.measure import GpuJob, gpu_job, gpu_kernel_source
from vta.autotune.measure.processes import ProcessBuilder
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph
from vta.records.gpu.knobs import entity_of_tile
from vta.records.gpu.workload import node_of
from vta.runtime.artifact.gpu_host import GpuHost
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.gpu_kernels import choices_of

__all__ = ["GpuModuleBuilder", "gpu_module"]


class GpuModuleBuilder(ProcessBuilder):
    """Makes modules for an `RPCRunner`, in `n_parallel` worker processes."""

    def __init__(self, gpu: GpuHost, hw: HardwareConfig, timeout: float = 10.0, n_parallel: int = 1) -> None:
        """`gpu` says which GPU of a server, `hw` is the config that the servers' devices have."""
        super().__init__(gpu_module, lambda candidate: (gpu_job(candidate), gpu, hw), timeout, n_parallel)


def gpu_module(given: tuple[GpuJob, GpuHost, HardwareConfig]) -> CompiledModule:
    """A network of one operator, whose kernel has the tile of a job."""
    job, gpu, hw = given
    gpu_kernel_source(job)
    node = node_of(job.workload)
    tiles = choices_of({job.workload.identity: entity_of_tile(job.tile, job.workload.name)})
    graph = Graph(tuple(item for item in node.inputs if item.value is None), (node,), "candidate")
    return CompiledModule(graph, hw, (), (), 0, gpu=replace(gpu, tiles=tiles))
