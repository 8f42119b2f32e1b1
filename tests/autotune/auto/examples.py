"""Small networks and kernels whose schedules can be searched."""

from collections.abc import Sequence

import numpy as np

from tests.host.computes import convolution, relu_of
from vta.autotune.auto.cpu.limits import Limits, limits_of
from vta.autotune.auto.cpu.machine import cpu_machine
from vta.autotune.auto.cpu.tasks import cpu_tasks
from vta.autotune.auto.space import Made
from vta.autotune.auto.task import AutoTask
from vta.host.llvm.target import host_target
from vta.host.loop.compute import Kernel
from vta.host.loop.nest import Program
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.records.measurement import ErrorKind, Measurement, failed

LIMITS = Limits(vector_bytes=16, registers=8)
"""Of a small processor, so that small kernels have something to choose."""
MACHINE = cpu_machine(host_target(), LIMITS)


def small_kernel(**sizes) -> Kernel:
    return relu_of(convolution(**{"rows": 4, "columns": 6, "channels": 4, "outputs": 8, "kernel": 2, **sizes}))


def tasks_of(outputs: Sequence[Node], *inputs: Node) -> tuple[AutoTask, ...]:
    target = host_target()
    graph = Graph(tuple(inputs), tuple(outputs), "net")
    return cpu_tasks(graph, graph.calls(), list(outputs), cpu_machine(target, limits_of(target)))


def convolutions(channels=16, outputs=32, size=6, kernel=3) -> tuple[AutoTask, ...]:
    """Two equal convolutions between a first one and a pooling."""
    rng = np.random.default_rng(0)

    def layer(data: Node, width: int, reach: int) -> Node:
        weight = constant(rng.standard_normal((width, data.shape[1], reach, reach)).astype(np.float32))
        attributes = {"strides": (1, 1), "padding": (reach // 2,) * 4, "dilation": (1, 1), "groups": 1}
        return call(ops.RELU, [call(ops.CONV2D, [data, weight], **attributes)])

    data = graph_input("data", (1, channels, size, size), "float32")
    value = layer(data, outputs, 1)
    for _ in range(2):
        value = layer(value, outputs, kernel)
    return tasks_of([call(ops.GLOBAL_AVG_POOL2D, [value])], data)


class ModelMeasure:
    """Takes the analytic model for the truth; what is in `bad` fails."""

    def __init__(self, *bad: int) -> None:
        self.bad = bad
        self.timed = 0
        self.batches: list[str] = []

    def default(self, task: AutoTask) -> Measurement:
        return Measurement((self._cycles(task, task.default) / 1e9,))

    def measure(self, task: AutoTask, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        if not thorough:
            self.batches.append(task.name)
        return [self._one(task, item.program) for item in made]

    def close(self) -> None:
        pass

    def _one(self, task: AutoTask, program: Program) -> Measurement:
        self.timed += 1
        if self.timed in self.bad:
            return failed(ErrorKind.RUN_TIMEOUT, "took longer than 1 s")
        return Measurement((self._cycles(task, program) / self._cycles(task, task.default),))

    def _cycles(self, task: AutoTask, program: Program) -> float:
        return task.machine.figures(program).cycles
