"""Loads of windows: the input buffer must hold what NumPy cuts out of the tensor, zeros around it included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.codegen.assemble import assemble
from vta.codegen.box import Box
from vta.codegen.stream import Loop, Segment, Stream, single_uop
from vta.config.targets import MemoryType
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.errors import CompileError
from vta.isa.instruction import AluOp, Opcode
from vta.isa.program import Symbol, SymbolKind
from vta.isa.verify import verify
from vta.tile.operator import Tensor
from vta.tile.transfer_limits import MAX_PAD, broken_stride

BLOCK = BASELINE.block


def loads_of(tensor, window, address=0, sram=0):
    stream = Stream(BASELINE)
    stream.load_window(tensor, address, window, sram)
    return stream


def fetched(tensor, window, address, sram):
    """Load a window on the simulator, copy it through the accumulator, and return its rows, (rows, BLOCK)."""
    stream = loads_of(tensor, window, address, sram)
    identity = stream.add_constant(np.eye(BLOCK, dtype=np.int8), MemoryType.WGT)
    stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, identity, 1)
    stream.gemm(single_uop(0), inner=Loop(window.rows, 1, 0), reset=True)
    stream.gemm(single_uop(0, sram), inner=Loop(window.rows, 1, 1))
    stream.alu(AluOp.ADD, single_uop(0, 0), inner=Loop(window.rows, 1, 1), imm=0)
    arena = address + tensor.elements
    stream.store(0, arena, window.rows, 1, window.rows)
    symbols = [
        Symbol("x", SymbolKind.INPUT, address * BLOCK, tensor.elements * BLOCK),
        Symbol("y", SymbolKind.OUTPUT, arena * BLOCK, window.rows * BLOCK),
    ]
    program = assemble(stream, symbols, arena + window.rows).program
    assert verify(program) == []
    device = SimDevice(BASELINE, 1 << 20)
    base = device.allocate(program.image_bytes)
    device.write(base, program.image)
    data = np.random.default_rng(3).integers(-128, 128, (tensor.elements, BLOCK)).astype(np.int8)
    device.write(base + program.symbol("x").offset, data.view(np.uint8))
    device.run(program.encoded(base), RunOptions())
    out = device.read(base + program.symbol("y").offset, window.rows * BLOCK)
    return data.reshape(tensor.batch, tensor.blocks, tensor.height, tensor.width, BLOCK), out.view(np.int8).reshape(-1, BLOCK)


def cut_out(data, window):
    border = 40
    padded = np.pad(data, ((0, 0), (0, 0), (border, border), (border, border), (0, 0)))
    row, column = window.row + border, window.column + border
    blocks = slice(window.block, window.block + window.blocks)
    return padded[window.batch, blocks, row : row + window.height, column : column + window.width].reshape(-1, BLOCK)


@st.composite
def windows(draw):
    tensor = Tensor("x", *(draw(st.integers(1, high)) for high in (2, 4, 9, 9)))
    block = draw(st.integers(0, tensor.blocks - 1))
    blocks = draw(st.integers(1, tensor.blocks - block))
    row, column = draw(st.integers(-4, tensor.height - 1)), draw(st.integers(-4, tensor.width - 1))
    height = draw(st.integers(max(1, 1 - row), tensor.height - row + 4))
    width = draw(st.integers(max(1, 1 - column), tensor.width - column + 4))
    return tensor, Box(draw(st.integers(0, tensor.batch - 1)), block, row, column, blocks, height, width)


@settings(deadline=None, max_examples=60)
@given(windows(), st.integers(0, 20), st.integers(0, 50))
def test_the_input_buffer_holds_the_window(case, address, sram):
    tensor, window = case
    data, got = fetched(tensor, window, address, sram)
    np.testing.assert_array_equal(got, cut_out(data, window))


def test_whole_blocks_take_one_load():
    stream = loads_of(Tensor("x", 1, 4, 6, 5), Box(0, 1, 0, 0, 3, 6, 5))
    assert len(stream) == 1


def test_rows_of_full_width_take_one_load_for_all_blocks():
    stream = loads_of(Tensor("x", 1, 4, 6, 5), Box(0, 0, 2, 0, 4, 3, 5))
    assert len(stream) == 1


def test_a_padded_window_takes_one_load_per_block():
    stream = loads_of(Tensor("x", 1, 4, 6, 5), Box(0, 0, -1, -1, 4, 8, 7))
    assert len(stream) == 4
    assert (stream.instructions["opcode"] == Opcode.LOAD).all()


@pytest.mark.parametrize("place", [(-3, 0), (4, 0), (0, -3), (0, 4)])
def test_a_window_beside_the_tensor_is_refused(place):
    with pytest.raises(CompileError, match="x: a window lies outside of it"):
        loads_of(Tensor("x", 1, 1, 4, 4), Box(0, 0, *place, 1, 3, 3))


def test_pads_up_to_the_limit_load_and_one_more_is_refused():
    tensor = Tensor("x", 1, 1, 4, 4)
    assert len(loads_of(tensor, Box(0, 0, -MAX_PAD, 0, 1, MAX_PAD + 1, 4))) == 1
    with pytest.raises(CompileError, match="x: a pad of 16 exceeds the limit of 15 per side"):
        loads_of(tensor, Box(0, 0, 0, -16, 1, 4, 17))


def test_rows_too_long_to_step_over_are_refused():
    tensor = Tensor("x", 1, 1, 2, 70000)
    assert broken_stride(tensor) == ["x: rows of 70000 elements exceed the stride limit of 65535"]
    with pytest.raises(CompileError, match="rows of 70000 elements exceed the stride limit of 65535"):
        loads_of(tensor, Box(0, 0, 0, 0, 1, 2, 8))
    assert len(loads_of(tensor, Box(0, 0, 1, 9, 1, 1, 8))) == 1
    assert broken_stride(Tensor("x", 1, 1, 1, 70000)) == []
