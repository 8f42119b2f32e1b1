"""Loads of a tile come before what computes in it, and what pads outputs is filled in once."""

import numpy as np

from tests.cases.test_products_requantize import RQ, convolution, rescaled
from tests.codegen.test_take_turns import equal, network
from vta.codegen.emit_operators import emit_operators
from vta.codegen.fills import needed_fills
from vta.codegen.loads_first import loads_first
from vta.codegen.memory import plan_memory
from vta.codegen.stream import Loop, Segment, Stream, single_uop
from vta.compiler.compile import graph_regions
from vta.config.targets import MemoryType
from vta.ir.graph import Graph, call, graph_input
from vta.isa import AluOp, Opcode
from vta.isa.instruction import Unit
from vta.schedule.choose import choose_schedule
from vta.schedule.source import EstimatedSchedules


def emitted(graph):
    (region,) = graph_regions(graph, RQ)
    addresses, _ = plan_memory(region.operators, region.inputs, region.outputs, RQ)
    schedules = [operator.scheduled and choose_schedule(operator.scheduled, RQ) for operator in region.operators]
    return emit_operators(region.operators, schedules, (), addresses, RQ).stream


def test_units_keep_their_order_and_loads_come_first():
    stream = emitted(network())
    order = loads_first(stream)
    assert sorted(order.tolist()) == list(range(len(stream)))
    for of_unit in (stream.units == Unit.LOAD, stream.units != Unit.LOAD):
        assert np.all(np.diff(order[of_unit[order]]) > 0)
    np.testing.assert_array_equal(order, np.arange(len(stream)), "emission brings them into this order")


def test_a_load_stays_behind_what_reads_its_rows():
    stream = Stream(RQ)
    stream.tile = 0
    stream.load(MemoryType.INP, 0, Segment.ARENA, 0, 4)
    stream.gemm(single_uop(0, 0, 0), inner=Loop(4, 1, 1))
    stream.load(MemoryType.INP, 4, Segment.ARENA, 0, 4)
    stream.gemm(single_uop(0, 4, 0), inner=Loop(4, 1, 1))
    stream.load(MemoryType.INP, 0, Segment.ARENA, 0, 4)
    stream.gemm(single_uop(0, 0, 0), inner=Loop(4, 1, 1))
    order = loads_first(stream)
    opcodes = stream.instructions["opcode"][order][stream.segments[order] != Segment.UOPS]
    load, gemm = Opcode.LOAD, Opcode.GEMM
    assert opcodes.tolist() == [load, load, gemm, load, gemm, gemm]


def fill(stream, base, rows, value):
    stream.gemm(single_uop(base), inner=Loop(rows, 1), reset=True)
    stream.alu(AluOp.ADD, single_uop(base, base), inner=Loop(rows, 1, 1), imm=value)


def test_a_fill_is_left_out_where_the_rows_hold_the_value():
    stream = Stream(RQ)
    fill(stream, 8, 6, -5)
    fill(stream, 8, 4, -5)
    fill(stream, 8, 6, -4)
    fill(stream, 8, 6, -4)
    stream.alu(AluOp.ADD, single_uop(10, 10), inner=Loop(1, 1, 1), imm=1)
    fill(stream, 8, 6, -4)
    kept = needed_fills(stream)
    kept = kept[stream.segments[kept] != Segment.UOPS]
    assert stream.instructions["iter_in"][kept].tolist() == [6, 6, 6, 6, 1, 6, 6]


def padded_twice():
    x = graph_input("x", (1, 16, 6, 6), "int8")
    for name in ("a", "b", "c"):
        x = rescaled(convolution(x, 16, (1, 1), f"{name}1"), f"{name}1")
        x = call("nn.pad", [x], name, pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=-7)
        x = rescaled(convolution(x, 16, (3, 3), name), name)
    return Graph((x_input(x),), (x,))


def x_input(node):
    while node.inputs:
        node = node.inputs[0]
    return node


def test_operators_that_pad_alike_share_fills():
    compiled = equal(padded_twice(), RQ, EstimatedSchedules())
    rows = compiled.regions[0].program.instructions
    fills = (rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.ADD) & (rows["imm"] == -7)
    assert 1 <= fills.sum() < 3
