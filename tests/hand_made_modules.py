"""A compiled module made by hand: two VTA operators in one region, with host operators around it."""

import numpy as np
import pytest

from vta.codegen.region_program import OperatorRecord, Placement, RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa import UOP_DTYPE, AluOp, Opcode, Program, Symbol, SymbolKind, blank_instructions, encode_uops
from vta.runtime.compiled_module import CompiledModule
from vta.tile.packing import packed_nbytes

SHAPE = (2, 20, 3, 3)
PAGE = 4096


def make_hardware(log_batch: int = 0, target: str = "sim") -> HardwareConfig:
    return HardwareConfig(
        target=target,
        hw_version="0.0.2",
        log_inp_width=3,
        log_wgt_width=3,
        log_acc_width=5,
        log_batch=log_batch,
        log_block=4,
        log_uop_buff_size=12,
        log_inp_buff_size=14,
        log_wgt_buff_size=16,
        log_acc_buff_size=15,
    )


def _int8(value, name):
    clipped = call("clip", [value], name, a_min=-128, a_max=127)
    return call("cast", [clipped], name, dtype="int8")


def make_graph(inputs=2):
    """Maximum with -100 on the host; saturating sum; maximum with 3; on the host, times 3 plus a half as float."""
    given = tuple(graph_input(name, SHAPE, "int8") for name in ("a", "b")[:inputs])
    a, b = given[0], given[-1]
    qa, qb = (call("maximum", [x, constant(np.int8(-100))], "bound") for x in (a, b))
    wide_a, wide_b = (call("cast", [x], "sum", dtype="int32") for x in (qa, qb))
    total = _int8(call("add", [wide_a, wide_b], "sum"), "sum")
    wide = call("cast", [total], "floor", dtype="int32")
    floor = _int8(call("maximum", [wide, constant(np.int32(3))], "floor"), "floor")
    real = call("cast", [floor], "real", dtype="float32")
    scaled = call("multiply", [real, constant(np.float32(3))], "scale")
    graph = Graph(given, (call("add", [scaled, constant(np.float32(0.5))], "shift"),))
    return graph, (qa, qb, total, floor)


def _move(opcode, memory, sram, dram, count, **tokens):
    row = blank_instructions(1)
    for name, value in (("opcode", opcode), ("memory_type", memory), ("sram_base", sram), ("dram_base", dram)):
        row[name] = value
    row["y_size"] = 1
    row["x_size"] = row["x_stride"] = count
    for name, value in tokens.items():
        row[name] = value
    return row


def _alu(op, count, uop, imm=None, **tokens):
    row = blank_instructions(1)
    row["opcode"], row["alu_opcode"] = Opcode.ALU, op
    row["uop_bgn"], row["uop_end"] = uop, uop + 1
    row["iter_out"], row["iter_in"] = 1, count
    row["dst_factor_in"] = row["src_factor_in"] = 1
    if imm is not None:
        row["use_imm"], row["imm"] = 1, imm
    for name, value in tokens.items():
        row[name] = value
    return row


def make_program(hw, sum_op=AluOp.ADD):
    """Return the program and the number of instructions of its first operator."""
    size = packed_nbytes(SHAPE, hw)
    count = size // hw.elem_bytes(MemoryType.OUT)
    offsets = {name: PAGE + index * (-(-size // PAGE) * PAGE) for index, name in enumerate(("a", "b", "sum", "floor"))}
    rows = {name: offset // hw.elem_bytes(MemoryType.OUT) for name, offset in offsets.items()}
    uops = np.zeros(2, UOP_DTYPE)
    uops["src"] = [count, 0]
    load, store = Opcode.LOAD, Opcode.STORE
    first = [
        _move(load, MemoryType.UOP, 0, 0, 2),
        _move(load, MemoryType.ACC_8BIT, 0, rows["a"], count),
        _move(load, MemoryType.ACC_8BIT, count, rows["b"], count),
        _alu(sum_op, count, 0),
        _alu(AluOp.MIN, count, 1, imm=127),
        _alu(AluOp.MAX, count, 1, imm=-128, push_next=1),
        _move(store, MemoryType.OUT, 0, rows["sum"], count, pop_prev=1, push_prev=1),
    ]
    finish = blank_instructions(1)
    finish["opcode"] = Opcode.FINISH
    second = [
        _move(load, MemoryType.ACC_8BIT, 0, rows["sum"], count, pop_next=1),
        _alu(AluOp.MAX, count, 1, imm=3, push_next=1),
        _move(store, MemoryType.OUT, 0, rows["floor"], count, pop_prev=1, push_prev=1),
        _move(load, MemoryType.UOP, 0, 0, 0, y_size=0, pop_next=1),
        finish,
    ]
    kinds = {"a": SymbolKind.INPUT, "b": SymbolKind.INPUT, "sum": SymbolKind.SCRATCH, "floor": SymbolKind.OUTPUT}
    symbols = tuple(Symbol(name, kind, offsets[name], size) for name, kind in kinds.items())
    program = Program(
        hw=hw,
        instructions=np.concatenate(first + second),
        image=encode_uops(uops, hw).view(np.uint8),
        image_bytes=offsets["floor"] + size,
        symbols=(Symbol("uops", SymbolKind.UOP, 0, 8), *symbols),
        operators=("sum", "floor"),
        operator_index=np.array([0] * len(first) + [1] * len(second), np.int32),
        tile_index=np.zeros(len(first) + len(second), np.int32),
    )
    return program, len(first)


def make_module(hw=None, sum_op=AluOp.ADD, inputs=2):
    """The module; with another `sum_op` than ADD its first operator computes something wrong.

    With one input, `a` stands in for `b`.
    """
    hw = hw or make_hardware()
    graph, (qa, qb, total, floor) = make_graph(inputs)
    program, middle = make_program(hw, sum_op)
    bind = {node: TensorBinding(node, name) for node, name in ((qa, "a"), (qb, "b"), (total, "sum"), (floor, "floor"))}
    records = (
        OperatorRecord("sum", "add", 0, bind[total], middle),
        OperatorRecord("floor", "alu", 0, bind[floor], len(program.instructions)),
    )
    region = RegionProgram("region0", program, (bind[qa], bind[qb]), (bind[floor],), records)
    placements = (
        Placement("bound", "maximum", "host", "int8 operator"),
        Placement("sum", "add", "vta", "sum"),
        Placement("floor", "maximum", "vta", "floor"),
        Placement("scale", "multiply", "host", "float"),
        Placement("shift", "add", "host", "float"),
    )
    return CompiledModule(graph, hw, (region,), placements, 0)


@pytest.fixture
def hardware():
    return make_hardware


@pytest.fixture
def module_builder():
    return make_module


@pytest.fixture
def sampler():
    """``sampler(n)``: inputs `a` and `b` of `n` samples, and the outputs that they must give."""

    def draw(count=SHAPE[0]):
        rng = np.random.default_rng(0)
        a, b = rng.integers(-128, 128, (2, count, *SHAPE[1:]), np.int8)
        total = np.clip(np.maximum(a, -100).astype(int) + np.maximum(b, -100), -128, 127)
        return {"a": a, "b": b}, (np.maximum(total, 3) * 3 + 0.5).astype(np.float32)

    return draw
