"""Rows and tables of what layers cost and where they ran."""

import io

import numpy as np

from vta.codegen.region_program import OperatorRecord, Placement, RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.devices.device import Counters
from vta.ir.graph import Graph, call, graph_input
from vta.isa import Program, blank_instructions
from vta.report.layers import layer_rows, layer_table, placement_rows, placement_table
from vta.report.table import write_table
from vta.runtime.compiled_module import CompiledModule

HW = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17)


def module():
    x = graph_input("x", (1, 16), "int8")
    y = call("negative", [x], "layer1")
    program = Program(HW, blank_instructions(0), np.zeros(0, np.uint8), 0, ())
    record = OperatorRecord("layer1/conv2d", "conv2d", 4608, TensorBinding(y, "y"), 0)
    region = RegionProgram("region0", program, (TensorBinding(x, "x"),), (TensorBinding(y, "y"),), (record,))
    placements = (
        Placement("layer1", "nn.conv2d", "vta", "layer1/conv2d"),
        Placement("layer1", "clip", "vta", "layer1/conv2d"),
        Placement("layer1", "tanh", "host", "no VTA instruction computes it"),
        Placement("layer2", "nn.softmax", "host", "float"),
    )
    return CompiledModule(Graph((x,), (y,)), HW, (region,), placements, 4608)


def shown(table):
    stream = io.StringIO()
    write_table(table, stream)
    return stream.getvalue()


def test_one_row_for_each_vta_operator():
    counters = Counters(
        inp_bytes=10, wgt_bytes=20, acc_bytes=30, uop_bytes=40, out_bytes=50, gemm_uops=7, alu_uops=5, reset_uops=3
    )
    (row,) = layer_rows(module(), {"layer1/conv2d": counters})
    assert (row.layer, row.operator, row.kind, row.region) == ("layer1", "layer1/conv2d", "conv2d", "region0")
    assert (row.macs, row.counters) == (4608, counters)
    text = shown(layer_table([row, row]))
    line = next(line for line in text.splitlines() if "layer1" in line)
    assert line.replace("│", " ").split() == ["layer1/conv2d", "conv2d", "4,608", "12", "10", "20", "30", "40", "50"]
    assert "9,216" in text


def test_neighbors_of_one_layer_place_and_reason_share_a_row():
    rows = placement_rows(module())
    assert [(row.layer, row.ops, row.where) for row in rows] == [
        ("layer1", ("nn.conv2d", "clip"), "vta"),
        ("layer1", ("tanh",), "host"),
        ("layer2", ("nn.softmax",), "host"),
    ]
    assert "no VTA instruction computes it" in shown(placement_table(rows))
