"""Building candidates for processors of other machines: modules of one operator, compiled here and run by a server there."""

from __future__ import annotations

from vta.autotune.host.measure import HostJob, host_job
from vta.autotune.host.task import data_layout
from vta.autotune.measure.processes import ProcessBuilder
from vta.config.hardware import HardwareConfig
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.processors import CpuTarget
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, graph_input, with_inputs
from vta.records.host.workload import node_of
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_library.build import build_host_library
from vta.support.dataclass import dataclass

__all__ = ["HostModuleBuilder", "host_module"]


class HostModuleBuilder(ProcessBuilder):
    """Makes modules for an `RPCRunner`, in `n_parallel` worker processes. The servers must run code of their clients."""

    def __init__(self, hw: HardwareConfig, timeout: float = 10.0, n_parallel: int = 1) -> None:
        """`hw` is the config that the servers' devices have."""
        super().__init__(host_module, lambda candidate: (host_job(candidate), hw), timeout, n_parallel)


@dataclass(frozen=True)
class _OneTile:
    """The tile of every convolution."""

    tile: Tile

    def __call__(self, node: Node, layout: Layout, target: CpuTarget) -> Tile:
        return self.tile


def host_module(given: tuple[HostJob, HardwareConfig]) -> CompiledModule:
    """A network of one operator with its library for the processor of a job.

    Poolings of single values around it bring its data into blocks, and out of them, as in the middle of a network.
    """
    job, hw = given
    node = node_of(job.workload)
    data = graph_input("data", node.inputs[0].shape, node.inputs[0].dtype)
    read = _blocked(data) if data_layout(node, job.target).block else data
    operator = with_inputs(node, (read, node.inputs[1]))
    graph = Graph((data,), (_blocked(operator),), "candidate")
    module = CompiledModule(graph, hw, (), (), 0)
    return CompiledModule(graph, hw, (), (), 0, host=build_host_library(module, job.target, tiles=_OneTile(job.tile)))


def _blocked(value: Node) -> Node:
    return call(ops.MAX_POOL2D, [value], pool_size=(1, 1))
