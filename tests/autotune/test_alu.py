"""Additions and multiplications as operators of their own."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tile_operators import plain
from vta.autotune.alu import alu_calls, alu_task, require_alu
from vta.autotune.task import alu_workloads
from vta.autotune.usable import task_of_workload
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.errors import TuningError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa import AluOp
from vta.records.workload import Workload
from vta.runtime import Module

HW = HardwareConfig.named("intelfocl")
WIDE = HardwareConfig.named("sim_4x8")
PACKED = (1, 2, 3, 5, 1, 16)


def tensor(shape, dtype="int32"):
    return ("TENSOR", shape, dtype)


def test_calls_of_a_network():
    image = graph_input("x", (1, 20, 3, 5), "int32")
    other = graph_input("y", (1, 20, 3, 5), "int32")
    channels = constant(np.ones((1, 20, 1, 1), np.int32))
    row = graph_input("z", (1, 40), "int32")
    real = graph_input("f", (1, 20, 3, 5), "float32")
    value = call("multiply", [call("add", [call("add", [image, other], "a"), channels], "b"), constant(np.int32(3))], "c")
    outputs = (value, call("add", [row, row], "d"), call("nn.bias_add", [real, constant(np.ones(20, np.float32))], "e"))
    pair, scalar = (tensor(PACKED), tensor(PACKED)), (tensor(PACKED), tensor(()))
    floats = (tensor(PACKED, "float32"), tensor((), "float32"))
    found = alu_calls(Graph((image, other, row, real), outputs), HW)
    assert set(found) == {
        Workload("add.vta", pair),
        Workload("add.vta", scalar),
        Workload("multiply.vta", scalar),
        Workload("add.vta", (tensor((1, 40)), tensor((1, 40)))),
        Workload("add.vta", floats),
    }
    assert len(found) == 5
    assert set(alu_workloads(found)[0]) == {Workload("add.vta", pair), Workload("multiply.vta", pair)}


@given(
    st.sampled_from(["add", "multiply"]),
    st.sampled_from([HW, WIDE]),
    st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6)),
)
@settings(max_examples=25)
def test_a_task_is_what_it_says(name, hw, shape):
    packed = (*shape, hw.batch, hw.block)
    workload = Workload(f"{name}.vta", (tensor(packed), tensor(packed)))
    task = alu_task(workload, hw)
    assert task.workload == workload
    stages = [plain(step) for step in task.operator.epilogue if step.op in (AluOp.MIN, AluOp.MAX)]
    assert sorted(stages) == [(AluOp.MIN, 127), (AluOp.MAX, 0)]
    rng = np.random.default_rng(0)
    inputs = {node.name: rng.integers(-128, 128, node.shape, np.int8) for node in task.graph.inputs}
    left, right = (value.astype(np.int32) for value in inputs.values())
    wanted = np.clip(left + right if name == "add" else left * right, 0, 127).astype(np.int8)
    compiled = compile_graph(task.graph, hw)
    with Module(compiled, SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(inputs).outputs[0], wanted)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload("add.vta", (tensor(PACKED), tensor(()))), "not an addition or a multiplication of two packed tensors"),
        (Workload("add.vta", (tensor((4, 4)), tensor((4, 4)))), "not an addition or a multiplication of two packed tensors"),
        (Workload("conv2d_packed.vta", (tensor(PACKED), tensor(PACKED))), "not an addition or a multiplication"),
        (Workload("add.vta", ()), "not an addition or a multiplication"),
        (Workload("add.vta", (tensor((1, 2, 3, 5, 4, 8)),) * 2), "packed for 4x8; .* has 1x16"),
    ],
)
def test_what_is_no_task(workload, message):
    with pytest.raises(TuningError, match=message):
        alu_task(workload, HW)


def test_targets_that_have_such_operators():
    for name in ("sim", "cycle", "intelfocl"):
        require_alu(HardwareConfig.named(name))
    for name in ("tsim", "pynq", "de10nano"):
        with pytest.raises(TuningError, match=f"{name} has no operators of the ALU alone"):
            require_alu(HardwareConfig.named(name))


@pytest.mark.parametrize("name", ["add.vta", "multiply.vta"])
def test_a_scalar_call_has_the_workload_that_records_name(name):
    """So that a record with a scalar operand is found."""
    workload = Workload(name, (tensor(PACKED), tensor(())))
    assert task_of_workload(workload, HW).workload == workload
    assert task_of_workload(workload, replace(HW, target="pynq")).workload == workload
